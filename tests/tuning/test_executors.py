"""The contract of executors, for all of them, and that they agree."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from gpcn import synthesize
from gpcn.training.config import TrainConfig
from gpcn.tuning.executors import RETRIES, Executor
from gpcn.tuning.executors.local import LocalExecutor, SharedGraph, shared_graph_from_file
from gpcn.tuning.executors.serial import SerialExecutor
from gpcn.tuning.tasks import Evaluator, Task
from tests.tuning.processes import below, cpu_seconds

GRAPH = synthesize(nodes=200, classes=3, degree=4, splits=2, seed=5)


def config(**settings: object) -> TrainConfig:
    return TrainConfig.of("gpcn-link", **{"hidden": 8, "epochs": 12, **settings})  # type: ignore[arg-type]


TASKS = [Task(number, config(layers=1 + number), split) for number in range(3) for split in (0, 1)]


def scores(outcomes: list[tuple[Task, dict[str, object]]]) -> dict[tuple[int, int], object]:
    return {
        (task.trial, task.split): (outcome["loss"], outcome["metric"], str(outcome["test"]))
        for task, outcome in outcomes
    }


@pytest.fixture(scope="module")
def expected() -> dict[tuple[int, int], object]:
    evaluator = Evaluator(GRAPH)
    return scores([(task, evaluator.evaluate(task)) for task in TASKS])


@pytest.fixture(scope="module", params=["serial", "local", "ray"])
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    if request.param == "serial":
        executor: Executor = SerialExecutor(GRAPH)
    elif request.param == "local":
        executor = LocalExecutor(GRAPH, 2)
    else:
        pytest.importorskip("ray", reason="the ray extra is not installed")
        from gpcn.tuning.executors.cluster import RayExecutor

        executor = RayExecutor(GRAPH, 2)
    yield executor
    executor.close()


def test_by_default_short_work_starts_no_process(expected: dict[tuple[int, int], object]) -> None:
    executor = LocalExecutor(GRAPH)
    executor._seconds_alone = 600.0
    assert scores(list(executor.run(TASKS))) == expected
    assert executor._pool == []
    executor.close()


def test_by_default_work_that_lasts_goes_on_in_processes(expected: dict[tuple[int, int], object]) -> None:
    executor = LocalExecutor(GRAPH)
    list(executor.run(TASKS[:1]))  # loads what it needs
    executor._seconds_alone = 0.002
    assert scores(list(executor.run(TASKS))) == expected
    assert executor._pool
    executor.close()


def test_by_default_many_tasks_are_seen_to_last_from_the_second_on(
    expected: dict[tuple[int, int], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    executor = LocalExecutor(GRAPH)
    monkeypatch.setattr("gpcn.training.processes.prestarted.START", 0.001)
    outcomes = executor.run(TASKS)
    first = [next(outcomes), next(outcomes)]
    assert executor._pool == []
    assert scores([*first, *outcomes]) == expected
    assert executor._pool
    executor.close()


class TestContract:
    def test_every_task_once_with_the_outcome_of_any_other_executor(
        self, executor: Executor, expected: dict[tuple[int, int], object]
    ) -> None:
        outcomes = list(executor.run(TASKS))
        assert sorted((task.trial, task.split) for task, _ in outcomes) == sorted(expected)
        assert scores(outcomes) == expected
        assert scores(list(executor.run(TASKS[:2]))) == {key: expected[key] for key in ((0, 0), (0, 1))}

    def test_what_diverges_is_an_outcome(self, executor: Executor) -> None:
        tasks = [Task(7, config(gamma=1e6, layers=8, lr=10.0), 0), TASKS[0]]
        outcomes = {task.trial: outcome for task, outcome in executor.run(tasks)}
        assert "failed" in outcomes[7]
        assert "loss" in outcomes[0]

    def test_leaving_early_is_fine(self, executor: Executor, expected: dict[tuple[int, int], object]) -> None:
        slow = [Task(number, config(epochs=1_000_000, patience=1_000_000), 0) for number in range(4)]
        for task, _ in executor.run([TASKS[0], *slow]):
            assert task == TASKS[0]
            break
        assert scores(list(executor.run(TASKS[:1]))) == {(0, 0): expected[0, 0]}

    def test_time_is_kept(self, executor: Executor) -> None:
        slow = [Task(number, config(epochs=1_000_000, patience=1_000_000), 0) for number in range(3)]
        assert list(executor.run(slow, time.monotonic() + 0.5)) == []

    def test_a_killed_worker_costs_an_attempt_and_no_task(
        self, executor: Executor, expected: dict[tuple[int, int], object], tmp_path: Path
    ) -> None:
        if isinstance(executor, SerialExecutor):
            pytest.skip("it has no workers")
        before = workers()
        killed, over = threading.Event(), threading.Event()

        def kill() -> None:
            while not over.is_set():
                busy = [pid for pid in workers() if cpu_seconds(pid) - before.get(pid, 0.0) > 0.05]
                if busy:
                    os.kill(busy[0], signal.SIGKILL)
                    killed.set()
                    return
                time.sleep(0.005)

        tasks = [Task(number, config(layers=1 + number, epochs=5000, patience=5000), 0) for number in range(2)]
        thread = threading.Thread(target=kill)
        thread.start()
        outcomes = list(executor.run(tasks))
        over.set()
        thread.join()
        assert killed.is_set()
        assert sorted(task.trial for task, _ in outcomes) == [0, 1]
        assert all("failed" not in outcome for _, outcome in outcomes)


def workers() -> dict[int, float]:
    """Processes of ours that evaluate, our own and those of the Ray that we started, with their CPU seconds."""
    return {
        pid: cpu_seconds(pid)
        for pid, words in below(os.getpid()).items()
        if words.startswith("ray::_evaluate") or (pid != os.getpid() and "spawn_main" in words)
    }


def test_a_task_that_kills_every_worker_fails_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    executor = LocalExecutor(GRAPH, 1)
    try:
        stop = threading.Event()

        def kill() -> None:
            while not stop.is_set():
                for pid, spent in workers().items():
                    if spent > 0.05:
                        os.kill(pid, signal.SIGKILL)
                time.sleep(0.01)

        thread = threading.Thread(target=kill)
        thread.start()
        ((_, outcome),) = executor.run([Task(0, config(epochs=1_000_000, patience=1_000_000), 0)])
        stop.set()
        thread.join()
        assert outcome["failed"] == f"its worker died {RETRIES + 1} times (killed, or out of memory)"
        ((_, fine),) = executor.run(TASKS[:1])
        assert "loss" in fine
    finally:
        executor.close()


def test_the_graph_is_mapped_and_not_copied() -> None:
    shared = SharedGraph(GRAPH)
    graph = shared_graph_from_file(shared.head, shared.path, shared.extents)
    np.testing.assert_array_equal(graph.labels, GRAPH.labels)
    assert graph.fingerprint() == GRAPH.fingerprint()
    assert not graph.adjacency.data.flags.owndata
    assert not graph.adjacency.data.flags.writeable
    assert len(shared.head) < sum(size for _, size in shared.extents) / 4
    path = shared.path
    shared.close()
    assert not path.exists()


def test_without_ray_it_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "ray.py").write_text("raise ImportError('no ray')")
    words = [sys.executable, "-m", "gpcn", "tune", "x.npz", "--engine", "ray", "--out", str(tmp_path / "s")]
    from gpcn import save

    save(GRAPH, tmp_path / "x.npz")
    env = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    answer = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, env=env, check=False)
    assert answer.returncode == 2
    assert "pip install 'gpcn[ray]'" in answer.stderr
    assert answer.stderr.count("\n") == 1


def test_the_next_task_is_taken_when_somebody_is_free() -> None:
    """So that it may depend on outcomes."""
    taken: list[Task] = []

    def coming() -> Iterator[Task]:
        for task in TASKS[:3]:
            taken.append(task)
            yield task

    seen = [len(taken) for _ in SerialExecutor(GRAPH).run(coming())]
    assert seen == [1, 2, 3]
