"""What was trained, as one kind of object: a run, a comparison, a study, what `auto` chose.

| file | what it does |
| --- | --- |
| `folder` | `RunFolder`: predict, explain, evaluate, report |
| `contents` | which kind of folder it is, and which of its runs predict |
| `prepare` | from what a user names to the graph that is trained on |
| `start_training` | `train`, `compare` and `auto` from Python |
| `scores`, `report_page`, `export` | measures of a split, a page with new tables, a program without gpcn |
"""
