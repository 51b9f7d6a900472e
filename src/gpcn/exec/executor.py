"""`Executor`: the contract of whatever runs tasks, which one test suite checks for all executors.

- `run(tasks)` yields every task with its outcome, once, in whatever order they end; it ends early when the clock
  (`time.monotonic`) passes `until`, and then some tasks have no outcome;
- `tasks` may be any iterable; the next one is taken from it when somebody is free, so it may depend on outcomes;
- an outcome does not depend on the executor, the number of workers or what else they did before; each task computes
  with the threads it asks for;
- a task that raises ends `run` with that error, and whatever else is running with it;
- a worker that dies (killed, out of memory) costs its task one of `RETRIES` further attempts; when these are used up,
  `lost` says what its outcome is, or raises;
- news of a running task reach `listener` where the executor has a way to pass them; nothing may depend on them;
- leaving the loop early ends what is still running; `close()` ends the workers. Both may happen at any moment;
- one `run` at a time: it owns the running tasks. Nothing is written, unless by a task itself.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, Protocol, TypeVar

from gpcn.core.errors import TrainingError

RETRIES = 2
DIED = "a worker process died (killed, or out of memory); what was finished is kept, run the same command to go on"


class Task:
    """What executors run: data that another process can read.

    Attributes:
        threads: with which it computes.
        short: whether it ends by itself before long, so that it may be done by a process that would otherwise wait for
            others to start.
    """

    threads: int = 1
    short: bool = False


class TimeOver(Exception):  # noqa: N818
    """The clock passed the moment until which a task may go on."""


class Running:
    """How a running task keeps in touch with its executor.

    Args:
        until: moment (`time.monotonic`) at which the task should end with `TimeOver`.
        report: passes news on to `listener`.
        attend: called now and then, for an executor that looks after others meanwhile.
    """

    def __init__(
        self,
        until: float = math.inf,
        report: Callable[[Any], None] = lambda news: None,
        attend: Callable[[], None] = lambda: None,
    ) -> None:
        self.until, self.report, self._attend = until, report, attend

    def pulse(self) -> None:
        """To be called often, by tasks that can: raises `TimeOver` when the time is over."""
        if time.monotonic() > self.until:
            raise TimeOver
        self._attend()


SomeTask = TypeVar("SomeTask", bound=Task)
Outcome = TypeVar("Outcome")
Outcome_co = TypeVar("Outcome_co", covariant=True)
Work = Callable[[Any, Running], Outcome]
"""Performs a task; one object per process does all of its tasks."""
Prepare = Callable[[Any], Work[Outcome]]
"""Makes `Work` of a payload, once in every process; a class or function of a module, which others can import."""
Listener = Callable[[Any], None]


class Executor(Protocol[Outcome_co]):
    """See the contract above."""

    @property
    def workers(self) -> int:
        """How many tasks run at once."""

    def run(
        self, tasks: Iterable[SomeTask], until: float = math.inf, listener: Listener = lambda news: None
    ) -> Iterator[tuple[SomeTask, Outcome_co]]:
        """Every task with its outcome, as far as time allows."""

    def close(self) -> None:
        """End the workers."""


def perform(work: Work[Outcome], task: SomeTask, running: Running) -> Outcome:
    """The outcome of `task`, computed in this process with the threads it asks for."""
    with thread_count(task.threads):
        return work(task, running)


@contextmanager
def thread_count(threads: int) -> Iterator[None]:
    """Compute with so many threads in this block."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def raise_died(task: Any, attempts: int) -> NoReturn:
    """Fail because of a task whose workers died one after the other."""
    raise TrainingError(DIED)


def seconds_left(until: float) -> float | None:
    """Seconds until then, for functions that wait; `None` is for ever."""
    return None if math.isinf(until) else max(0.0, until - time.monotonic())
