"""A Ray cluster: one on this machine, or one that is running somewhere. The payload is put into its store once."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Iterator
from typing import Any, Generic
from uuid import uuid4

from gpcn.exec.executor import (
    RETRIES,
    Listener,
    Outcome,
    Prepare,
    Running,
    SomeTask,
    perform,
    raise_died,
    seconds_left,
)
from gpcn.exec.ray_connection import connect_to_ray, load_ray

AHEAD = 2  # tasks per worker that Ray knows of, so that none waits for the driver


class RayExecutor(Generic[Outcome]):
    """Tasks of one CPU each on the cluster at `address`; without one, on a cluster of `jobs` CPUs started here.

    Ray starts a task again when its worker or node dies; it passes no news. A cluster started here is for this machine
    alone, behind a token that only its processes know; Ray's dashboard is not started.
    """

    def __init__(
        self,
        prepare: Prepare[Outcome],
        payload: Any,
        jobs: int | None = None,
        address: str | None = None,
        *,
        lost: Any = raise_died,
    ) -> None:
        self._ray = load_ray(local=address is None)
        self._ours = not self._ray.is_initialized()
        if self._ours:
            connect_to_ray(self._ray, jobs, address)
        self._payload, self._prepare, self._lost = self._ray.put(payload), prepare, lost
        self._key = uuid4().hex
        self._perform = self._ray.remote(num_cpus=1, max_retries=RETRIES)(_perform)

    @property
    def workers(self) -> int:
        """CPUs of the cluster, as it is now."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def run(
        self, tasks: Iterable[SomeTask], until: float = math.inf, listener: Listener = lambda news: None
    ) -> Iterator[tuple[SomeTask, Outcome]]:
        """Every task with its outcome, as far as time allows."""
        waiting = iter(tasks)
        running: dict[Any, SomeTask] = {}
        try:
            while True:
                while len(running) < AHEAD * self.workers and (task := next(waiting, None)) is not None:
                    running[self._perform.remote(self._key, self._prepare, [self._payload], task)] = task
                if not running:
                    return
                done, _ = self._ray.wait(list(running), num_returns=1, timeout=seconds_left(until))
                if not done:
                    return
                task = running.pop(done[0])
                yield task, self._outcome(task, done[0])
        finally:
            for reference in running:
                with contextlib.suppress(Exception):
                    self._ray.cancel(reference, force=True)

    def close(self) -> None:
        """Leave the cluster; one that was started here ends."""
        if self._ours and self._ray.is_initialized():
            self._ray.shutdown()

    def _outcome(self, task: SomeTask, reference: Any) -> Outcome:
        wrong = self._ray.exceptions
        try:
            outcome: Outcome = self._ray.get(reference)
        except (wrong.WorkerCrashedError, wrong.NodeDiedError, wrong.OutOfMemoryError):
            outcome = self._lost(task, RETRIES + 1)
        except wrong.RayTaskError as error:
            raise error.cause from error
        return outcome


_prepared: dict[str, Any] = {}


def _perform(key: str, prepare: Any, payload: list[Any], task: Any) -> Any:
    """In a worker of the cluster: the payload is taken from the object store once per process."""
    if key not in _prepared:
        import ray

        _prepared.clear()
        _prepared[key] = prepare(ray.get(payload[0]))
    return perform(_prepared[key], task, Running())
