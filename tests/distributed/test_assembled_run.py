"""A run trained by several workers, opened on one machine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import gpcn
from gpcn import TrainConfig, synthesize
from gpcn.core.errors import CheckpointError
from gpcn.distributed.part_run import open_or_create_part_run
from gpcn.distributed.part_training import train_part
from gpcn.distributed.sharding.shards import shard
from gpcn.runs.run import Run
from tests.commands import in_process
from tests.distributed.workers_of_a_test import run_workers


def work(workers: object, shards: Path, out: Path) -> None:
    import torch

    torch.set_default_dtype(torch.float32)
    train_part(shards, out, [0], workers)  # type: ignore[arg-type]


def test_it_predicts_explains_and_reports_like_any_other(tmp_path: Path) -> None:
    graph = synthesize(nodes=60, classes=3, degree=4, features=5, splits=1, seed=3, directed=True)
    graph = replace(graph, node_ids=[f"n{number}" for number in range(60)])
    manifest = shard(graph, tmp_path / "parts", 2)
    whole = gpcn.load(tmp_path / "parts")
    assert whole.equals(graph)
    assert whole.node_ids == graph.node_ids
    config = TrainConfig.of("gpcn-link", epochs=6, hidden=6, seed=4)
    run = open_or_create_part_run(tmp_path / "run", tmp_path / "parts", manifest, config)
    run_workers(2, work, tmp_path / "parts", run.path)

    folder = gpcn.open_run(run.path)
    predictions = folder.predict()
    assert predictions.node_ids == graph.node_ids
    assert predictions.new_nodes == 0
    kept = Run.open(run.path).predictions(0)
    np.testing.assert_allclose(predictions.probabilities, kept, atol=1e-5)
    again = folder.predict(graph)
    np.testing.assert_allclose(again.probabilities, predictions.probabilities, atol=1e-7)
    assert folder.explain("n7").node == "n7"
    answer = in_process("predict", run.path, "--out", tmp_path / "p.csv")
    assert answer.returncode == 0, answer.stderr
    assert "60 prediction(s)" in answer.stdout


def test_a_damaged_part_is_refused(tmp_path: Path) -> None:
    graph = synthesize(nodes=40, classes=2, features=3, splits=1, seed=3)
    manifest = shard(graph, tmp_path / "parts", 1)
    run = open_or_create_part_run(
        tmp_path / "run", tmp_path / "parts", manifest, TrainConfig.of("mlp", epochs=3, hidden=4)
    )
    run_workers(1, work, tmp_path / "parts", run.path)
    file = run.folder(0) / "part-0000" / "predictions.parquet"
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(CheckpointError, match=r"predictions.parquet does not have its checksum"):
        gpcn.open_run(run.path)
