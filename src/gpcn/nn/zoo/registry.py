"""Every model by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from gpcn.core.errors import ConfigError, near_matches
from gpcn.nn.base import NodeClassifier
from gpcn.nn.engine import bank as banks
from gpcn.nn.zoo.baselines import BASELINES
from gpcn.nn.zoo.family import POLYNOMIALS
from gpcn.nn.zoo.model_settings import SAME
from gpcn.nn.zoo.specification import ModelSpecification

DEFAULT = "gpcn"
USUAL = ("logistic", "trees", "link", "gcn", "gpcn", "gpcn-link", "multi-gpcn", "multi-gpcn-link", "deep-gpcn")
"""What a comparison trains where nobody says: what features, links and both can do, then ours."""


def names(family: str | None = None) -> list[str]:
    """All model names, or those of one family."""
    return [name for name, model in _ZOO.items() if family in (None, model.family)]


def specifications() -> list[ModelSpecification]:
    """All models."""
    return list(_ZOO.values())


def specification_of(name: str) -> ModelSpecification:
    """The model called `name`."""
    if name not in _ZOO:
        raise ConfigError(f"there is no model called {name!r}; {near_matches(name, _ZOO)}")
    return _ZOO[name]


def build(
    name: str,
    *,
    in_channels: int,
    out_channels: int,
    num_nodes: int,
    directed: bool = True,
    relations: Sequence[str] = (),
    **hyperparameters: Any,
) -> NodeClassifier:
    """The model called `name`, for a graph of these sizes, with or without directions and types of links."""
    model = specification_of(name)
    options: dict[str, Any] = model.settle(hyperparameters)
    for bank in ("operators", "link_operators"):
        if options.get(bank, SAME) != SAME:
            options[bank] = banks.resolve(banks.parse(options[bank]), directed=directed, relations=relations)
    hidden = options.pop("hidden", 1)
    if model.per_node:
        options["num_nodes"] = num_nodes
    return model.kind(in_channels, hidden, out_channels, **options)


def _register(models: Iterable[ModelSpecification]) -> dict[str, ModelSpecification]:
    zoo: dict[str, ModelSpecification] = {}
    for model in models:
        if model.name in zoo:
            raise ValueError(f"two models are called {model.name}")
        zoo[model.name] = model
    return zoo


_ZOO = _register((*POLYNOMIALS, *BASELINES))
