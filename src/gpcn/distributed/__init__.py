"""One training over several machines: exact, full-batch, with messages of class width.

| file | what it does |
| --- | --- |
| `torch_worker_group` | sums and rows that all workers of a training share |
| `halo` | a product with rows of the graph that lie elsewhere |
| `part_adjacency` | a worker's links, and every operator made from them |
| `part_problem`, `part_loading` | what training needs of a worker's part, and how it is read |
| `run_files` | runs in folders or in an object store |
| `part_training`, `part_checkpoints`, `gathered_digests`, `part_run` | what a worker does and what it leaves on disk |
| `assembled_run` | a run in parts as an ordinary one |
| `sharding/` | a graph, or tables larger than memory, cut into parts (`gpcn.data.parts`) |
| `cluster/` | workers on a Ray cluster: started, watched, started again |
"""
