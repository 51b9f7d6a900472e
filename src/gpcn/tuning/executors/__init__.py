"""Where tasks run. The contract, which one test suite checks for all executors:

- `run(tasks)` yields every task with its outcome, once, in whatever order they end; it ends early when the clock
  (`time.monotonic`) passes `until`, and then some tasks have no outcome;
- `tasks` may be any iterable; the next one is taken from it when a worker is free, so it may depend on outcomes;
- an outcome does not depend on the executor, the number of workers or what else they did before;
- a worker that dies (killed, out of memory) costs its task one of `RETRIES` further attempts; when these are used up
  the outcome is `failed` and says so, and the others go on;
- leaving the loop early ends what is still running; `close()` ends the workers. Both may happen at any moment;
- nothing is written, unless by the task itself: the driver, which calls `run`, records.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from typing import Protocol

from gpcn.tuning.tasks import AnyWork, Outcome

RETRIES = 2


class Executor(Protocol):
    """See the contract above."""

    @property
    def workers(self) -> int:
        """How many tasks run at once."""

    def run(self, tasks: Iterable[AnyWork], until: float = math.inf) -> Iterator[tuple[AnyWork, Outcome]]:
        """Every task with its outcome, as far as time allows."""

    def close(self) -> None:
        """End the workers."""


def failed_outcome(attempts: int) -> Outcome:
    """The outcome of a task whose workers died one after the other."""
    return {"failed": f"its worker died {attempts} times (killed, or out of memory)", "seconds": 0.0}


def seconds_left(until: float) -> float | None:
    """Seconds until then, for functions that wait; `None` is for ever."""
    return None if math.isinf(until) else max(0.0, until - time.monotonic())
