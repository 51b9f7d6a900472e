"""A training by two workers that nobody disturbs, as plain processes: what a disturbed one must equal to the bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from gpcn import TrainConfig, synthesize
from gpcn.data.parts.manifest import Manifest
from gpcn.distributed.part_run import open_or_create_part_run, split_part_folder
from gpcn.distributed.part_training import train_part
from gpcn.distributed.sharding.shards import shard
from gpcn.runs.run import Run
from gpcn.training.settle import settle_by_origin
from tests.distributed.workers_of_a_test import run_workers

PARTS = 2


def write_parts(folder: Path, parts: int = PARTS) -> None:
    """A small directed graph in parts."""
    shard(synthesize(nodes=60, classes=3, degree=4, features=5, splits=1, seed=3, directed=True), folder, parts)


def config_of(model: str, epochs: int) -> TrainConfig:
    """What `gpcn train --model model` with the words of `words_of` trains."""
    changes: dict[str, Any] = {"model": model, "epochs": epochs, "patience": 1_000_000, "hidden": 4}
    return settle_by_origin(TrainConfig.of(**changes), tables=False)


def words_of(model: str, epochs: int) -> list[str]:
    """The options of `gpcn train` for the same."""
    settings = [f"epochs={epochs}", "patience=1000000", "hidden=4"]
    return ["--model", model, *(word for setting in settings for word in ("--set", setting))]


def train_undisturbed(shards: Path, out: Path, config: TrainConfig) -> None:
    """Train to the end."""
    open_or_create_part_run(out, shards, Manifest.read(shards), config)
    run_workers(PARTS, _work, shards, out)


def _work(workers: Any, shards: Path, out: Path) -> None:
    torch.set_default_dtype(torch.float32)
    train_part(shards, out, [0], workers, save_every=1000)


def weights_in(run: Path) -> list[bytes]:
    """The weights of every part, as they are on disk."""
    return [
        next(split_part_folder(Run.open(run), 0, part).glob("model-*.safetensors")).read_bytes()
        for part in range(PARTS)
    ]
