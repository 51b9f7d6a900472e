"""One door per act: command line, Python and scikit-learn are faces of these.

| file | what it does |
| --- | --- |
| `folder` | `open_run`: what was trained, as one kind of object that predicts, explains, evaluates, reports |
| `contents` | which kind of folder it is, and which of its runs predict |
| `prepare` | from what a user names to the graph that is trained on |
| `start_training` | `train`, `compare` and `auto` |
| `estimator` | `GPCNClassifier`, the scikit-learn face |
| `scores`, `report_page`, `export` | measures of a split, a page with new tables, a program without gpcn |
"""
