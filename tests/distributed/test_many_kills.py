"""Workers and drivers killed at random moments of one training: the result is an undisturbed one's, to the bit.

Ray takes half a minute of computing to start, so that the suite kills one worker; `make kills-cluster` does the rest.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpcn.runs.run import Run
from tests.distributed.undisturbed import config_of, train_undisturbed, weights_in, words_of, write_parts
from tests.search.processes import below

pytest.importorskip("ray")
MODEL = "agpcn-link"
EPOCHS_PER_KILL = 200  # each is saved, which takes most of its time


def start(shards: Path, out: Path, epochs: int) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "gpcn", "train", str(shards), "--engine", "ray", "--workers", "2"]
    words += [*words_of(MODEL, epochs), "--out", str(out), "--save-every", "0"]
    nice = os.environ | {"RAY_worker_niceness": "0"}  # as nice as the test, instead of 15 nicer
    return subprocess.Popen(words, env=nice, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def workers_below(ancestor: int) -> list[int]:
    """The training workers that descend from a process."""
    return [pid for pid, words in below(ancestor).items() if "RayTrainWorker" in words]


def checkpoints_in(run: Path) -> set[str]:
    """The checkpoints that are there, by the names of their tensors."""
    return {file.name for file in run.glob("split-00/part-*/checkpoint-*.safetensors")}


def train_with_kills(shards: Path, out: Path, epochs: int, kills: int) -> tuple[dict[str, int], int, str, str]:
    """Kill a worker and the driver in turn; how many there were, and how the last driver ended."""
    rng, counts, seen = random.Random(0), {"worker": 0, "driver": 0}, set[str]()
    driver = start(shards, out, epochs)
    until = time.monotonic() + 300 * (kills + 1)
    try:
        while driver.poll() is None and time.monotonic() < until and sum(counts.values()) < kills:
            time.sleep(0.05)
            victims = workers_below(driver.pid)
            if not victims or checkpoints_in(out) <= seen:
                continue  # something new was saved since the last kill, so that the training gets on
            time.sleep(rng.uniform(0, 0.2))
            seen = checkpoints_in(out)
            if counts["worker"] <= counts["driver"]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(rng.choice(victims), signal.SIGKILL)
                counts["worker"] += 1
            else:
                driver.kill()
                driver.communicate()
                counts["driver"] += 1
                driver = start(shards, out, epochs)
        output, errors = driver.communicate(timeout=max(1.0, until - time.monotonic()))
    finally:
        driver.kill()
    return counts, driver.returncode, output, errors


@pytest.mark.parametrize(
    "kills", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(10, marks=pytest.mark.slow)]
)
def test_kills_of_workers_and_drivers_change_no_bit(tmp_path: Path, kills: int) -> None:
    epochs = EPOCHS_PER_KILL * kills
    write_parts(tmp_path / "parts")
    train_undisturbed(tmp_path / "parts", tmp_path / "undisturbed", config_of(MODEL, epochs))
    counts, code, output, errors = train_with_kills(tmp_path / "parts", tmp_path / "disturbed", epochs, kills)
    assert code == 0, errors[-2000:]
    assert counts == {"worker": (kills + 1) // 2, "driver": kills // 2}
    assert f"{MODEL} on" in output
    assert weights_in(tmp_path / "disturbed") == weights_in(tmp_path / "undisturbed")
    results = [Run.open(tmp_path / name).result().test_mean for name in ("disturbed", "undisturbed")]
    assert results[0] == results[1]
    assert not list((tmp_path / "disturbed").rglob("checkpoint-*"))
