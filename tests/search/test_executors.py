"""Evaluations of a search give the same outcomes wherever they run."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gpcn import save, synthesize
from gpcn.exec.executor import RETRIES
from gpcn.search.executors import local_executor, lost_outcome, ray_executor, serial_executor
from gpcn.search.tasks import TrialTask
from gpcn.training.config import TrainConfig

GRAPH = synthesize(nodes=200, classes=3, degree=4, splits=2, seed=5)


def config(**settings: Any) -> TrainConfig:
    return TrainConfig.of("gpcn-link", **{"hidden": 8, "epochs": 12, **settings})


TASKS = [TrialTask(number, config(layers=1 + number), split) for number in range(3) for split in (0, 1)]
DIVERGES = TrialTask(7, config(gamma=1e6, layers=8, lr=10.0), 0)


def scores(make: Any, *arguments: Any) -> dict[tuple[int, int], object]:
    with closing(make(GRAPH, *arguments)) as executor:
        return {
            (task.trial, task.split): {name: value for name, value in outcome.items() if name != "seconds"}
            for task, outcome in executor.run([*TASKS, DIVERGES])
        }


@pytest.mark.parametrize("make", [local_executor, ray_executor])
def test_outcomes_do_not_depend_on_the_executor(make: Any) -> None:
    if make is ray_executor:
        pytest.importorskip("ray", reason="the ray extra is not installed")
    alone = scores(serial_executor)
    assert scores(make, 2) == alone
    assert "failed" in alone[7, 0]  # type: ignore[operator]
    assert {"loss", "metric", "test"} <= alone[0, 0].keys()  # type: ignore[attr-defined]


def test_a_task_whose_workers_died_has_failed() -> None:
    outcome = lost_outcome(TASKS[0], RETRIES + 1)
    assert outcome["failed"] == f"its worker died {RETRIES + 1} times (killed, or out of memory)"


def test_without_ray_it_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "ray.py").write_text("raise ImportError('no ray')")
    words = [sys.executable, "-m", "gpcn", "tune", "x.npz", "--engine", "ray", "--out", str(tmp_path / "s")]
    save(GRAPH, tmp_path / "x.npz")
    env = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    answer = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, env=env, check=False)
    assert answer.returncode == 2
    assert "pip install 'gpcn[ray]'" in answer.stderr
    assert answer.stderr.count("\n") == 1
