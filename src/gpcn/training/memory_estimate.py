"""What training a model on a graph takes at least, before anything is allocated.

Weights are counted on PyTorch's `meta` device, which has shapes and no memory; activations are those that every model
must hold at one moment of a step. Both are lower bounds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from gpcn.core import machine_memory
from gpcn.graph import Graph
from gpcn.nn import zoo
from gpcn.training.config import TrainConfig

FLOAT = 4
COPIES = 5  # of the weights: themselves, their gradient, two moments of Adam, and the best so far
SMALL = 1 << 28  # bytes that are not worth a look


def graph_size(graph: Graph) -> zoo.GraphSize:
    """Return the numbers that decide how much a model computes on `graph`."""
    nodes, features = graph.num_nodes, graph.num_features
    entries = nodes * features if isinstance(graph.features, np.ndarray) else int(graph.features.nnz)
    links, relations = int(graph.adjacency.nnz), len(graph.relations)
    return zoo.GraphSize(nodes, links, features, entries, graph.task.num_outputs, graph.directed, relations)


def check_training_memory(graph: Graph, config: TrainConfig, sizes: dict[str, Any]) -> None:
    """Refuse a model that cannot be trained in the memory there is; `sizes` are what the model is built with."""
    if _at_most(graph, config) < SMALL:
        return
    needed = weight_bytes(config, sizes, graph.num_nodes) + activation_bytes(graph, config)
    size = f"{graph.num_nodes:,} nodes, {graph.num_features:,} features"
    machine_memory.require_memory(
        needed,
        f"{config.model} ({_shown(config)}) on {graph.name} ({size})",
        "lower hidden or layers, use another model, or raise the limit",
    )


def weight_bytes(config: TrainConfig, sizes: dict[str, Any], nodes: int) -> int:
    """Bytes for the weights, and for all that training keeps beside them."""
    with torch.device("meta"):
        model = zoo.build(config.model, num_nodes=nodes, **sizes)
    return FLOAT * COPIES * sum(parameter.numel() for parameter in model.parameters())


def activation_bytes(graph: Graph, config: TrainConfig) -> int:
    """Return the bytes of what a training step holds at one moment."""
    return FLOAT * zoo.specification_of(config.model).activations(graph_size(graph), config.hyperparameters)


def _at_most(graph: Graph, config: TrainConfig) -> int:
    """A number that is quick to compute and never too small."""
    settings = config.hyperparameters
    depth = 1
    for name in ("layers", "mlp_layers", "blocks", "hops", "edge_layers"):
        depth += int(settings.get(name, 1))
    width = 3 * activation_bytes(graph, config) // (FLOAT * graph.num_nodes)
    rows = graph.num_nodes * 3 + graph.num_features * 8 + width * depth
    return FLOAT * COPIES * (width * rows * 2 + graph.num_nodes * (graph.num_features + width * depth))


def _shown(config: TrainConfig) -> str:
    names = [name for name in ("hidden", "layers", "mlp_layers", "blocks") if name in config.hyperparameters]
    return ", ".join(f"{name}={config.hyperparameters[name]}" for name in names) or "as it is"
