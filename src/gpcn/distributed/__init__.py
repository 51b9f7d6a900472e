"""One training over several machines: exact, full-batch, with messages of class width.

| file | what it does |
| --- | --- |
| `workers` | sums and rows that all workers of a training share |
| `halo` | a product with rows of the graph that lie elsewhere |
| `part_adjacency` | a worker's links, and every operator made from them |
| `part_problem` | what training needs of a worker's part |
| `balance`, `ordering`, `shards` | a graph in memory, cut into parts (`gpcn.data.parts`) |
| `part_storage`, `run_files` | parts and runs in folders or in an object store |
| `table_database`, `joined_tables`, `streamed_features`, `table_shards` | tables larger than memory, cut into parts |
| `loading` | a worker's problem from its part |
| `part_training`, `part_checkpoints`, `gathered_digests`, `part_run` | what a worker does and what it leaves on disk |
| `worker_process`, `training_progress`, `cluster_training` | the same by Ray Train |
| `failures`, `network`, `process_group` | why workers cannot go on, and how they reach each other |
| `assembled` | a run in parts as an ordinary one |
"""
