"""What was trained, as one kind of object: a run, a comparison, a study, what `auto` chose.

| file | what it does |
| --- | --- |
| `folder` | `RunFolder`: predict, explain, evaluate, report |
| `contents` | which kind of folder it is, and which of its runs predict |
| `starting` | `compare` and `auto` from Python |
"""
