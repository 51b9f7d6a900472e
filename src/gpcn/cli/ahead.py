"""Helping processes, started before the command computes anything."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from gpcn.graph import Graph
from gpcn.training.config import TrainConfig
from gpcn.training.processes import ahead


@contextmanager
def helpers_ahead(
    graph: Graph, configs: Sequence[TrainConfig], splits: Sequence[int] | None, jobs: int | None
) -> Iterator[None]:
    """Where training `configs` on `splits` is likely to last, with a thread each, have processes ready that help."""
    from gpcn.training.processes.parallel import jobs_for, threads_for

    count = len(graph.splits if splits is None else splits)
    epochs = count * sum(int(config["epochs"]) for config in configs)
    threads = max((threads_for(graph, config) for config in configs), default=1)
    lasting = threads == 1 and epochs >= ahead.LASTING
    with started_ahead(jobs_for(jobs, count, threads) - 1 if lasting else 0):
        yield


@contextmanager
def started_ahead(count: int) -> Iterator[None]:
    """Have `count` processes ready; they end with the block if nobody took them."""
    from gpcn.training.processes.workers import start_ahead

    start_ahead(count)
    try:
        yield
    finally:
        ahead.dismiss()
