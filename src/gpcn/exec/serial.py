"""This very process, one task after the other: for scripts, notebooks and estimators."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, Generic

from gpcn.exec.executor import Listener, Outcome, Prepare, Running, SomeTask, TimeOver, perform


class SerialExecutor(Generic[Outcome]):
    """No workers, so none that can die."""

    workers = 1

    def __init__(self, prepare: Prepare[Outcome], payload: Any) -> None:
        self._work = prepare(payload)

    def run(
        self, tasks: Iterable[SomeTask], until: float = math.inf, listener: Listener = lambda news: None
    ) -> Iterator[tuple[SomeTask, Outcome]]:
        """Every task with its outcome, as far as time allows."""
        for task in tasks:
            try:
                outcome = perform(self._work, task, Running(until, listener))
            except TimeOver:
                return
            yield task, outcome

    def close(self) -> None:
        """Nothing to end."""
