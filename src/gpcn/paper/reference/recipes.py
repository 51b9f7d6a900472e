"""Recipes: settings by model and dataset, as the paper prints them or as we found them.

`hyperparameters.csv` holds what the paper's four hyperparameter tables print. What they leave open (how the best epoch
is chosen, whether features are normalized, where `θ` starts, whether edges have a direction) and the settings of ours
are in `found.json`, each with how it was found: on validation nodes alone, by `gpcn reproduce recipes`.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Literal, cast

from gpcn.nn import zoo
from gpcn.nn.zoo import FAMILY
from gpcn.nn.zoo.hyperparameters import Value
from gpcn.training.config import TrainConfig

Origin = Literal["paper", "ours"]
ORIGINS: tuple[Origin, ...] = ("paper", "ours")
CORNELL_GPCN = {"gamma": 2.0**-6, "layers": 4, "mlp_layers": 2}  # not printed; from the authors' script
COLUMNS: dict[str, tuple[str, type]] = {
    "lr": ("lr", float),
    "hidden": ("hidden", int),
    "weight_decay": ("weight_decay", float),
    "residual_layers_L": ("layers", int),
    "mlp_layers_T": ("mlp_layers", int),
    "gamma": ("gamma", float),
    "dropout": ("dropout", float),
}


@dataclass(frozen=True)
class Recipe:
    """Settings for one model on one dataset, where they come from and how they were found."""

    model: str
    dataset: str
    origin: Origin
    settings: Mapping[str, Value]
    how: str
    validation: float | None = None

    def config(self, changes: Mapping[str, Value] | None = None, *, seed: int = 0) -> TrainConfig:
        """The settings as something to train, `changes` on top."""
        return TrainConfig.of(self.model, seed=seed, **{**self.settings, **(changes or {})})


def recipe(model: str, dataset: str, origin: Origin = "ours") -> Recipe | None:
    """The recipe, or `None` where there is none of that origin."""
    zoo.specification_of(model)
    if origin == "paper":
        return _paper(model, dataset)
    searched = _searched().get((model, dataset, "ours"))
    if searched is None and model not in FAMILY:
        return Recipe(model, dataset, "ours", {}, "the defaults of gpcn models; no search was run on this dataset")
    return searched


def preferred_recipe(model: str, dataset: str) -> Recipe | None:
    """The better of the paper's recipe and ours, by crossed validation score."""
    existing = [chosen for origin in ORIGINS if (chosen := recipe(model, dataset, origin)) is not None]
    return max(existing, key=_validation_or_worst, default=None)


def recipe_validation_score(row: Mapping[str, str]) -> float:
    """The crossed validation score of the recipe that a row of results was made with."""
    used = recipe(row["method"], row["dataset"], cast(Origin, row["recipe"]))
    return _validation_or_worst(used)


def _validation_or_worst(chosen: Recipe | None) -> float:
    return float("-inf") if chosen is None or chosen.validation is None else chosen.validation


def printed_settings(model: str, dataset: str) -> dict[str, Value] | None:
    """What the paper's hyperparameter tables print, in our names."""
    return _printed().get((model, dataset))


def _paper(model: str, dataset: str) -> Recipe | None:
    settings = printed_settings(model, dataset)
    if settings is None:
        return None
    searched = _searched().get((model, dataset, "paper"))
    if searched is None:
        return Recipe(model, dataset, "paper", settings, "as printed; what is not printed by default")
    return Recipe(model, dataset, "paper", {**settings, **searched.settings}, searched.how, searched.validation)


@lru_cache
def _printed() -> dict[tuple[str, str], dict[str, Value]]:
    text = resources.files("gpcn.paper.reference").joinpath("hyperparameters.csv").read_text()
    recipes: dict[tuple[str, str], dict[str, Value]] = {}
    for row in csv.DictReader(text.splitlines()):
        settings = {name: kind(row[column]) for column, (name, kind) in COLUMNS.items() if row[column]}
        recipes[row["model"].lower(), row["dataset"]] = settings
    recipes["gpcn", "cornell"] |= CORNELL_GPCN
    return recipes


@lru_cache
def _searched() -> dict[tuple[str, str, str], Recipe]:
    recipes = json.loads(resources.files("gpcn.paper.reference").joinpath("found.json").read_text())
    return {(row["model"], row["dataset"], row["origin"]): Recipe(**row) for row in recipes}
