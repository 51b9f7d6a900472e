"""A Ray cluster: one on this machine, or one that is running somewhere. The graph is put into its object store once."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Iterator
from typing import Any
from uuid import uuid4

from gpcn.graph import Graph
from gpcn.tuning.executors import RETRIES, failed_outcome, seconds_left
from gpcn.tuning.executors.connection import connect_to_ray, load_ray
from gpcn.tuning.tasks import AnyWork, Evaluator, Outcome, Work

AHEAD = 2  # tasks per worker that Ray knows of, so that none waits for the driver


class RayExecutor:
    """Tasks of one CPU each on the cluster at `address`; without one, on a cluster of `jobs` CPUs started here.

    Ray starts a task again when its worker or node dies. A cluster started here is for this machine alone, behind a
    token that only its processes know; Ray's dashboard is not started.
    """

    def __init__(self, graph: Graph, jobs: int | None = None, address: str | None = None, *, gpus: float = 0) -> None:
        self._ray = load_ray(local=address is None)
        self._ours = not self._ray.is_initialized()
        if self._ours:
            connect_to_ray(self._ray, jobs, address)
        self._graph = self._ray.put(graph)
        self._key = uuid4().hex
        self._evaluate = self._ray.remote(num_cpus=1, num_gpus=gpus, max_retries=RETRIES)(_evaluate)

    @property
    def workers(self) -> int:
        """CPUs of the cluster, as it is now."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def run(self, tasks: Iterable[AnyWork], until: float = math.inf) -> Iterator[tuple[AnyWork, Outcome]]:
        """Every task with its outcome, as far as time allows."""
        waiting = iter(tasks)
        running: dict[Any, AnyWork] = {}
        try:
            while True:
                while len(running) < AHEAD * self.workers and (task := next(waiting, None)) is not None:
                    running[self._evaluate.remote(self._key, [self._graph], task)] = task
                if not running:
                    return
                done, _ = self._ray.wait(list(running), num_returns=1, timeout=seconds_left(until))
                if not done:
                    return
                yield running.pop(done[0]), self._outcome(done[0])
        finally:
            for reference in running:
                with contextlib.suppress(Exception):
                    self._ray.cancel(reference, force=True)

    def close(self) -> None:
        """Leave the cluster; one that was started here ends."""
        if self._ours and self._ray.is_initialized():
            self._ray.shutdown()

    def _outcome(self, reference: Any) -> Outcome:
        wrong = self._ray.exceptions
        try:
            return dict(self._ray.get(reference))
        except (wrong.WorkerCrashedError, wrong.NodeDiedError, wrong.OutOfMemoryError):
            return failed_outcome(RETRIES + 1)


_evaluators: dict[str, Evaluator] = {}


def _evaluate(key: str, graph: list[Any], task: Work) -> Outcome:
    """In a worker of the cluster: the graph is taken from the object store once per process."""
    if key not in _evaluators:
        import ray

        _evaluators.clear()
        _evaluators[key] = Evaluator(ray.get(graph[0]))
    return _evaluators[key].evaluate(task)
