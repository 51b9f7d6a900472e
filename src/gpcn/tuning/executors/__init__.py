"""Where tasks run. The contract, which one test suite checks for all executors:

- `run(tasks)` yields every task with its outcome, once, in whatever order they end;
- an outcome does not depend on the executor, the number of workers or what else they did before;
- a worker that dies (killed, out of memory) costs its task one of `RETRIES` further attempts; when these are used up
  the outcome is `failed` and says so, and the others go on;
- leaving the loop early ends what is still running; `close()` ends the workers. Both may happen at any moment;
- nothing is written: the driver, which calls `run`, records.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from gpcn.tuning.tasks import Outcome, Task

RETRIES = 2


class Executor(Protocol):
    """See the contract above."""

    @property
    def workers(self) -> int:
        """How many tasks run at once."""

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, Outcome]]:
        """Every task with its outcome."""

    def close(self) -> None:
        """End the workers."""


def gone(attempts: int) -> Outcome:
    """The outcome of a task whose workers died one after the other."""
    return {"failed": f"its worker died {attempts} times (killed, or out of memory)", "seconds": 0.0}
