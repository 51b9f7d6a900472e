"""A worker's part of a graph, as training wants it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor

from gpcn.core.errors import ConfigError
from gpcn.distributed.halo import Offsets
from gpcn.nn import NodeClassifier, zoo
from gpcn.nn.bank_model import BankModel
from gpcn.nn.engine.polynomial import choose_order
from gpcn.nn.engine.randomness import RowRange, building_for_rows
from gpcn.nn.layers import Linear
from gpcn.tasks.task import Task
from gpcn.training.config import TrainConfig
from gpcn.training.problem import Problem


@dataclass(frozen=True)
class PartGraph:
    """The facts of a graph that training asks for besides its tensors; `num_nodes` are those here."""

    name: str
    num_nodes: int
    num_features: int
    metric: str
    task: Task


@dataclass(frozen=True, kw_only=True)
class PartProblem(Problem):
    """`Problem` of the nodes of one worker; `offsets` say who has which, `positions` where they are in the graph."""

    offsets: Offsets
    positions: Tensor | None = None

    @property
    def in_parts(self) -> bool:
        """Always, even where one worker has them all."""
        return True

    def build(self, config: TrainConfig, generator: torch.Generator | None = None) -> NodeClassifier:
        """The model with the rows of its weights per node that belong here; all other weights are alike everywhere."""
        check_supported_on_workers(config)
        rank, offsets = self.workers.rank, self.offsets
        rows = RowRange(int(offsets[rank]), int(offsets[rank + 1]), int(offsets[-1]), self.positions)
        with building_for_rows(rows):
            model = self._draw(config, generator)
        if isinstance(model, BankModel) and model.order == "auto":
            model.order = self._order(model)
        if generator is not None and rank > 0:  # masks differ between workers
            generator.manual_seed(generator.initial_seed() + rank)
        return model

    def _order(self, model: BankModel) -> Any:
        """The cheaper order for the whole graph, for all workers must take the same."""
        bound = model.bind(self.adjacency, None, self.graph.num_nodes)
        entries = [round(self.workers.total(operator.nnz)) for operator in bound.operators]
        last = cast(Linear, model.features.layers[-1])
        return choose_order(int(self.offsets[-1]), entries, last.weight.shape[1], model.num_classes, model.depths)


def check_supported_on_workers(config: TrainConfig) -> None:
    """Refuse what several workers would not compute exactly as one machine does."""
    specification = zoo.specification_of(config.model)
    if not specification.exact_on_parts:
        able = " or ".join(model.name for model in zoo.specifications() if model.exact_on_parts)
        raise ConfigError(f"{config.model} cannot be trained by several workers; expected {able}")
    for name in specification.not_on_parts:
        if config[name]:
            raise ConfigError(f"{name} of {config.model} needs all links on one machine; use {name}=0")
