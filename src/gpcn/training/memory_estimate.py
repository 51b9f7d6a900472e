"""What training a model on a graph takes at least, before anything is allocated.

Weights are counted on PyTorch's `meta` device, which has shapes and no memory; activations are those that every model
must hold at one moment of a step. Both are lower bounds.
"""

from __future__ import annotations

from typing import Any

import torch

from gpcn.graph import Graph
from gpcn.nn import zoo
from gpcn.training.config import TrainConfig
from gpcn.utils import machine_memory

FLOAT = 4
COPIES = 5  # of the weights: themselves, their gradient, two moments of Adam, and the best so far
LAYERED = {"gcnii": 1, "deep-gcn": 1, "deep-sage": 1, "residual-gcn": 1, "gcn": 1, "mixhop": 3, "adagpr": 1, "gode": 1}
"""Models that keep the activations of every layer, and how many times the hidden width these have."""
ROUND_COPIES = 4  # of H2GCN's rounds under dropout: one by one, side by side, their mask, and the product of both
SMALL = 1 << 28  # bytes that are not worth a look


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
    """Bytes of what a training step holds at one moment."""
    settings = config.hyperparameters
    if zoo.entry(config.model).fits_itself:
        means = int(settings.get("hops", 0)) * (2 if graph.directed else 1)
        return graph.num_nodes * graph.num_features * (FLOAT * (1 + means) + 8)
    hidden, layers = int(settings.get("hidden", 0)), int(settings.get("layers", 1))
    width = hidden * int(settings.get("mlp_layers", 1))
    width += hidden * layers * LAYERED.get(config.model, 0)
    if config.model == "h2gcn":
        blocks = 2 ** (layers + 1) - 1
        width = ROUND_COPIES * blocks * hidden if settings["dropout"] else hidden + blocks * graph.num_classes
    return FLOAT * graph.num_nodes * (width + graph.num_classes)


def _at_most(graph: Graph, config: TrainConfig) -> int:
    """A number that is quick to compute and never too small."""
    settings = config.hyperparameters
    depth = 1
    for name in ("layers", "mlp_layers", "blocks", "hops", "edge_layers"):
        depth += int(settings.get(name, 1))
    width = int(settings.get("hidden", graph.num_classes)) * 3
    if config.model == "h2gcn":
        width *= 2 ** (int(settings["layers"]) + 1)
    rows = graph.num_nodes * 3 + graph.num_features * 8 + width * depth
    return FLOAT * COPIES * (width * rows * 2 + graph.num_nodes * (graph.num_features + width * depth))


def _shown(config: TrainConfig) -> str:
    names = [name for name in ("hidden", "layers", "mlp_layers", "blocks") if name in config.hyperparameters]
    return ", ".join(f"{name}={config.hyperparameters[name]}" for name in names) or "as it is"
