"""How far a training on workers is, from the first worker to a terminal or a log."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gpcn import synthesize
from gpcn.cli.shared.part_training import logged_epochs
from gpcn.distributed.cluster import training_progress
from gpcn.distributed.cluster.training_progress import (
    FILE,
    progress_observer,
    read_worker_progress,
    watched_progress,
)
from gpcn.distributed.run_files import RunFiles, run_files
from gpcn.distributed.sharding.shards import shard
from gpcn.training.loop import TrainingLoop
from gpcn.training.progress import Progress
from tests.commands import in_process
from tests.distributed.object_store import object_store


@pytest.fixture(params=["folder", "bucket"])
def out(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    for name in ("BETWEEN", "BETWEEN_STORED"):
        monkeypatch.setattr(training_progress, name, 0.05)
    if request.param == "folder":
        (tmp_path / "run").mkdir()
        yield str(tmp_path / "run")
        return
    monkeypatch.setenv("GPCN_CACHE", str(tmp_path / "cache"))
    with object_store():
        yield "s3://bucket/run"


def trainer_at(epoch: int, finished: bool = False) -> TrainingLoop:
    history = [(float(epoch), 0.5, 0.25, 0.75)]
    trainer = SimpleNamespace(epoch=epoch, finished=finished, history=history, config={"epochs": 9})
    return cast(TrainingLoop, trainer)


def epoch_in(file: Path) -> int:
    progress = read_worker_progress(file)
    return 0 if progress is None else progress.epoch


def files_of(out: str, process: str) -> RunFiles:
    files = run_files(out, process)
    files.prepare([])
    return files


def test_what_the_first_worker_reports_reaches_who_started_it(out: str) -> None:
    driver, worker = files_of(out, "driver"), files_of(out, "worker-0")
    seen: list[Progress] = []
    with watched_progress(driver, seen.append):
        observer = progress_observer(worker, 0)
        observer.after_epoch(trainer_at(1))
        until = time.monotonic() + 60
        while not seen and time.monotonic() < until:
            time.sleep(0.01)
        observer.after_epoch(trainer_at(9, finished=True))  # the last is seen even where the training ends at once
    assert seen == [Progress(0, 1, 9, 0.25, 0.75), Progress(0, 9, 9, 0.25, 0.75)]
    reader = files_of(out, "reader")
    reader.fetch([FILE])
    assert not (reader.folder / FILE).exists()


def test_reports_are_not_written_after_every_epoch(tmp_path: Path) -> None:
    observer = progress_observer(RunFiles(tmp_path), 0)
    observer.after_epoch(trainer_at(1))
    observer.after_epoch(trainer_at(2))
    assert epoch_in(tmp_path / FILE) == 1
    observer.after_epoch(trainer_at(3, finished=True))
    assert epoch_in(tmp_path / FILE) == 3
    (tmp_path / FILE).write_text("[1, 2]")
    assert read_worker_progress(tmp_path / FILE) is None


def test_a_log_has_a_line_per_event() -> None:
    lines: list[str] = []
    listen = logged_epochs(lines.append, between=1000)
    for split, epoch in ((0, 3), (0, 5), (0, 2), (0, 9), (1, 1)):
        listen(Progress(split, epoch, 9, 0.25, 0.75))
    assert lines == [
        "split 0: epoch 3 of 9, validation loss 0.2500, score 0.7500",
        "split 0: epoch 2 of 9, validation loss 0.2500, score 0.7500; the workers were started again",
        "split 0: epoch 9 of 9, validation loss 0.2500, score 0.7500",
        "split 1: epoch 1 of 9, validation loss 0.2500, score 0.7500",
    ]


def test_shard_logs_what_it_writes_and_what_is_there(tmp_path: Path) -> None:
    shard(synthesize(nodes=30, classes=2, splits=1, features=2, seed=0), tmp_path / "graph", 1)
    words: list[Any] = ["shard", tmp_path / "graph", "--parts", 2, "--out", tmp_path / "out", "--log-format", "json"]
    answer = in_process(*words)
    assert answer.returncode == 0, answer.stderr
    messages = [json.loads(line)["message"] for line in answer.stderr.splitlines()]
    assert messages == ["part 1 of 2 is written now", "part 2 of 2 is written now"]
    (tmp_path / "out" / "part-0001" / "part.json").unlink()
    messages = [json.loads(line)["message"] for line in in_process(*words).stderr.splitlines()]
    assert messages == ["part 1 of 2 is there already", "part 2 of 2 is written now"]
    assert in_process(*words[:-2]).stderr == ""


def test_a_log_of_training_is_for_a_cluster(tmp_path: Path) -> None:
    answer = in_process("train", tmp_path, "--log-format", "json")
    assert "and --log-format are for training on a cluster; add --engine ray, or leave them out" in answer.stderr
