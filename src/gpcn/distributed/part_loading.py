"""A worker's problem, from its part on disk."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import torch

from gpcn.core.errors import ConfigError, Option
from gpcn.data.parts.manifest import Manifest
from gpcn.data.parts.tables import PartData
from gpcn.distributed.part_adjacency import PartAdjacency
from gpcn.distributed.part_problem import PartGraph, PartProblem
from gpcn.distributed.torch_worker_group import TorchWorkerGroup
from gpcn.graph import Graph
from gpcn.graph.graph import row_normalized
from gpcn.nn.base import features_as_input
from gpcn.tasks.task import task_class
from gpcn.training.config import TrainConfig
from gpcn.training.problem import Structure, View


def load_part(
    root: Path, manifest: Manifest, config: TrainConfig, workers: TorchWorkerGroup
) -> tuple[PartProblem, PartData]:
    """The part of this worker, which reads no other; all workers do this together."""
    if workers.size != manifest.parts:
        raise ConfigError(
            f"{root} has {manifest.parts} part(s) and there are {workers.size} worker(s); train with "
            f"{Option('workers', manifest.parts)}, or write it again with "
            f"{Option('parts', workers.size, command='shard')}"
        )
    data = PartData.read(root, manifest, workers.rank)
    return build_part_problem(data, manifest, config, workers, torch.get_default_dtype()), data


def build_part_problem(
    data: PartData, manifest: Manifest, config: TrainConfig, workers: TorchWorkerGroup, dtype: torch.dtype
) -> PartProblem:
    """Return the problem that training has in a part."""
    about = manifest.graph
    graph = PartGraph(
        name=about.name,
        num_nodes=data.labels.size,
        num_features=about.features,
        metric=about.metric,
        task=task_class(about.task).of(about.class_names, about.positive),
    )
    offsets = manifest.ranges()
    links = PartAdjacency(data.links, data.relations, workers, offsets, direction=config["direction"])
    features = row_normalized(data.features) if config["normalize_features"] else data.features
    view = View(features_as_input(features, dtype), links)
    return PartProblem(
        cast(Graph, graph),
        view,
        view,
        torch.tensor(data.labels),
        torch.device("cpu"),
        Structure(manifest.directed, manifest.relations),
        workers,
        offsets=offsets,
        positions=None if data.positions is None else torch.from_numpy(data.positions),
    )
