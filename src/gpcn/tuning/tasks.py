"""The unit of work: one configuration on one split, and what came out of it."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpcn.errors import TrainingError
from gpcn.graph import Graph
from gpcn.training.config import TrainConfig

if TYPE_CHECKING:
    from gpcn.training.problem import Problem

Outcome = dict[str, Any]
"""`loss`, `metric` (crossed validation scores), `test` (by rule), `epochs`, `seconds`; or `failed` and `seconds`."""


@dataclass(frozen=True)
class Task:
    """Evaluate `config` on `split`; it belongs to `trial`. The same task has the same outcome wherever it runs."""

    trial: int
    config: TrainConfig
    split: int

    @property
    def key(self) -> str:
        """What tells it from others of its trial."""
        return f"evaluation:{self.split}:{self.config['epochs']}"


class TimeOver(Exception):  # noqa: N818
    """The clock passed the moment until which an evaluation may go on."""


class Evaluator:
    """Evaluates tasks on one graph, with one thread; what it prepares of the graph serves all of them."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._prepared: dict[tuple[bool, bool], Problem] = {}

    def evaluate(self, task: Task, until: float = math.inf) -> Outcome:
        """The outcome; a training that diverges is one too. `TimeOver` when the clock passes `until`."""
        import torch

        from gpcn.training.probe import probe

        def look_at_the_clock() -> None:
            if time.monotonic() > until:
                raise TimeOver

        before = torch.get_num_threads()
        torch.set_num_threads(1)
        start = time.perf_counter()
        try:
            options: dict[str, Any] = {"problem": self._problem(task), "each_epoch": look_at_the_clock}
            found: Outcome = probe(self.graph, task.config, task.split, with_test=True, **options)
        except TrainingError as error:
            found = {"failed": str(error)}
        finally:
            torch.set_num_threads(before)
        return found | {"seconds": round(time.perf_counter() - start, 3)}

    def _problem(self, task: Task) -> Problem:
        from gpcn.training.problem import Problem

        way = bool(task.config["symmetrize"]), bool(task.config["normalize_features"])
        if way not in self._prepared:
            self._prepared[way] = Problem.of(self.graph, task.config)
        return self._prepared[way]
