"""Processes that are there before they are wanted: who starts one, who takes it, and that none is left."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator

import pytest

from gpcn import Graph, TrainConfig
from gpcn.cli.shared.prestarted_workers import NEEDED, prestarted_training_workers
from gpcn.exec import prestarted
from gpcn.exec.processes import prestart_processes
from gpcn.runs.training import train
from gpcn.search.budget import Budget, read_budget

GRAPH_OPTIONS = {"nodes": 60, "features": 4, "splits": 3, "seed": 3}

SHORT, LONG = TrainConfig.of("gpcn", hidden=8, epochs=5), TrainConfig.of("gpcn", hidden=8, epochs=500)


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    yield
    prestarted.dismiss_prestarted()


def test_who_wants_a_process_takes_the_one_that_was_prestarted(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = train(graph, SHORT, jobs=1).splits
    prestart_processes(1, NEEDED)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("another process was started")

    monkeypatch.setattr(prestarted, "start", refuse)
    shared = train(graph, SHORT, jobs=2).splits
    assert not prestarted._waiting
    assert [split.test for split in shared] == [split.test for split in alone]


def test_a_process_that_nobody_took_ends_with_the_command(graph: Graph) -> None:
    with prestarted_training_workers(graph, [LONG], None, None):
        ((process, _),) = prestarted._waiting
        assert prestarted.seconds_to_start() == prestarted.START_PRESTARTED
    assert not process.is_alive()
    assert prestarted.seconds_to_start() == prestarted.START


@pytest.mark.parametrize(
    ("config", "splits", "jobs"),
    [(SHORT, None, None), (LONG, [0], None), (LONG, None, 1)],
    ids=["short", "one", "jobs"],
)
def test_work_that_needs_no_help_starts_nobody(
    graph: Graph, config: TrainConfig, splits: list[int] | None, jobs: int | None
) -> None:
    with prestarted_training_workers(graph, [config], splits, jobs):
        assert not prestarted._waiting


def test_a_process_is_forked_only_where_no_other_thread_could_hold_a_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []
    monkeypatch.setattr(prestarted, "start", lambda method, *_: begun.append(method))
    monkeypatch.setattr("threading.active_count", lambda: 1)
    prestart_processes(1, NEEDED)
    prestarted._waiting.clear()
    monkeypatch.setattr("threading.active_count", lambda: 2)
    prestart_processes(1, NEEDED)
    prestarted._waiting.clear()
    assert begun == ["fork" if sys.platform.startswith("linux") else "spawn", "spawn"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are forked on Linux alone")
def test_a_forked_process_ends_by_sigterm_and_does_not_see_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("threading.active_count", lambda: 1)
    prestart_processes(1, NEEDED)
    ((process, _),) = prestarted._waiting
    os.kill(process.pid or 0, signal.SIGINT)
    process.join(0.3)
    assert process.is_alive()
    os.kill(process.pid or 0, signal.SIGTERM)
    process.join(10)
    assert process.exitcode == -signal.SIGTERM


def test_work_with_several_threads_prestarts_nobody(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpcn.runs.split_workers.SMALL", 0)
    with prestarted_training_workers(graph, [LONG], None, 2):
        assert not prestarted._waiting


def test_as_many_are_forked_as_are_wanted_and_one_where_a_start_is_dear(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prestarted, "start", lambda method, *_: method)
    for forks, expected in ((True, ["fork"] * 3), (False, ["spawn"])):
        monkeypatch.setattr(prestarted, "may_fork", lambda forks=forks: forks)
        prestart_processes(3, NEEDED)
        prestart_processes(2, NEEDED)  # there are enough, or one that nobody took
        assert prestarted._waiting == expected
        prestarted._waiting.clear()


def test_a_process_that_died_meanwhile_is_not_taken() -> None:
    prestart_processes(1, NEEDED)
    ((process, _),) = prestarted._waiting
    process.kill()
    process.join()
    assert prestarted.take_prestarted() is None


def test_on_one_core_nobody_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    prestart_processes(1, NEEDED)
    assert not prestarted._waiting


@pytest.mark.parametrize(("text", "expected"), [("200", True), ("3", False), ("5m", True), ("5s", False)])
def test_a_budget_says_whether_a_search_lasts(text: str, expected: bool) -> None:
    assert read_budget(text).lasts is expected
    assert Budget().lasts
