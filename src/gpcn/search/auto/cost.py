"""How long an epoch of a configuration takes: first by the size of its work, then by what was measured."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from gpcn.graph import Graph
from gpcn.nn import zoo
from gpcn.training.config import TrainConfig
from gpcn.training.memory_estimate import graph_size

SPEED = {"gradients": 1e9, "rounds": 5e7}  # work per second on a slow core, before anything was measured
OVERHEAD = 1.5e-3  # seconds of an epoch that do nothing but call functions
LEAST_EPOCHS = 10  # fewer tell nothing of a configuration


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
            self.ratios.setdefault(_kind(config), []).append(per_epoch / self._by_size(config))

    def seconds_per_epoch(self, config: TrainConfig) -> float:
        """As measured, else by size and by what others took against theirs."""
        measured = self.per_epoch.get(config.canonical())
        if measured is not None:
            return measured
        ratios = self.ratios.get(_kind(config)) or list(chain.from_iterable(self.ratios.values()))
        usual = float(np.median(ratios)) if ratios else 1.0
        return usual * self._by_size(config)

    def seconds(self, config: TrainConfig, epochs: int, trainings: int = 1) -> float:
        """What trainings of so many epochs take; where nothing is learned, one epoch is all."""
        epochs = min(epochs, int(config["epochs"])) if zoo.specification_of(config.model).learns else 1
        return trainings * epochs * self.seconds_per_epoch(config)

    def _by_size(self, config: TrainConfig) -> float:
        """Return seconds of an epoch by the size of its work alone."""
        work = zoo.specification_of(config.model).epoch_work(graph_size(self.graph), config.hyperparameters)
        return OVERHEAD + work / SPEED[_kind(config)]

    def least(self, config: TrainConfig, trainings: int = 1) -> float:
        """Seconds that the shortest evaluation which tells anything takes."""
        return self.seconds(config, LEAST_EPOCHS, trainings)


def _kind(config: TrainConfig) -> str:
    return "rounds" if zoo.specification_of(config.model).fits_itself else "gradients"
