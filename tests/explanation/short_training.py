"""A run of a few epochs on the first split, for tests that need one of a certain model."""

from __future__ import annotations

from pathlib import Path

from gpcn import Graph, TrainConfig
from gpcn.runs.run import Run
from gpcn.runs.training import train


def trained(graph: Graph, path: Path, model: str, **settings: object) -> Run:
    train(graph, TrainConfig.of(model, epochs=15, **settings), out=path, splits=[0], jobs=1)
    return Run.open(path)
