"""Studies whose storage is damaged, edited or full."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from gpcn import CheckpointError, TrainConfig, TrainingError, synthesize
from gpcn.nn.engine.memory import memory_limits
from gpcn.runs.training import train
from gpcn.search.executors import serial_executor
from gpcn.search.ledger import Ledger
from gpcn.search.outcomes import checked_outcome, outcome_with_checksum
from gpcn.search.schedule import Plan
from gpcn.search.space import Space
from gpcn.search.study_header import study_header
from gpcn.search.tasks import TrialTask
from gpcn.training.problem import Problem

GRAPH = synthesize(nodes=60, classes=2, splits=1)
SCORED = {"loss": 50.0, "metric": 51.0, "test": {"loss": 49.0, "metric": None}, "epochs": 4, "seconds": 0.1}


def begun(folder: Path) -> Ledger:
    space = Space.of(["gpcn"])
    folder.mkdir(exist_ok=True)
    ledger = Ledger.create(folder, study_header(GRAPH, space, Plan.of([0], 9), seed=0, source=None))
    trial = ledger.add(0, 0, space.point("gpcn", {}))
    ledger.record(trial.task(0, 3), SCORED)
    return ledger


def edit(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Change the outcome in the file, behind everybody's back."""
    with sqlite3.connect(folder / "study.db") as file:
        row = "key like 'evaluation:%'"
        ((text,),) = file.execute(f"select value_json from trial_user_attributes where {row}").fetchall()
        payload = json.loads(text)
        change(payload)
        file.execute(f"update trial_user_attributes set value_json = ? where {row}", (json.dumps(payload),))


@pytest.mark.parametrize(
    "change",
    [
        lambda outcome: outcome.update(metric=99.9),
        lambda outcome: outcome["test"].update(loss=99.9),
        lambda outcome: outcome.pop("seconds"),
        lambda outcome: outcome.update(epochs="many"),
        lambda outcome: (outcome.pop("checksum"), outcome.pop("seconds")),
        lambda outcome: (outcome.pop("checksum"), outcome.update(test=[])),
        lambda outcome: (outcome.pop("checksum"), outcome.update(loss=float("nan"))),
    ],
)
def test_an_edited_outcome_is_one_sentence(tmp_path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    begun(tmp_path)
    assert Ledger.read(tmp_path).trials[0].outcomes["evaluation:0:3"] == SCORED
    edit(tmp_path, change)
    with pytest.raises(CheckpointError, match="configuration 0 of the study in .* is damaged: its evaluation:0:3"):
        Ledger.read(tmp_path)


def test_an_outcome_is_read_as_it_was_written() -> None:
    assert checked_outcome(outcome_with_checksum(SCORED), "it") == SCORED
    failed = {"failed": "no", "seconds": 0.0}
    assert checked_outcome(outcome_with_checksum(failed), "it") == failed


def test_a_full_disk_during_a_search_is_one_sentence(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(small)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small tmpfs needs root")
    try:
        ledger = begun(small / "study")
        (small / "rest").write_bytes(b"")
        with pytest.raises(OSError, match="No space"), (small / "rest").open("wb", buffering=0) as rest:
            while True:
                rest.write(bytes(4096))
        with pytest.raises(CheckpointError, match="disk is full.*the same command goes on|disk I/O error") as caught:
            for number in range(1, 500):
                ledger.add(number, 0, ledger.space.point("gpcn", {}))
        assert "\n" not in str(caught.value)
        (small / "rest").unlink()
        assert Ledger.open(small / "study").trials[0].outcomes["evaluation:0:3"] == SCORED
    finally:
        subprocess.run(["umount", "-l", str(small)], check=True)


def test_what_the_allocator_refuses_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    sentence = "enough memory for this .it asked for \\d+ bytes at once.; use fewer"
    with pytest.raises(TrainingError, match=sentence), memory_limits("this"):
        torch.empty(1 << 50, dtype=torch.uint8)
    with pytest.raises(RuntimeError, match="size"), memory_limits("this"):
        torch.zeros(2) @ torch.zeros(3)
    monkeypatch.setattr(Problem, "build", lambda *_: torch.empty(1 << 50, dtype=torch.uint8))
    config = TrainConfig.of("gpcn", hidden=4, epochs=3)
    with pytest.raises(TrainingError, match="does not have enough memory for gpcn on"):
        train(GRAPH, config)
    ((_, outcome),) = serial_executor(GRAPH).run([TrialTask(0, config, 0)])
    assert outcome["failed"].startswith("this machine does not have enough memory for gpcn on")
