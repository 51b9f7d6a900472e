"""Processes of this machine, started when they pay: they need seconds before they help, so this process begins alone.

Whoever needs no other process by the time its work is done has started none.
"""

from __future__ import annotations

import math
import os
import time
from collections import deque
from collections.abc import Iterable, Iterator
from operator import length_hint
from typing import Any, Generic, Literal

from gpcn.exec.executor import (
    RETRIES,
    Listener,
    Outcome,
    Prepare,
    Running,
    SomeTask,
    TimeOver,
    Work,
    perform,
    raise_died,
    seconds_left,
)
from gpcn.exec.prestarted import WORTH, pays, seconds_to_start
from gpcn.exec.workers import Workers

BETWEEN = 0.1  # seconds, from looking after others to the next time, while this process works itself
Here = Literal["never", "first", "always"]


def local_workers(jobs: int | None) -> int:
    """How many processes `jobs` stands for: as many as cores where nobody says."""
    return jobs if jobs is not None and jobs > 0 else os.cpu_count() or 1


class LocalExecutor(Generic[Outcome]):
    """`jobs` processes, by default as many as cores.

    Args:
        prepare: called once per process with `payload`; gives what performs tasks.
        payload: its arrays lie in one file that all processes map, not copy.
        jobs: how many; `None` is as many as cores, started only when they pay.
        here: whether this process performs tasks, too: `never`, `first` (until others have started; it then hands over
            what it is at) or `always` (others are given tasks meanwhile, before outcomes are yielded); by default
            `first` where `jobs` is `None`, else `never`.
        lost: gives the outcome of a task whose workers died, after so many attempts.

    Attributes:
        workers: how many processes, to be changed between runs alone.
        to_follow: how many tasks are known to follow the run, which a start may pay for.
    """

    def __init__(
        self,
        prepare: Prepare[Outcome],
        payload: Any,
        jobs: int | None = None,
        *,
        here: Here | None = None,
        lost: Any = raise_died,
    ) -> None:
        self.workers, self.to_follow, self.lost = local_workers(jobs), 0, lost
        self.here: Here = here or ("first" if jobs is None else "never")
        self.when_it_pays = jobs is None or self.here == "first"
        self.pool = Workers(prepare, payload)
        self.alone = 0.0  # seconds that this process worked for want of others
        self.work: Work[Outcome] | None = None if self.here == "never" else prepare(payload)

    def run(
        self, tasks: Iterable[SomeTask], until: float = math.inf, listener: Listener = lambda news: None
    ) -> Iterator[tuple[SomeTask, Outcome]]:
        """Every task with its outcome, as far as time allows."""
        try:
            yield from _Run(self, tasks, until, listener).outcomes()
        finally:
            self.pool.end_busy()

    def close(self) -> None:
        """End the workers."""
        self.pool.stop()


class _Run(Generic[SomeTask, Outcome]):
    """One call of `LocalExecutor.run`."""

    def __init__(
        self, executor: LocalExecutor[Outcome], tasks: Iterable[SomeTask], until: float, listener: Listener
    ) -> None:
        self.executor, self.until, self.listener = executor, until, listener
        self.pool = executor.pool
        self.coming = iter(tasks)
        self.again: deque[tuple[SomeTask, int]] = deque()  # with the number of the attempt: their worker died
        self.finished: deque[tuple[SomeTask, Outcome]] = deque()
        self.begun: float | None = None  # of the second epoch or task: the first loads libraries
        self.attended = time.monotonic()
        self.performed = 0

    def outcomes(self) -> Iterator[tuple[SomeTask, Outcome]]:
        while True:
            if self.executor.work is not None and (following := self._next()) is not None:
                over = not self._perform(self.executor.work, following[0])
            elif self._submit():
                self._collect(seconds_left(self.until))
                over = time.monotonic() >= self.until
            else:
                over = True
            while self.finished:
                yield self.finished.popleft()
            if over:
                return

    def _next(self) -> tuple[SomeTask, int] | None:
        if self.again:
            return self.again.popleft()
        task = next(self.coming, None)
        return None if task is None else (task, 1)

    def _perform(self, work: Work[Outcome], task: SomeTask) -> bool:
        """Perform `task` in this process; whether there is time for more."""
        executor, start, until = self.executor, time.monotonic(), self.until
        if executor.here == "first" and not task.short:
            until = min(until, start + WORTH * seconds_to_start() - executor.alone)
        if executor.here == "always":
            self._look_after_others()
        try:
            self.finished.append((task, perform(work, task, Running(until, self.listener, self._attend))))
            self.performed += 1
        except TimeOver:
            if time.monotonic() >= self.until:
                return False
            self.again.append((task, 1))
        now = time.monotonic()
        self.begun = self.begun or now
        executor.alone += now - start
        if executor.here == "first" and self._others_pay() and self._others_take_over(task):
            executor.work = None
        return True

    def _attend(self) -> None:
        """Called by the task that this process performs, after its epochs."""
        now = time.monotonic()
        self.begun = self.begun or now
        if self.executor.here == "always" and now - self.attended >= BETWEEN:
            self._look_after_others()

    def _look_after_others(self) -> None:
        self.attended = time.monotonic()
        self._collect(0.0)
        self._submit()

    def _collect(self, timeout: float | None) -> None:
        """Take what workers have sent, waiting up to `timeout` seconds for the first."""
        for (task, attempt), (kind, content) in self.pool.messages(timeout):
            if kind == "failed":
                raise content
            if kind == "news":
                self.listener(content)
            elif kind == "done":
                self.finished.append((task, content))
            elif attempt > RETRIES:
                self.finished.append((task, self.executor.lost(task, attempt)))
            else:
                self.again.appendleft((task, attempt + 1))

    def _submit(self) -> bool:
        """Give tasks to workers that are free; whether anybody is busy."""
        most = self.executor.workers - (self.executor.work is not None)
        while len(self.pool.busy) < most and self._others_pay() and (following := self._next()) is not None:
            self.pool.submit(following, following[0])
        return bool(self.pool.busy)

    def _others_pay(self) -> bool:
        """Whether what is left is worth other processes; of work without a known end, what took long lasts."""
        executor = self.executor
        if executor.work is None or self.pool.started or not executor.when_it_pays:
            return True
        spent = 0.0 if self.begun is None else time.monotonic() - self.begun
        each = spent / max(1, self.performed)  # at least, while the first is not done
        left = len(self.again) + length_hint(self.coming) + executor.to_follow
        return pays(left * each) or (executor.here == "first" and pays(executor.alone))

    def _others_take_over(self, task: SomeTask) -> bool:
        """Whether workers take over: at once, or from short tasks when one of them has started."""
        if not task.short:
            return True
        return pays(self.until - time.monotonic()) and self.pool.start(self.executor.workers)
