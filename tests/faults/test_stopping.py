"""Ctrl-C at awkward moments, and what is left when everything is killed at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpcn import TrainingError, save, synthesize
from gpcn.cli.shared.stopping import stoppable
from gpcn.training.processes.workers import Crew, interrupts_deferred
from tests.tuning.processes import below

SENTENCE = "error: stopped; what was saved is kept, and the same command goes on from there\n"


def test_ctrl_c_while_the_command_line_is_imported_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    answer = subprocess.run(
        [sys.executable, "-m", "gpcn", "datasets"], env=env, capture_output=True, text=True, check=False
    )
    assert (answer.returncode, answer.stdout, answer.stderr) == (130, "", SENTENCE)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stop_before_anything_began_is_one_sentence(
    number: int, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    handlers = {signum: signal.getsignal(signum) for signum in (signal.SIGINT, signal.SIGTERM)}
    try:
        with pytest.raises(SystemExit) as ended, stoppable():
            signal.raise_signal(number)
    finally:
        for signum, handler in handlers.items():
            signal.signal(signum, handler)
    assert ended.value.code == code
    assert capsys.readouterr().err == SENTENCE


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_waits_for_the_end_of_a_start_and_is_not_lost(number: int) -> None:
    class HeededError(Exception):
        pass

    def heed(_: int, __: object) -> None:
        raise HeededError

    before, reached = signal.signal(number, heed), False
    try:
        with pytest.raises(HeededError), interrupts_deferred():
            os.kill(os.getpid(), number)
            time.sleep(0)
            reached = True
        assert reached
        assert signal.getsignal(number) is heed
        assert not signal.pthread_sigmask(signal.SIG_BLOCK, ())
    finally:
        signal.signal(number, before)


def prepared(factor: int) -> Callable[..., Any]:
    def work(send: Callable[[Any], None], value: Any) -> Any:
        send("begun")
        if value == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if value == "fail":
            raise TrainingError("it failed")
        if value == "mask":
            return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())
        return factor * value

    return work


def semaphores() -> set[str]:
    return {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "/dev/shm/" in line}


def test_workers_answer_fail_and_die_and_have_nothing_in_shared_memory() -> None:
    before = semaphores()
    crew = Crew(prepared, 3)
    try:
        for task, expected in ((2, ("done", 6)), ("mask", ("done", True))):
            crew.submit(task, task)
            assert drained(crew) == [(task, ("news", "begun")), (task, expected)]
        assert len(crew.workers) == 1
        crew.submit("f", "fail")
        (_, (kind, error)) = drained(crew)[-1]
        assert (kind, str(error)) == ("failed", "it failed")
        assert semaphores() == before
        crew.submit("d", "die")
        with pytest.raises(TrainingError, match="a worker process died"):
            drained(crew)
    finally:
        crew.stop()


def drained(crew: Crew) -> list[Any]:
    """All messages until nobody is busy."""
    messages: list[Any] = []
    while any(worker.busy for worker in crew.workers):
        messages += crew.messages(None)
    return messages


def test_ctrl_c_while_workers_start_stops_the_command(tmp_path: Path) -> None:
    save(synthesize(nodes=2000, features=64, classes=3, splits=2), tmp_path / "g.npz")
    words = ["train", str(tmp_path / "g.npz"), "--model", "gpcn", "--set", "epochs=100000", "--set", "patience=100000"]
    command = [sys.executable, "-m", "gpcn", *words, "--jobs", "2", "--out", str(tmp_path / "run")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not any(
        "spawn_main" in words or str(tmp_path) in words  # started anew, or forked, which has the words of the command
        for pid, words in below(process.pid).items()
        if pid != process.pid
    ):
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGINT)
    stdout, stderr = process.communicate()
    assert (process.returncode, stdout, stderr) == (130, "", SENTENCE)
