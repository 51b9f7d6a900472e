"""Splits over processes: who trains what, and what happens when a process dies."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest

from gpcn import Graph, TrainConfig
from gpcn.exec import prestarted
from gpcn.runs import split_workers
from gpcn.runs.split_workers import SplitWorkers
from gpcn.runs.training import train
from gpcn.training.progress import Progress

GRAPH_OPTIONS = {"nodes": 60, "features": 4, "splits": 6, "seed": 3}

CONFIG = TrainConfig.of("gpcn", hidden=8, epochs=5)
OTHER = TrainConfig.of("gcn", hidden=8, epochs=5)


@pytest.mark.parametrize(("jobs", "start"), [(None, 1e6), (1, 0.0)], ids=["short", "one job"])
def test_short_work_and_one_job_start_no_process(
    jobs: int | None, start: float, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prestarted, "START", start)
    with SplitWorkers(graph, jobs) as workers:
        assert len(train(graph, CONFIG, workers=workers).splits) == 6
        assert not workers.executor.pool.started


def test_long_work_gets_help_and_gives_the_same(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prestarted, "START", 0.0)
    monkeypatch.setattr(split_workers.os, "cpu_count", lambda: 2)
    alone = train(graph, CONFIG, jobs=1).splits
    with SplitWorkers(graph) as workers:
        shared = train(graph, CONFIG, workers=workers).splits
        assert workers.executor.pool.started
    for first, second in zip(alone, shared, strict=True):
        assert first.split == second.split
        assert np.array_equal(first.probabilities, second.probabilities)


def test_workers_are_kept_for_the_next_model_and_report_progress(graph: Graph) -> None:
    seen: set[int] = set()
    with SplitWorkers(graph, 2) as workers:
        train(graph, CONFIG, workers=workers, progress=lambda progress: seen.add(progress.split))
        kept = list(workers.executor.pool.idle)
        train(graph, OTHER, workers=workers)
        assert workers.executor.pool.idle == kept
        assert len(kept) == 1
    assert seen == set(range(6))
    assert not workers.executor.pool.started


def test_a_worker_that_died_is_replaced(graph: Graph, tmp_path: Path) -> None:
    with SplitWorkers(graph, 2) as workers:
        train(graph, CONFIG, workers=workers)
        for worker in workers.executor.pool.idle:
            os.kill(worker.process.pid or 0, signal.SIGKILL)
            worker.process.join()
        assert len(train(graph, OTHER, workers=workers, out=tmp_path).splits) == 6


def test_a_worker_that_dies_while_it_trains_costs_no_result(graph: Graph, tmp_path: Path) -> None:
    config = TrainConfig.of("gpcn", hidden=8, epochs=400, patience=400)
    alone = train(graph, config, jobs=1, splits=[0, 1])
    killed: list[int] = []
    with SplitWorkers(graph, 2) as workers:

        def kill(progress: Progress) -> None:
            if not killed and progress.split == 1:  # this process trains split 0
                killed.append(workers.executor.pool.busy[0].process.pid or 0)
                os.kill(killed[0], signal.SIGKILL)

        result = train(graph, config, workers=workers, splits=[0, 1], out=tmp_path, save_every=0.0, progress=kill)
    assert killed
    assert [split.test for split in result.splits] == [split.test for split in alone.splits]
    assert [split.epochs for split in result.splits] == [400, 400]
