"""The one place that decides which settings a model is trained with where nobody named them."""

from __future__ import annotations

from gpcn.graph import Graph
from gpcn.nn import zoo
from gpcn.training.config import TrainConfig


def settle(config: TrainConfig, graph: Graph) -> TrainConfig:
    """Return `config` with the settings that nobody named as they suit `graph`; every face trains what this gives."""
    return settle_by_origin(config, tables=graph.preparation is not None)


def settle_by_origin(config: TrainConfig, *, tables: bool) -> TrainConfig:
    """The same for any graph from `tables`, or for one that is not."""
    return config.with_open_settings(zoo.specification_of(config.model).on_tables if tables else {})
