"""This very process, one task after the other: for scripts, notebooks and estimators."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from gpcn.graph import Graph
from gpcn.tuning.tasks import AnyWork, Evaluator, Outcome, TimeOver


class SerialExecutor:
    """No workers, so none that can die."""

    workers = 1

    def __init__(self, graph: Graph) -> None:
        self._evaluator = Evaluator(graph)

    def run(self, tasks: Iterable[AnyWork], until: float = math.inf) -> Iterator[tuple[AnyWork, Outcome]]:
        """Every task with its outcome, as far as time allows."""
        for task in tasks:
            try:
                outcome = self._evaluator.evaluate(task, until)
            except TimeOver:
                return
            yield task, outcome

    def close(self) -> None:
        """Nothing to end."""
