"""Helping processes, started before the command computes anything."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from gpcn.graph import Graph
from gpcn.training import ahead
from gpcn.training.config import TrainConfig


@contextmanager
def helpers_ahead(
    graph: Graph, configs: Sequence[TrainConfig], splits: Sequence[int] | None, jobs: int | None
) -> Iterator[None]:
    """Where training `configs` on `splits` is likely to last, with a thread each, have a process ready that helps."""
    from gpcn.training.parallel import jobs_for, threads_for

    count = len(graph.splits if splits is None else splits)
    epochs = count * sum(int(config["epochs"]) for config in configs)
    threads = max(threads_for(graph, config) for config in configs)
    helped = threads == 1 and jobs_for(jobs, count, threads) > 1
    with started_ahead(helped and epochs >= ahead.LASTING):
        yield


@contextmanager
def started_ahead(wanted: bool) -> Iterator[None]:
    """Have a process ready where it is wanted; it ends with the block if nobody took it."""
    from gpcn.training.workers import start_ahead

    if wanted:
        start_ahead(1)
    try:
        yield
    finally:
        ahead.dismiss()
