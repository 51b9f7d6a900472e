"""Ctrl-C at awkward moments, and what is left when everything is killed at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpcn import save, synthesize
from gpcn.cli.shared.stopping import stoppable
from gpcn.exec.processes import interrupts_deferred
from tests.search.processes import below

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
