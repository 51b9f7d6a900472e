"""Graphs cut into parts on disk, one for each worker of a training on several machines.

| file | what it does |
| --- | --- |
| `manifest` | what the graph is, which files it consists of, and their checksums |
| `files` | the Parquet files of a part, which appear whole |
| `tables` | the rows of a graph that a part has, as tables and back |
| `reordered_graph` | a graph with its nodes in another order |
| `whole_graph` | all parts together, as one graph, where it fits into memory |
"""
