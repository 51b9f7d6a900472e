"""One training over several machines: exact, full-batch, with messages of class width.

| file | what it does |
| --- | --- |
| `workers` | sums and rows that all workers of a training share |
| `halo` | a product with rows of the graph that lie elsewhere |
| `part_adjacency` | a worker's links, and every operator made from them |
"""
