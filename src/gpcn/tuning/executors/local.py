"""Processes of this machine, one thread each. The graph's arrays lie in one file that all of them map, not copy.

A process needs seconds before it helps, so this one begins alone; what is done by then needed no other.
"""

from __future__ import annotations

import math
import mmap
import os
import pickle
import tempfile
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from operator import length_hint
from pathlib import Path
from typing import Any, cast

from gpcn.errors import TrainingError
from gpcn.graph import Graph
from gpcn.training.processes.parallel import WORTH
from gpcn.training.processes.prestarted import seconds_to_start
from gpcn.training.processes.workers import start_process
from gpcn.tuning.executors import RETRIES, failed_outcome, seconds_left
from gpcn.tuning.tasks import AnyWork, Evaluator, Outcome, TimeOver, Work

READY = "ready"


def workers_for(jobs: int | None) -> int:
    """How many processes: `jobs`, or as many as cores; none beside this one where that is one."""
    count = _workers(jobs)
    return count if count > 1 else 0


def _workers(jobs: int | None) -> int:
    return jobs if jobs is not None and jobs > 0 else os.cpu_count() or 1


class LocalExecutor:
    """`jobs` processes, started when they are needed; by default as many as cores, and only for work that lasts.

    With `begin_here` this process begins alone whatever `jobs` says, and goes on until others have started.
    """

    def __init__(self, graph: Graph, jobs: int | None = None, *, begin_here: bool = False) -> None:
        self.workers = _workers(jobs)
        self._graph = graph
        self._seconds_alone = WORTH * seconds_to_start()  # seconds of work at most before another process is started
        self._warm = False
        self._evaluator_here: Evaluator | None = Evaluator(graph) if jobs is None or begin_here else None
        self._shared: SharedGraph | None = None
        self._pool: list[_Worker] = []

    def run(self, tasks: Iterable[AnyWork], until: float = math.inf) -> Iterator[tuple[AnyWork, Outcome]]:
        """Every task with its outcome, as far as time allows."""
        coming = iter(tasks)
        begun: list[AnyWork] = []  # here, and to be done by a worker instead
        while self._evaluator_here is not None and (task := next(coming, None)) is not None:
            start = time.monotonic()
            try:
                outcome = self._evaluator_here.evaluate(
                    task, until if task.short else min(until, start + self._seconds_alone)
                )
            except TimeOver:
                outcome = None
            taken = time.monotonic() - start
            self._seconds_alone -= taken
            lasts = self._warm and length_hint(coming) * taken > WORTH * seconds_to_start()
            self._warm = True  # the first task also loads libraries, and tells nothing of the others
            if (self._seconds_alone <= 0 or lasts) and self._workers_take_over(task, until):
                self._evaluator_here = None
            if outcome is not None:
                yield task, outcome
            elif time.monotonic() >= until:
                return
            else:
                self._evaluator_here = None
                begun.append(task)
        yield from self._by_workers(chain(begun, coming), until)

    def _by_workers(self, tasks: Iterable[AnyWork], until: float) -> Iterator[tuple[AnyWork, Outcome]]:
        coming = ((task, 1) for task in tasks)
        again: deque[tuple[AnyWork, int]] = deque()  # their worker died
        busy: dict[Any, tuple[_Worker, AnyWork, int]] = {}
        try:
            while True:
                while len(busy) < self.workers and (following := again.popleft() if again else next(coming, None)):
                    worker = self._idle({id(other) for other, _, _ in busy.values()})
                    task, attempt = following
                    try:
                        worker.pipe.send(task)
                    except OSError:  # it died while it had nothing to do
                        self._end_worker(worker)
                        again.appendleft((task, attempt))
                        continue
                    busy[worker.pipe] = (worker, task, attempt)
                if not busy:
                    return
                ready = wait(list(busy), seconds_left(until))
                if not ready:
                    return
                for pipe in ready:
                    worker, task, attempt = busy[pipe]
                    if not worker.ready and worker.is_ready():
                        continue
                    del busy[pipe]
                    try:
                        yield task, worker.pipe.recv()
                    except (EOFError, OSError):
                        self._end_worker(worker)
                        if attempt > RETRIES:
                            yield task, failed_outcome(attempt)
                        else:
                            again.appendleft((task, attempt + 1))
        finally:
            for worker, _, _ in busy.values():
                self._end_worker(worker)

    def close(self) -> None:
        """End the workers."""
        for worker in list(self._pool):
            self._end_worker(worker)
        if self._shared is not None:
            self._shared.close()

    def _workers_take_over(self, task: Work, until: float) -> bool:
        """Whether workers take over from here: at once, or for short work when one of them has started."""
        return not task.short or (until - time.monotonic() > WORTH * seconds_to_start() and self._started())

    def _started(self) -> bool:
        """Start the workers where there are none; whether one of them is ready to work."""
        self._shared = self._shared or SharedGraph(self._graph)
        while len(self._pool) < self.workers:
            self._pool.append(_start_worker(self._shared))
        return any(worker.is_ready() for worker in self._pool)

    def _idle(self, busy: set[int]) -> _Worker:
        for worker in sorted(self._pool, key=lambda other: not other.ready):
            if id(worker) not in busy:
                if worker.process.is_alive():
                    return worker
                self._end_worker(worker)
        self._shared = self._shared or SharedGraph(self._graph)
        self._pool.append(_start_worker(self._shared))
        return self._pool[-1]

    def _end_worker(self, worker: _Worker) -> None:
        if worker in self._pool:
            self._pool.remove(worker)
        worker.process.kill()
        worker.process.join()
        worker.pipe.close()


class SharedGraph:
    """A graph whose arrays lie in a file that workers map, to share its pages; it ends with this process."""

    def __init__(self, graph: Graph) -> None:
        buffers: list[pickle.PickleBuffer] = []
        self.head = pickle.dumps(graph, protocol=5, buffer_callback=buffers.append)
        self._file: Any
        if hasattr(os, "memfd_create"):  # a file without a name, so that none is left when this process is killed
            self._file = os.fdopen(os.memfd_create("gpcn-graph"), "wb")
            self.path = Path(f"/proc/{os.getpid()}/fd/{self._file.fileno()}")
        else:
            self._file = tempfile.NamedTemporaryFile(prefix="gpcn-graph-")  # noqa: SIM115
            self.path = Path(self._file.name)
        self.extents: list[tuple[int, int]] = []
        for buffer in buffers:
            raw = buffer.raw()
            start = -(-self._file.tell() // 64) * 64
            self._file.seek(start)
            self._file.write(raw)
            self.extents.append((start, raw.nbytes))
        self.head_extent = (self._file.tell(), len(self.head))  # through a pipe, starting would wait for who reads it
        self._file.write(self.head)
        self._file.flush()

    def close(self) -> None:
        """Take the file away; who has mapped it keeps it."""
        self._file.close()


def shared_graph_from_file(head: bytes, path: Path, extents: list[tuple[int, int]]) -> Graph:
    """The graph, in another process, its arrays mapped and not copied."""
    with path.open("rb") as stream:
        mapped = memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)) if extents else memoryview(b"")
    buffers = [mapped[start : start + size] for start, size in extents]
    return cast(Graph, pickle.loads(head, buffers=buffers))  # noqa: S301


@dataclass(eq=False)
class _Worker:
    process: BaseProcess
    pipe: Any
    ready: bool = False

    def is_ready(self) -> bool:
        """Whether it has started and would begin at once."""
        try:
            if not self.ready and self.pipe.poll():
                self.ready = self.pipe.recv() == READY
        except (EOFError, OSError):
            return False
        return self.ready

    @classmethod
    def start(cls, shared: SharedGraph) -> _Worker:
        return cls(*start_process(_work, shared.head_extent, shared.path, shared.extents))


def _start_worker(shared: SharedGraph) -> _Worker:
    """A worker; one that dies while it starts, before it has a task, is replaced as often as tasks are tried again."""
    for _ in range(RETRIES):
        with suppress(TrainingError):
            return _Worker.start(shared)
    return _Worker.start(shared)


def _work(pipe: Any, head_extent: tuple[int, int], path: Path, extents: list[tuple[int, int]]) -> None:
    with path.open("rb") as stream:
        stream.seek(head_extent[0])
        head = stream.read(head_extent[1])
    evaluator = Evaluator(shared_graph_from_file(head, path, extents))
    import torch  # noqa: F401, which takes most of a start

    pipe.send(READY)
    while True:
        try:
            task = pipe.recv()
        except EOFError:
            return
        pipe.send(evaluator.evaluate(task))
