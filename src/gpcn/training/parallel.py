"""Splits over processes. What a split computes does not depend on how many run beside it."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gpcn.errors import TrainingError
from gpcn.graph import Graph
from gpcn.training.config import TrainConfig

SMALL = 2_000_000_000  # multiply-adds of one pass up to which one thread per split serves best
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
    tick: Callable[[Tick], None] | None = None,
) -> dict[int, dict[str, Any]]:
    """The result of every split; with one job in this process, else in `jobs` of their own."""
    numbers = list(splits)
    options = {"device": device, "save_every": save_every}
    if jobs == 1:
        return _one_by_one(graph, config, numbers, folders, threads, options, tick)
    context = multiprocessing.get_context("spawn")
    ticks: Any = context.Queue() if tick else None
    pool = ProcessPoolExecutor(
        jobs, mp_context=context, initializer=_start_worker, initargs=(graph, config, threads, os.getpid(), ticks)
    )
    try:
        with interrupts_ignored():  # inherited by the workers: Ctrl-C is for this process, which then ends them
            waiting = {pool.submit(_work, number, folders[number], options): number for number in numbers}
        found = _gather(waiting, ticks, tick)
        pool.shutdown(wait=True)
        return found
    except BrokenProcessPool as error:
        raise TrainingError(
            "a worker process died (killed, or out of memory); what was finished is kept, run the same command to go on"
        ) from error
    finally:
        stop(pool)


def _one_by_one(
    graph: Graph,
    config: TrainConfig,
    numbers: list[int],
    folders: dict[int, Path | None],
    threads: int,
    options: dict[str, Any],
    tick: Callable[[Tick], None] | None,
) -> dict[int, dict[str, Any]]:
    import torch

    from gpcn.training.splitrun import run_split

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    report = None if tick is None else _reporter(tick)
    try:
        return {n: run_split(graph, config, n, folders[n], report=report, **options) for n in numbers}
    finally:
        torch.set_num_threads(before)


def _gather(
    waiting: dict[Future[dict[str, Any]], int], ticks: Any, tick: Callable[[Tick], None] | None
) -> dict[int, dict[str, Any]]:
    found: dict[int, dict[str, Any]] = {}
    pending = set(waiting)
    while pending:
        done, pending = wait(pending, timeout=0.1 if tick else None)
        for future in done:
            found[waiting[future]] = future.result()
        while tick is not None:
            try:
                tick(ticks.get_nowait())
            except queue.Empty:
                break
    return found


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
_config: TrainConfig
_ticks: Any = None


def _start_worker(graph: Graph, config: TrainConfig, threads: int, parent: int, ticks: Any) -> None:
    global _graph, _config, _ticks
    die_with(parent)
    import torch

    torch.set_num_threads(threads)
    _graph, _config, _ticks = graph, config, ticks


def _work(number: int, folder: Path | None, options: dict[str, Any]) -> dict[str, Any]:
    from gpcn.training.splitrun import run_split

    report = None if _ticks is None else _reporter(_ticks.put)
    return run_split(_graph, _config, number, folder, report=report, **options)


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
