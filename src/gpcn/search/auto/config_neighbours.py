"""Local search: configurations that differ in one or two settings from one that is good."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from gpcn.graph import Graph
from gpcn.search.space import Space
from gpcn.training.config import TrainConfig

ATTEMPTS = 40
UNEVEN = 0.5  # of an equal share of the nodes: where the rarest class has less, weighing classes is tried
WEIGHED = ("balanced_accuracy", "f1", "average_precision")  # metrics to which that makes a difference
ONE_CHANGE = 0.6  # share of the steps that change one setting alone
WIDER: dict[str, tuple[Any, ...]] = {
    "lr": (0.001, 0.003, 0.005, 0.01, 0.03, 0.05),
    "weight_decay": (0.0, 1e-5, 1e-4, 5e-4, 1e-3, 5e-3),
    "dropout": (0.0, 0.2, 0.3, 0.5, 0.7, 0.8),
    "hidden": (32, 64, 128, 256),
    "layers": (1, 2, 3, 4, 8),
    "blocks": (2, 3, 4, 6),
    "alpha": (0.05, 0.1, 0.2, 0.5, 0.8, 0.9, 0.99),
    "learning_rate": (0.03, 0.05, 0.1, 0.2),
    "min_samples_leaf": (0, 5, 20, 50),
    "operators": ("out-row", "directions", "symmetric", "rich", "sums"),
    "link_operators": ("links", "out-raw"),
}


def neighbour_choices(graph: Graph, model: str) -> dict[str, tuple[Any, ...]]:
    """What may be changed in `model` on that graph, and to what."""
    space = Space.of([model], directed=graph.directed)
    choices = {name: WIDER.get(name, tuple(values)) for name, values in space.choices[model].items()}
    if not graph.directed:
        choices.pop("direction", None)
    counts = np.bincount(graph.target.strata[graph.labelled], minlength=len(graph.target.stratum_names))
    if graph.metric in WEIGHED and counts.min() < UNEVEN * counts.mean():
        choices["class_weights"] = (False, True)
    return {name: values for name, values in choices.items() if len(values) > 1}


def neighbouring_config(
    graph: Graph, config: TrainConfig, tried: Collection[str], rng: np.random.Generator
) -> TrainConfig | None:
    """A configuration near `config` that was not tried, where one is found; numbers move to the next value."""
    choices = neighbour_choices(graph, config.model)
    if not choices:
        return None
    names = sorted(choices)
    for _ in range(ATTEMPTS):
        count = 1 if rng.random() < ONE_CHANGE else 2
        changes = {
            name: _moved(choices[name], config[name], rng)
            for name in rng.choice(names, size=min(count, len(names)), replace=False)
        }
        moved = _changed(config, changes)
        if moved.canonical() not in tried:
            return moved
    return None


def _moved(values: tuple[Any, ...], current: Any, rng: np.random.Generator) -> Any:
    """The next value up or down where values are ordered, any other where they are not."""
    ordered = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)
    if not ordered:
        others = [value for value in values if value != current]
        return others[int(rng.integers(len(others)))]
    above = [value for value in values if value > current]
    below = [value for value in values if value < current]
    up = bool(rng.random() < 0.5)
    if (up and above) or not below:
        return min(above)
    return max(below)


def _changed(config: TrainConfig, changes: dict[str, Any]) -> TrainConfig:
    settings = {**config.hyperparameters, **config.training, **changes}
    return TrainConfig.of(config.model, seed=config.seed, **settings)
