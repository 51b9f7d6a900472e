"""Workers that read their parts from disk: the run they leave, checkpoints, and what is wrong in one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

from gpcn import Graph, TrainConfig, synthesize
from gpcn.core.errors import CheckpointError, ConfigError
from gpcn.data.parts.manifest import Manifest, part_folder
from gpcn.distributed.part_run import open_or_create_part_run, split_part_folder
from gpcn.distributed.part_training import train_part
from gpcn.distributed.sharding.shards import shard
from gpcn.distributed.torch_worker_group import TorchWorkerGroup
from gpcn.runs.run import Run
from gpcn.runs.split_run import run_split
from gpcn.training.loop import Observer, TrainingLoop
from tests.distributed.workers_of_a_test import run_workers

CONFIG = TrainConfig.of("gpcn-link", epochs=12, hidden=6, dropout=0.0, seed=4)


def graph_of() -> Graph:
    return synthesize(nodes=60, classes=3, degree=4, features=5, splits=2, seed=3, directed=True, unlabelled=0.1)


def begun(folder: Path, parts: int, config: TrainConfig = CONFIG) -> tuple[Path, Run]:
    manifest = shard(graph_of(), folder / "parts", parts)
    run = open_or_create_part_run(folder / "run", folder / "parts", manifest, config)
    return folder / "parts", run


def all_of_it(workers: Any, shards: Path, out: Path) -> None:
    torch.set_default_dtype(torch.float32)
    train_part(shards, out, [0, 1], workers)


class StopError(Exception):
    """A worker is lost."""


def interrupted(workers: Any, shards: Path, out: Path) -> list[int]:
    """Every epoch is saved; in epoch 5 of the second split the second worker is lost after the others have saved."""
    torch.set_default_dtype(torch.float32)

    class Stop(Observer):
        def __init__(self, number: int) -> None:
            self.number = number

        def after_epoch(self, training: TrainingLoop) -> None:
            if self.number == 1 and training.epoch == 5:
                raise StopError

    with pytest.raises(StopError):
        train_part(shards, out, [0, 1], workers, save_every=0, watch=Stop)
    run = Run.open(out)
    if workers.rank == 1:  # as if it had been killed before its last checkpoint was there
        newest = max(split_part_folder(run, 1, 1).glob("checkpoint-*.json"), key=lambda file: file.stat().st_mtime_ns)
        newest.unlink()
    workers.wait_for_all()
    epochs: list[int] = []

    class Count(Stop):
        def after_epoch(self, training: TrainingLoop) -> None:
            epochs.append(training.epoch)

    train_part(shards, out, [0, 1], workers, watch=Count)
    return epochs


def weights_of(run: Run, number: int, part: int) -> bytes:
    return next(split_part_folder(run, number, part).glob("model-*.safetensors")).read_bytes()


def test_the_run_has_the_scores_of_one_machine_and_a_lost_worker_changes_nothing(tmp_path: Path) -> None:
    shards, run = begun(tmp_path / "a", 2)
    run_workers(2, all_of_it, shards, run.path)
    alone = [run_split(graph_of(), CONFIG, number) for number in (0, 1)]
    assert run.finished() == [0, 1]
    for number, expected in enumerate(alone):
        outcome = run.outcome(number)
        assert outcome is not None
        for key in ("test", "val", "train", "epochs", "best_epoch", "parameters", "mix"):
            assert getattr(outcome.result, key) == pytest.approx(getattr(expected, key)), key
        tables = [pq.read_table(run.split_file(number, f"part-000{part}/predictions.parquet")) for part in (0, 1)]
        columns = [name for name in tables[0].column_names if name.startswith("p_")]
        rows = np.concatenate([np.stack([table.column(name) for name in columns], 1) for table in tables])
        np.testing.assert_allclose(rows, expected.probabilities, atol=1e-5)
    assert not list(run.path.rglob("checkpoint-*"))
    again_shards, again = begun(tmp_path / "b", 2)
    epochs = run_workers(2, interrupted, again_shards, again.path)
    assert epochs[0][0] == epochs[1][0] == 5  # the first epoch after the restored one, which is epoch 4
    for number in (0, 1):
        for part in (0, 1):
            assert weights_of(run, number, part) == weights_of(again, number, part)


def test_parts_and_workers_must_be_as_many(tmp_path: Path) -> None:
    _, run = begun(tmp_path, 2)
    with pytest.raises(ConfigError, match="was trained on other parts than .* has; choose another out"):
        begun(tmp_path, 3)
    with pytest.raises(ConfigError, match="holds another configuration"):
        begun(tmp_path, 2, TrainConfig.of("gpcn"))
    assert run.graph.parts == 2
    with pytest.raises(ConfigError, match="holds a graph in parts; choose another out"):
        open_or_create_part_run(tmp_path / "parts", tmp_path / "parts", Manifest.read(tmp_path / "parts"), CONFIG)


def test_models_that_need_all_nodes_are_refused() -> None:
    from gpcn.distributed.part_problem import check_supported_on_workers

    with pytest.raises(ConfigError, match="gcn cannot be trained by several workers; expected gpcn or"):
        check_supported_on_workers(TrainConfig.of("gcn"))
    with pytest.raises(ConfigError, match="dropout of link needs all links on one machine"):
        check_supported_on_workers(TrainConfig.of("link", dropout=0.5))


def missing_part(workers: TorchWorkerGroup, shards: Path, out: Path) -> str:
    try:
        train_part(shards, out, [0], workers)
    except CheckpointError as error:
        return str(error)
    except RuntimeError as error:
        return type(error).__name__
    return "trained"


def test_a_missing_part_is_one_sentence(tmp_path: Path) -> None:
    shards, run = begun(tmp_path, 2)
    (part_folder(shards, 1) / "nodes.parquet").unlink()
    Manifest.read(shards)
    answers = run_workers(2, missing_part, shards, run.path)
    assert "part 1 of" in answers[1]
    assert "nodes.parquet is missing" in answers[1]
