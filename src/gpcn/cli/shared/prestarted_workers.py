"""Processes that are started before the command computes anything, for work that is likely to last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from gpcn.exec import prestarted
from gpcn.exec.local import local_workers
from gpcn.exec.processes import prestart_processes
from gpcn.graph import Graph
from gpcn.search.budget import Budget
from gpcn.training.config import TrainConfig

NEEDED = "gpcn.runs.split_run"  # and PyTorch with it


@contextmanager
def prestarted_training_workers(
    graph: Graph, configs: Sequence[TrainConfig], splits: Sequence[int] | None, jobs: int | None
) -> Iterator[None]:
    """Have processes ready that help to train `configs` on `splits`, where that lasts, with a thread each."""
    from gpcn.runs.split_workers import jobs_for_splits, threads_per_split

    count = len(graph.splits if splits is None else splits)
    epochs = count * sum(int(config["epochs"]) for config in configs)
    threads = max((threads_per_split(graph, config) for config in configs), default=1)
    lasts = threads == 1 and epochs >= prestarted.LASTING
    with _prestarted(jobs_for_splits(jobs, count, threads) - 1 if lasts else 0):
        yield


@contextmanager
def prestarted_search_workers(jobs: int | None, budget: Budget) -> Iterator[None]:
    """Have `jobs` processes ready for a search that lasts; none beside this one where that is one."""
    count = local_workers(jobs)
    with _prestarted(count if count > 1 and budget.lasts else 0):
        yield


@contextmanager
def _prestarted(count: int) -> Iterator[None]:
    prestart_processes(count, NEEDED)
    try:
        yield
    finally:
        prestarted.dismiss_prestarted()
