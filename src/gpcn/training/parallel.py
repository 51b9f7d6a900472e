"""Splits over processes. What a split computes does not depend on how many run beside it.

This process works too. Another one is started only when the work is seen to last longer than its start, and helps with
the next model on the same graph as well.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import queue
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from gpcn.errors import TrainingError
from gpcn.graph import Graph
from gpcn.training.config import TrainConfig

SMALL = 2_000_000_000  # multiply-adds of one pass up to which one thread per split serves best
START = 2.5  # seconds from asking a process to help to its first epoch, on two cores
WORTH = 2.0  # how many starts must be left to do before one is paid
BETWEEN_LOOKS = 0.1  # seconds
Tick = tuple[int, int, int, float, float]  # split, epoch, epochs, validation loss, validation score


def threads_for(graph: Graph, config: TrainConfig) -> int:
    """Threads per split, by the size of the work alone, so that results do not depend on the number of jobs."""
    hidden = int(config.hyperparameters.get("hidden", 16))
    work = graph.num_nodes * hidden * max(hidden, graph.num_classes) + graph.adjacency.nnz * hidden
    return 1 if work < SMALL else max(1, (os.cpu_count() or 1))


def jobs_for(wanted: int | None, splits: int, threads: int) -> int:
    """How many splits to run at once."""
    fit = max(1, (os.cpu_count() or 1) // threads)
    return max(1, min(splits, wanted if wanted is not None else fit))


def run_all(
    graph: Graph,
    config: TrainConfig,
    splits: Iterable[int],
    folders: dict[int, Path | None],
    *,
    jobs: int,
    threads: int,
    device: str,
    save_every: float,
    identity: str | None = None,
    at_once: bool = False,
    tick: Callable[[Tick], None] | None = None,
    helpers: Helpers | None = None,
) -> dict[int, dict[str, Any]]:
    """The result of every split, trained here and, where that pays or `at_once`, by up to `jobs - 1` helpers."""
    with Helpers(graph) if helpers is None else nullcontext(helpers) as company:
        try:
            options = {"device": device, "save_every": save_every, "identity": identity}
            work = _Work(company, config, folders, jobs, threads, options, tick)
            return work.finish(list(splits), at_once)
        except BrokenProcessPool as error:
            company.stop()
            raise TrainingError(
                "a worker process died (killed, or out of memory); what was finished is kept, run the same command to "
                "go on"
            ) from error
        except BaseException:
            company.stop()
            raise


class Helpers:
    """Processes that train splits of `graph` beside this one: started when first asked, kept until the end.

    A start costs `START` seconds, because each imports everything anew.

    Args:
        graph: whose splits.
        ahead: how many configurations follow the present one.
    """

    def __init__(self, graph: Graph, ahead: int = 0) -> None:
        self.graph, self.ahead = graph, ahead
        self._pool: ProcessPoolExecutor | None = None
        self._ticks: Any = None

    def __enter__(self) -> Helpers:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def started(self) -> bool:
        """Whether there are any."""
        return self._pool is not None

    def submit(self, config: TrainConfig, number: int, *about: Any) -> Future[dict[str, Any]]:
        """Have one of them train split `number`; `about`: its folder, threads and options."""
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._ticks = context.Queue()
            self._pool = ProcessPoolExecutor(
                max(1, os.cpu_count() or 1),
                mp_context=context,
                initializer=_start_helper,
                initargs=(self.graph, os.getpid(), self._ticks),
            )
        with interrupts_ignored():  # inherited by the helpers: Ctrl-C is for this process, which then ends them
            return self._pool.submit(_help, config, number, *about)

    def news(self) -> Iterator[Tick]:
        """What they have reported since the last time."""
        while self._ticks is not None:
            try:
                yield self._ticks.get_nowait()
            except queue.Empty:
                return

    def stop(self) -> None:
        """End all of them, whatever they are doing."""
        if self._pool is not None:
            stop(self._pool)
        self._pool = self._ticks = None


class _Work:
    """The splits of one configuration, shared out between this process and its helpers."""

    def __init__(
        self,
        helpers: Helpers,
        config: TrainConfig,
        folders: dict[int, Path | None],
        jobs: int,
        threads: int,
        options: dict[str, Any],
        tick: Callable[[Tick], None] | None,
    ) -> None:
        self.helpers, self.config, self.folders = helpers, config, folders
        self.jobs, self.threads, self.options, self.tick = jobs, threads, options, tick
        self.waiting: deque[int] = deque()
        self.away: dict[Future[dict[str, Any]], int] = {}
        self.found: dict[int, dict[str, Any]] = {}
        self.start: float | None = None  # of the second epoch: the first loads libraries
        self.looked = time.perf_counter()
        self.done_here = 0
        self.always = False

    def finish(self, splits: list[int], at_once: bool) -> dict[int, dict[str, Any]]:
        import torch

        from gpcn.training.splitrun import run_split

        self.waiting, self.always = deque(splits), at_once
        report = None if self.tick is None else _reporter(self.tick)

        def after_epoch(number: int, trainer: Any) -> None:
            if report is not None:
                report(number, trainer)
            now = time.perf_counter()
            self.start = self.start or now
            if now - self.looked > BETWEEN_LOOKS:
                self.look()

        before = torch.get_num_threads()
        torch.set_num_threads(self.threads)
        try:
            while self.waiting:
                number = self.waiting.popleft()
                self.look()
                folder = self.folders[number]
                self.found[number] = run_split(
                    self.helpers.graph, self.config, number, folder, report=after_epoch, **self.options
                )
                self.done_here += 1
        finally:
            torch.set_num_threads(before)
        while self.away:
            wait(self.away, timeout=BETWEEN_LOOKS, return_when=FIRST_COMPLETED)
            self.look()
        return {number: self.found[number] for number in splits}

    def look(self) -> None:
        """Take what helpers have finished, pass on their progress, and give them more."""
        self.looked = time.perf_counter()
        for future in [each for each in self.away if each.done()]:
            self.found[self.away.pop(future)] = future.result()
        for news in self.helpers.news():
            if self.tick is not None:
                self.tick(news)
        while self.waiting and len(self.away) < self.jobs - 1 and self._worth_it():
            number = self.waiting.pop()  # from the end: this process takes the next
            future = self.helpers.submit(self.config, number, self.folders[number], self.threads, self.options)
            self.away[future] = number

    def _worth_it(self) -> bool:
        if self.always or self.helpers.started:
            return True
        spent = 0.0 if self.start is None else time.perf_counter() - self.start
        per_split = spent / max(1, self.done_here)  # at least, while the first is not done
        left = len(self.waiting) + self.helpers.ahead * len(self.folders)
        return left * per_split > WORTH * START


@contextmanager
def interrupts_ignored() -> Iterator[None]:
    """Ctrl-C reaches neither this process nor those it starts meanwhile."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def stop(pool: ProcessPoolExecutor) -> None:
    """End the workers: at once where one of them failed or somebody said stop; they have nothing to do otherwise."""
    for process in list((pool._processes or {}).values()):
        process.terminate()
    pool.shutdown(wait=True, cancel_futures=True)


_graph: Graph
_ticks: Any = None


def _start_helper(graph: Graph, parent: int, ticks: Any) -> None:
    global _graph, _ticks
    die_with(parent)
    _graph, _ticks = graph, ticks


def _help(
    config: TrainConfig, number: int, folder: Path | None, threads: int, options: dict[str, Any]
) -> dict[str, Any]:
    import torch

    from gpcn.training.splitrun import run_split

    torch.set_num_threads(threads)
    return run_split(_graph, config, number, folder, report=_reporter(_ticks.put), **options)


def _reporter(send: Callable[[Tick], None]) -> Callable[[int, Any], None]:
    last = 0.0

    def report(number: int, trainer: Any) -> None:
        nonlocal last
        now = time.perf_counter()
        if now - last > 0.2 or trainer.finished:
            last = now
            _, _, loss, score = trainer.history[-1]
            send((number, trainer.epoch, int(trainer.config["epochs"]), loss, score))

    return report


def die_with(parent: int) -> None:
    """End this process when its parent is killed, so that no orphan writes into a run that somebody else took over."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        os._exit(1)
