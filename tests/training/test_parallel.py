"""Splits over processes: who trains what, when another process is started, and what happens when one dies."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from gpcn import Graph, TrainConfig
from gpcn.errors import TrainingError
from gpcn.training.processes import parallel, prestarted
from gpcn.training.processes.parallel import Helpers
from gpcn.training.runs import split_run
from gpcn.training.runs.training import train

GRAPH_OPTIONS = {"nodes": 60, "features": 4, "splits": 6, "seed": 3}

CONFIG = TrainConfig.of("gpcn", hidden=8, epochs=5)


@pytest.fixture
def no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(parallel, "Crew", refuse)


@pytest.mark.usefixtures("no_process")
def test_short_work_starts_no_process_by_default(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prestarted, "START", 1e6)  # short on any machine
    assert len(train(graph, CONFIG, jobs=None)["splits"]) == 6


@pytest.mark.usefixtures("no_process")
def test_one_job_starts_no_process_however_long_it_takes(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prestarted, "START", 0.0)
    train(graph, CONFIG, jobs=1)


def test_long_work_gets_help_and_gives_the_same(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prestarted, "START", 0.0)
    monkeypatch.setattr(parallel.os, "cpu_count", lambda: 2)
    here: list[int] = []
    original = split_run.run_split

    def slowly(training_graph: Graph, config: TrainConfig, number: int, *rest: object, **options: object) -> object:
        here.append(number)
        time.sleep(4.0 if len(here) == 2 else 0.0)
        return original(training_graph, config, number, *rest, **options)  # type: ignore[arg-type]

    alone = train(graph, CONFIG, jobs=1)["splits"]
    monkeypatch.setattr(split_run, "run_split", slowly)
    shared = train(graph, CONFIG, jobs=None)["splits"]
    assert 0 in here
    assert len(here) < 6
    for first, second in zip(alone, shared, strict=True):
        assert first["split"] == second["split"]
        assert np.array_equal(first["probabilities"], second["probabilities"])


def test_helpers_are_kept_for_the_next_model_and_report_progress(graph: Graph) -> None:
    seen: set[int] = set()
    with Helpers(graph) as helpers:
        train(graph, CONFIG, jobs=2, helpers=helpers, tick=lambda news: seen.add(news[0]))
        assert helpers._crew is not None
        workers = list(helpers._crew.workers)
        train(graph, TrainConfig.of("gcn", hidden=8, epochs=5), jobs=2, helpers=helpers)
        assert helpers._crew.workers == workers
        assert len(workers) == 1
    assert seen == set(range(6))
    assert not helpers.started


def test_what_follows_counts_when_a_start_is_weighed(graph: Graph) -> None:
    helpers = Helpers(graph)
    work = parallel._Work(helpers, CONFIG, dict.fromkeys(range(6)), 2, 1, {}, None)
    work.waiting.extend([4, 5])
    work.done_here, work.start = 4, time.perf_counter() - 4  # a second each
    assert not work._worth_it()
    helpers.configs_to_follow = 3
    assert work._worth_it()


def test_a_helper_that_dies_is_said_and_nothing_finished_is_lost(graph: Graph, tmp_path: Path) -> None:
    with Helpers(graph) as helpers:
        train(graph, CONFIG, jobs=2, helpers=helpers)
        assert helpers._crew is not None
        for worker in helpers._crew.workers:
            os.kill(worker.process.pid or 0, signal.SIGKILL)
            worker.process.join()
        with pytest.raises(TrainingError, match="a worker process died"):
            train(graph, TrainConfig.of("gcn", hidden=8, epochs=5), jobs=2, helpers=helpers, out=tmp_path)
        assert not helpers.started
        assert len(train(graph, TrainConfig.of("gcn", hidden=8, epochs=5), out=tmp_path)["splits"]) == 6
