"""Workers and drivers killed at random moments of one training: the result is that of an undisturbed one, to the bit.

`GPCN_KILLS` says how many, ten by default.
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

from gpcn import synthesize
from gpcn.distributed.part_run import folder_of
from gpcn.distributed.shards import shard
from gpcn.training.runs import Run
from tests.tuning.processes import below

pytest.importorskip("ray")
KILLS = int(os.environ.get("GPCN_KILLS", "10"))
EPOCHS = 400 * KILLS


def start(shards: Path, out: Path) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-m", "gpcn", "train", shards, "--engine", "ray", "--model", "agpcn-link", "--out", out]
    words += ["--save-every", "0.3", "--set", f"epochs={EPOCHS}", "--set", "patience=1000000", "--set", "hidden=4"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    return subprocess.Popen([*map(str, words)], env=os.environ | {"RAY_worker_niceness": "0"}, **quiet)  # type: ignore[call-overload, no-any-return]


def workers_below(ancestor: int) -> list[int]:
    """The training workers that descend from a process."""
    return [pid for pid, words in below(ancestor).items() if "RayTrainWorker" in words]


def epochs_in(run: Path) -> set[str]:
    """The checkpoints that are there, by the names of their tensors."""
    return {file.name for file in run.glob("split-00/part-*/checkpoint-*.safetensors")}


@pytest.mark.slow
def test_kills_of_workers_and_drivers_change_no_bit(tmp_path: Path) -> None:
    rng = random.Random(0)
    shard(synthesize(nodes=60, classes=3, degree=4, features=5, splits=1, seed=3), tmp_path / "parts", 2)
    first = start(tmp_path / "parts", tmp_path / "undisturbed")
    _, said = first.communicate(timeout=900)
    assert first.returncode == 0, said.decode()[-2000:]
    out, kills = tmp_path / "disturbed", {"worker": 0, "driver": 0}
    driver, seen = start(tmp_path / "parts", out), set[str]()
    until = time.monotonic() + 120 * KILLS + 300
    try:
        while driver.poll() is None and time.monotonic() < until:
            time.sleep(0.1)
            victims = workers_below(driver.pid)
            if sum(kills.values()) >= KILLS or not victims or epochs_in(out) <= seen:
                continue  # something new was saved since the last kill, so that the training gets on
            time.sleep(rng.uniform(0, 0.5))
            seen = epochs_in(out)
            if kills["worker"] <= kills["driver"]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(rng.choice(victims), signal.SIGKILL)
                kills["worker"] += 1
            else:
                driver.kill()
                driver.wait()
                kills["driver"] += 1
                driver = start(tmp_path / "parts", out)
        _, said = driver.communicate(timeout=60)
    finally:
        driver.kill()
    assert driver.returncode == 0, said.decode()[-2000:]
    assert sum(kills.values()) == KILLS
    for part in (0, 1):
        contents = [
            next(folder_of(Run.open(tmp_path / name), 0, part).glob("model-*.safetensors")).read_bytes()
            for name in ("undisturbed", "disturbed")
        ]
        assert contents[0] == contents[1]
