"""`auto`: model and settings chosen within a budget of time, honest about what that is worth.

| file | what it does |
| --- | --- |
| `driver` | the whole, in order |
| `portfolio` | what is tried first |
| `holdouts` | which nodes judge, how thoroughly |
| `search`, `config_neighbours`, `cost` | what is evaluated next, what is near the best, what fits the time |
| `evaluation`, `candidates` | the unit of work, and what is kept of it |
| `ensemble`, `expected_score` | what is chosen, and what to expect of it |
| `final_training`, `refit`, `choice`, `choice_report` | members on all splits, on disk, and in words |
"""

from gpcn.search.auto.choice import members, read_choice, refitted
from gpcn.search.auto.driver import auto, chosen_models

__all__ = ["auto", "chosen_models", "members", "read_choice", "refitted"]
