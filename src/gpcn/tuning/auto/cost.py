"""How long an epoch of a configuration takes: first by the size of its work, then by what was measured."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from gpcn.graph import Graph
from gpcn.nn import zoo
from gpcn.training.config import TrainConfig

SPEED = {"gradients": 1e9, "rounds": 5e7}  # work per second on a slow core, before anything was measured
OVERHEAD = 1.5e-3  # seconds of an epoch that do nothing but call functions
LEAST_EPOCHS = 10  # fewer tell nothing of a configuration


def epoch_work(graph: Graph, config: TrainConfig) -> float:
    """Multiply-adds of an epoch, roughly."""
    nodes, links, classes = graph.num_nodes, int(graph.adjacency.nnz), graph.num_classes
    entries = nodes * graph.num_features if isinstance(graph.features, np.ndarray) else int(graph.features.nnz)
    if zoo.entry(config.model).fits_itself:
        return float(nodes * min(3 * graph.num_features + 10, 800) * max(1, classes - 1))
    settings = config.hyperparameters
    hidden, layers = int(settings.get("hidden", classes)), int(settings.get("layers", 1))
    operators = {"rich": 5, "sums": 4, "directions": 2, "links": 2, "typed": 2 * max(1, len(graph.relations))}
    bank = operators.get(str(settings.get("operators", "")), 1)
    deep = int(settings.get("blocks", 1)) - 1
    if config.model in ("deep-gcn", "deep-sage", "gcn", "gcnii", "mixhop", "h2gcn", "adagpr", "gode", "residual-gcn"):
        deep, layers = layers, 0
    inside = nodes * hidden * hidden * (bank + 1) + links * hidden * bank
    outside = (links + nodes * hidden) * classes * max(1, layers) * bank
    per_node = links * hidden if zoo.entry(config.model).per_node else 0
    first = entries * hidden + nodes * hidden * hidden * (int(settings.get("mlp_layers", 1)) - 1)
    return 3.0 * (first + deep * inside + outside + per_node)


@dataclass
class EpochCosts:
    """What was measured so far, and what follows for others."""

    graph: Graph
    ratios: dict[str, list[float]] = field(default_factory=dict)
    per_epoch: dict[str, float] = field(default_factory=dict)

    def measured(self, config: TrainConfig, epochs: int, seconds: float) -> None:
        """A training of so many epochs took so long."""
        if epochs > 0 and seconds > 0:
            per_epoch = seconds / epochs
            self.per_epoch[config.canonical()] = per_epoch
            if epochs < LEAST_EPOCHS:  # mostly what comes before the first: it tells nothing of others
                return
            work = OVERHEAD + epoch_work(self.graph, config) / SPEED[_kind(config)]
            self.ratios.setdefault(_kind(config), []).append(per_epoch / work)

    def seconds_per_epoch(self, config: TrainConfig) -> float:
        """As measured, else by size and by what others took against theirs."""
        measured = self.per_epoch.get(config.canonical())
        if measured is not None:
            return measured
        ratios = self.ratios.get(_kind(config)) or list(chain.from_iterable(self.ratios.values()))
        usual = float(np.median(ratios)) if ratios else 1.0
        return usual * (OVERHEAD + epoch_work(self.graph, config) / SPEED[_kind(config)])

    def seconds(self, config: TrainConfig, epochs: int, trainings: int = 1) -> float:
        """What trainings of so many epochs take; where nothing is learned, one epoch is all."""
        learns = config.model != "label-propagation"
        return trainings * (min(epochs, int(config["epochs"])) if learns else 1) * self.seconds_per_epoch(config)

    def least(self, config: TrainConfig, trainings: int = 1) -> float:
        """Seconds that the shortest evaluation which tells anything takes."""
        return self.seconds(config, LEAST_EPOCHS, trainings)


def _kind(config: TrainConfig) -> str:
    return "rounds" if zoo.entry(config.model).fits_itself else "gradients"
