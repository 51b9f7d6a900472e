"""`gpcn train DIR --engine ray`: a graph in parts, by workers of a Ray cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gpcn.cli.output import print_json
from gpcn.errors import ConfigError
from gpcn.training.config import TrainConfig


def train_parts(
    graph: str,
    config: TrainConfig,
    changes: dict[str, Any] | None,
    engine: str | None,
    workers: int | None,
    address: str | None,
    splits: list[int] | None,
    out: Path | None,
    save_every: float,
    timeout: float,
    json: bool,
) -> None:
    """Train and show; `changes` are the settings given, to which those that suit the graph are added."""
    from gpcn.cli.train import show
    from gpcn.data.parts.manifest import Manifest
    from gpcn.distributed.cluster_training import train_on_cluster
    from gpcn.training.usual import settings_for

    if engine is None:
        raise ConfigError("--workers and --address are for training on a cluster; add --engine ray, or leave them out")
    if engine != "ray":
        raise ConfigError(f"--engine is {engine!r}; expected ray")
    if out is None:
        raise ConfigError("--engine ray keeps the parts of a run; name a folder that all workers see with --out")
    if changes is not None:
        tables = Manifest.read(graph).graph.get("preparation") is not None
        config = TrainConfig.of(**{**settings_for(config.model, tables=tables), **changes})
    result = train_on_cluster(
        graph, config, out, workers=workers, address=address, splits=splits, save_every=save_every, timeout=timeout
    )
    if json:
        print_json(result)
    else:
        show(result, out)
