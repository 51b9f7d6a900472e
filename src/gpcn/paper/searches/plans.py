"""What a search of ours draws from and how it spends its evaluations."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gpcn.nn.zoo.hyperparameters import Value
from gpcn.training.config import declared_settings

Settings = dict[str, Value]
Choices = dict[str, tuple[Value, ...]]
COMMON: Choices = {
    "lr": (0.005, 0.01, 0.05),
    "weight_decay": (1e-5, 5e-4, 1e-3, 5e-3),
    "dropout": (0.0, 0.3, 0.5, 0.7, 0.8),
    "direction": ("out", "both"),
    "normalize_features": (False, True),
}
FAMILY_SPACE: Choices = COMMON | {
    "hidden": (64, 256),
    "layers": (1, 2, 4, 8),
    "mlp_layers": (1, 2, 3),
    "gamma": (2.0**-6, 2.0**-4, 2.0**-2, 1.0),
    "bias": (False, True),
    "mu": (0.1, 0.5, 0.9, 0.99),
    "link_decay": (-1.0, 1e-2, 5e-2),
}
"""What our search of the family draws from; the paper's own grid are the spaces of the settings."""
STARTS_OF_THETA = (1.0, 2.0**-2, 2.0**-4)
"""Where `θ` may start at the paper's settings, which do not say: at GPCN's coefficients with one of these `γ`."""
NEARLY_LINK: Settings = {
    "lr": 0.05,
    "weight_decay": 1e-5,
    "hidden": 256,
    "layers": 1,
    "mlp_layers": 1,
    "gamma": 2.0**-4,
    "dropout": 0.0,
    "mu": 0.1,
    "normalize_features": True,
}
"""What the baseline LINK likes on validation nodes: little decay, and here little convolution."""


@dataclass(frozen=True)
class Plan:
    """How a search spends its evaluations.

    Args:
        draws: configurations drawn at random, besides those it starts from.
        mutations: of what it starts from, and once more of the best three.
        of_siblings: of the best of what the paper prints for the other models of the family.
        first: splits for all configurations.
        last: splits for the finalists of the first round.
        finalists: how many.
        refinements: mutations in the second round, of the best of what all four models found.
        decisive: splits that decide between the finalists of the second round and at the paper's settings.
        epochs, patience: of all but the finalists, which have twice as many.
        width: `hidden` of what it mutates first; as the paper prints where 0.
        narrow: whether everything but the paper's own settings has that width.
    """

    draws: int
    mutations: int
    first: tuple[int, ...]
    last: tuple[int, ...] = ()
    finalists: int = 3
    refinements: int = 8
    decisive: tuple[int, ...] = ()
    epochs: int = 150
    patience: int = 30
    width: int = 0
    of_siblings: int = 4
    narrow: bool = False

    def choices(self, choices: Choices) -> Choices:
        """Those of `choices` that this plan varies."""
        return {name: values for name, values in choices.items() if not (self.narrow and name == "hidden")}

    def fitted(self, settings: Settings) -> Settings:
        """`settings` of another origin, at the width this plan can afford."""
        return settings | {"hidden": self.width} if self.narrow else settings


FAMILY_PLAN = Plan(draws=10, mutations=10, first=(0,), last=(0, 1, 2), decisive=(0, 1, 2))
SMALL_FAMILY_PLAN = replace(
    FAMILY_PLAN, draws=8, mutations=5, first=(0, 1), last=tuple(range(5)), decisive=tuple(range(10))
)
LARGE_FAMILY_PLAN = replace(FAMILY_PLAN, width=64)
VERY_LARGE_FAMILY_PLAN = Plan(
    draws=3,
    mutations=2,
    first=(0,),
    last=(0,),
    finalists=1,
    refinements=2,
    decisive=(0,),
    epochs=100,
    patience=20,
    width=64,
    of_siblings=1,
    narrow=True,
)
"""An epoch at the paper's width takes up to five seconds; one split has thousands of validation nodes. (The recipes for
deezer-europe were found with 5 draws, twice 4 mutations, 2 finalists and 4 refinements, before pubmed's were.)"""
SMALL = 1000  # nodes; below it a split costs a second or two and says little, so there are more of both
LARGE = 5000  # nodes; above it width 512 costs minutes a split, so the search of ours starts narrow
VERY_LARGE = 15_000  # nodes; above it so much that the search of ours stays narrow


def family_search_plan(nodes: int) -> Plan:
    """The plan for a graph of that size."""
    if nodes < SMALL:
        return SMALL_FAMILY_PLAN
    if nodes > VERY_LARGE:
        return VERY_LARGE_FAMILY_PLAN
    return LARGE_FAMILY_PLAN if nodes > LARGE else FAMILY_PLAN


def relevant_setting_names(model: str) -> set[str]:
    """The settings that mean something to `model`."""
    names = set(declared_settings(model))
    if "mu" not in names:
        names.discard("link_decay")  # there is no W_A to decay
    return names


def relevant_setting_choices(model: str, choices: Choices) -> Choices:
    """Those of `choices` that mean something to `model`."""
    names = relevant_setting_names(model)
    return {name: values for name, values in choices.items() if name in names}


def draw_recipe_settings(choices: Choices, rng: np.random.Generator) -> Settings:
    """A value for every setting of `choices`, at random."""
    return {name: values[rng.integers(len(values))] for name, values in choices.items()}


def mutate_recipe_settings(settings: Settings, choices: Choices, rng: np.random.Generator, count: int = 2) -> Settings:
    """`settings` with `count` of them drawn anew from `choices`."""
    names = list(rng.choice(list(choices), size=count, replace=False))
    return settings | draw_recipe_settings({str(name): choices[str(name)] for name in names}, rng)
