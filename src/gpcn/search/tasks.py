"""Units of work of a search, and the `Evaluator` that performs them on one graph."""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpcn.core.errors import GpcnError, TrainingError
from gpcn.exec.executor import Running, Task, TimeOver
from gpcn.graph import Graph
from gpcn.training.config import TrainConfig

if TYPE_CHECKING:
    from gpcn.training.problem import Problem

Outcome = dict[str, Any]
"""`loss`, `metric` (crossed validation scores), `test` (by rule), `epochs`, `seconds`; or `failed` and `seconds`.
`refused` says that no configuration can be evaluated on this graph; the driver raises it."""


def evaluation_key(split: int, epochs: int) -> str:
    """What tells an evaluation from others of its trial."""
    return f"evaluation:{split}:{epochs}"


class SearchTask(Task):
    """What an `Evaluator` performs: a `TrialTask` of a study, or an `Evaluation` of `auto`."""

    config: TrainConfig

    @abstractmethod
    def perform(self, evaluator: Evaluator, running: Running) -> Outcome:
        """Its outcome; `TimeOver` when the clock passes `running.until`."""


@dataclass(frozen=True)
class TrialTask(SearchTask):
    """Evaluate `config` on `split`; it belongs to `trial`. The same task has the same outcome wherever it runs."""

    trial: int
    config: TrainConfig
    split: int

    @property
    def key(self) -> str:
        """What tells it from others of its trial."""
        return evaluation_key(self.split, int(self.config["epochs"]))

    def perform(self, evaluator: Evaluator, running: Running) -> Outcome:
        """Its outcome; `TimeOver` when the clock passes `running.until`."""
        from gpcn.training.observers import Pulse
        from gpcn.training.probe import probe

        problem, observers = evaluator.problem(self.config), [Pulse(running.pulse)]
        graph = evaluator.graph
        scores = probe(graph, self.config, self.split, problem=problem, with_test=True, observers=observers)
        tests = {rule: score if math.isfinite(score) else None for rule, score in scores["test"].items()}
        return {**scores, "test": tests}


class Evaluator:
    """Evaluates tasks on one graph; what it prepares of the graph serves all of them."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._prepared: dict[tuple[str, bool], Problem] = {}

    def __call__(self, task: SearchTask, running: Running) -> Outcome:
        """The outcome; a training that fails has one too. `TimeOver` when the clock passes `running.until`."""
        from gpcn.nn.engine.memory import memory_limits

        start = time.perf_counter()
        try:
            with memory_limits(f"{task.config.model} on {self.graph.name}"):
                outcome = task.perform(self, running)
        except TimeOver:
            raise
        except TrainingError as error:
            outcome = {"failed": str(error)}
        except GpcnError as error:
            outcome = {"refused": f"{error}"}  # its options still as data
        except Exception as error:
            outcome = {"failed": f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"}
        return outcome | {"seconds": round(time.perf_counter() - start, 3)}

    def problem(self, config: TrainConfig) -> Problem:
        """The graph as `config` wants it, prepared once."""
        from gpcn.training.problem import Problem

        key = str(config["direction"]), bool(config["normalize_features"])
        if key not in self._prepared:
            self._prepared[key] = Problem.of(self.graph, config)
        return self._prepared[key]
