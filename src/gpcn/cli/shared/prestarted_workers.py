"""Helping processes, started before the command computes anything."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from gpcn.graph import Graph
from gpcn.training.config import TrainConfig
from gpcn.training.processes import prestarted


@contextmanager
def prestarted_training_workers(
    graph: Graph, configs: Sequence[TrainConfig], splits: Sequence[int] | None, jobs: int | None
) -> Iterator[None]:
    """Where training `configs` on `splits` is likely to last, with a thread each, have processes ready that help."""
    from gpcn.training.processes.parallel import jobs_for_splits, threads_per_split

    count = len(graph.splits if splits is None else splits)
    epochs = count * sum(int(config["epochs"]) for config in configs)
    threads = max((threads_per_split(graph, config) for config in configs), default=1)
    lasting = threads == 1 and epochs >= prestarted.LASTING
    with prestarted_workers(jobs_for_splits(jobs, count, threads) - 1 if lasting else 0):
        yield


@contextmanager
def prestarted_workers(count: int) -> Iterator[None]:
    """Have `count` processes ready; they end with the block if nobody took them."""
    from gpcn.training.processes.workers import prestart_workers

    prestart_workers(count)
    try:
        yield
    finally:
        prestarted.dismiss_prestarted()
