"""The contract of executors, for all of them, and when other processes are started."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gpcn.core.errors import TrainingError
from gpcn.exec.executor import RETRIES, Executor, Running, Task
from gpcn.exec.local import LocalExecutor
from gpcn.exec.shared_payload import SharedPayload
from tests.search.processes import below, cpu_seconds

PAYLOAD = {"factors": np.arange(1000.0) + 3}


@dataclass(frozen=True)
class Job(Task):
    """Takes `seconds` of computing."""

    number: int
    seconds: float = 0.0
    way: str = "fine"
    threads: int = 1
    short: bool = False


def worker(payload: dict[str, Any]) -> Callable[[Job, Running], Any]:
    def work(job: Job, running: Running) -> Any:
        running.report((job.number, "begun"))
        until = time.monotonic() + job.seconds
        while time.monotonic() < until:
            running.pulse()
        running.pulse()
        if job.way == "fail":
            raise TrainingError("it failed")
        if job.way == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if job.way == "mask":
            return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())
        return job.number, float(payload["factors"][0]) * job.number, torch.get_num_threads()

    return work


def lost(job: Job, attempts: int) -> Any:
    return job.number, "lost", attempts


JOBS = [Job(number, threads=1 + number % 2) for number in range(5)]
EXPECTED = {number: (number, 3.0 * number, 1 + number % 2) for number in range(5)}
WAYS = ["serial", "local", "local-first", "local-always", "ray"]


def made(way: str) -> Executor[Any]:
    if way == "ray":
        pytest.importorskip("ray", reason="the ray extra is not installed")
        from gpcn.exec.ray_executor import RayExecutor

        return RayExecutor(worker, PAYLOAD, 2, lost=lost)
    here: Any = {"serial": "always", "local": "never", "local-first": "first", "local-always": "always"}[way]
    return LocalExecutor(worker, PAYLOAD, 1 if way == "serial" else 2, here=here, lost=lost)


@pytest.fixture(scope="module", params=WAYS)
def executor(request: pytest.FixtureRequest) -> Iterator[Executor[Any]]:
    executor = made(request.param)
    yield executor
    executor.close()


def outcomes(executor: Executor[Any], jobs: Any = JOBS, **options: Any) -> dict[int, Any]:
    got = list(executor.run(jobs, **options))
    assert len({job.number for job, _ in got}) == len(got)
    return {job.number: outcome for job, outcome in got}


class TestContract:
    def test_every_task_once_with_the_outcome_of_any_other_executor(self, executor: Executor[Any]) -> None:
        before = torch.get_num_threads()
        assert outcomes(executor) == EXPECTED
        assert outcomes(executor, iter(JOBS[:2])) == {0: EXPECTED[0], 1: EXPECTED[1]}
        assert torch.get_num_threads() == before

    def test_a_task_that_raises_ends_the_run(self, executor: Executor[Any]) -> None:
        slow = [Job(number, 600.0) for number in range(2, 4)]
        with pytest.raises(TrainingError, match="it failed"):
            outcomes(executor, [Job(1, way="fail"), *slow])
        assert outcomes(executor) == EXPECTED

    def test_leaving_early_is_fine(self, executor: Executor[Any]) -> None:
        if isinstance(executor, LocalExecutor) and executor.here == "always":
            pytest.skip("this process ends what it has begun")
        slow = [Job(number, 600.0) for number in range(1, 5)]
        for job, _ in executor.run([JOBS[0], *slow]):
            assert job == JOBS[0]
            break
        assert outcomes(executor) == EXPECTED

    def test_time_is_kept(self, executor: Executor[Any]) -> None:
        slow = [Job(number, 600.0) for number in range(3)]
        assert outcomes(executor, slow, until=time.monotonic() + 0.5) == {}

    def test_a_killed_worker_costs_an_attempt_and_no_task(self, executor: Executor[Any]) -> None:
        if isinstance(executor, LocalExecutor) and (executor.here == "first" or executor.workers == 1):
            pytest.skip("there may be no worker")
        jobs = [Job(number, 1.5) for number in range(2)]
        with Killing(1) as killed:
            got = outcomes(executor, jobs)
        assert killed == [1]
        assert got == {0: (0, 0.0, 1), 1: (1, 3.0, 1)}


@pytest.mark.parametrize("way", ["serial", "local", "local-first", "local-always"])
def test_news_of_running_tasks_arrive(way: str) -> None:
    news: list[Any] = []
    executor = made(way)
    outcomes(executor, listener=news.append)
    executor.close()
    assert sorted(news) == [(number, "begun") for number in range(5)]


class Killing:
    """Kill so many busy workers of this process, one after the other."""

    def __init__(self, count: int) -> None:
        self.count, self.killed, self.over = count, [0], threading.Event()

    def __enter__(self) -> list[int]:
        self.before = workers()
        self.thread = threading.Thread(target=self._kill)
        self.thread.start()
        return self.killed

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join()

    def _kill(self) -> None:
        while self.killed[0] < self.count and not self.over.wait(0.005):
            for pid, spent in workers().items():
                if spent - self.before.get(pid, 0.0) > 0.05 and self.killed[0] < self.count:
                    os.kill(pid, signal.SIGKILL)
                    self.killed[0] += 1


def workers() -> dict[int, float]:
    """Processes of ours that perform tasks, our own and those of the Ray that we started, with their CPU seconds."""
    return {
        pid: cpu_seconds(pid)
        for pid, words in below(os.getpid()).items()
        if words.startswith("ray::_perform") or (pid != os.getpid() and "spawn_main" in words)
    }


def test_a_task_that_kills_every_worker_is_lost_and_the_others_go_on() -> None:
    executor = LocalExecutor(worker, PAYLOAD, 1, lost=lost)
    try:
        assert outcomes(executor, [Job(7, way="die"), JOBS[1]]) == {7: (7, "lost", RETRIES + 1), 1: EXPECTED[1]}
    finally:
        executor.close()


def test_a_worker_that_died_idle_is_replaced_at_no_attempt() -> None:
    executor = LocalExecutor(worker, PAYLOAD, 1)
    try:
        outcomes(executor)
        (idle,) = executor.pool.idle
        os.kill(idle.process.pid or 0, signal.SIGKILL)
        idle.process.join()
        assert outcomes(executor) == EXPECTED
    finally:
        executor.close()


def test_short_work_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpcn.exec.prestarted.START", 600.0)
    for here in ("first", "always"):
        executor = LocalExecutor(worker, PAYLOAD, None, here=here)  # type: ignore[arg-type]
        assert outcomes(executor) == EXPECTED
        assert not executor.pool.started
        executor.close()


@pytest.mark.parametrize(("tasks", "share"), [(iter, 0.2), (list, 0.02)], ids=["without-known-end", "many"])
def test_work_that_lasts_is_handed_over(tasks: Any, share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A task that is not short is given up and begun anew by a worker."""
    monkeypatch.setattr("gpcn.exec.prestarted.START", 0.1)
    executor = LocalExecutor(worker, PAYLOAD, None)
    try:
        assert outcomes(executor, (Job(number, share) for number in range(20)) if tasks is iter else
                        [Job(number, share) for number in range(20)]).keys() == set(range(20))  # fmt: skip
        assert executor.pool.started
        assert executor.work is None
    finally:
        executor.close()


def test_short_tasks_go_on_here_until_a_worker_has_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpcn.exec.prestarted.START", 0.01)
    executor = LocalExecutor(worker, PAYLOAD, 2, here="first")
    try:
        first = []
        for job, _ in executor.run(Job(number, 0.05, short=True) for number in range(400)):
            first.append(executor.work is not None)
            if not first[-1]:
                assert job.number > 2
                break
        assert not first[-1]
        assert executor.pool.started
    finally:
        executor.close()


def test_what_follows_counts_when_a_start_is_weighed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpcn.exec.prestarted.START", 0.5)
    jobs = [Job(number, 0.1) for number in range(4)]
    for to_follow, started in ((0, False), (100, True)):
        executor = LocalExecutor(worker, PAYLOAD, None, here="always")
        executor.workers, executor.to_follow = 2, to_follow
        outcomes(executor, jobs)
        assert executor.pool.started is started
        executor.close()


def test_the_next_task_is_taken_when_somebody_is_free() -> None:
    """So that it may depend on outcomes."""
    taken: list[Job] = []

    def coming() -> Iterator[Job]:
        for job in JOBS[:3]:
            taken.append(job)
            yield job

    for way in ("serial", "local-first"):
        taken.clear()
        executor = made(way)
        assert [len(taken) for _ in executor.run(coming())] == [1, 2, 3]
        executor.close()


def semaphores() -> set[str]:
    return {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "/dev/shm/" in line}


def test_workers_ignore_ctrl_c_and_have_nothing_in_shared_memory() -> None:
    before = semaphores()
    executor = LocalExecutor(worker, PAYLOAD, 1)
    try:
        assert outcomes(executor, [Job(0, way="mask")]) == {0: True}
        assert semaphores() == before
    finally:
        executor.close()


def test_a_payload_is_mapped_and_not_copied() -> None:
    shared = SharedPayload(PAYLOAD)
    again = shared.address.read()
    np.testing.assert_array_equal(again["factors"], PAYLOAD["factors"])
    assert not again["factors"].flags.owndata
    assert not again["factors"].flags.writeable
    assert shared.address.head[1] < shared.address.arrays[0][1] / 4
    path = shared.address.path
    shared.close()
    assert not path.exists()
