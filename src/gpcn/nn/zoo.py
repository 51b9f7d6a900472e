"""Every model by name, with its formula, its paper and its hyperparameters.

model = zoo.build("gpcn-link", in_channels=q, out_channels=C, num_nodes=N, hidden=512, layers=8)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpcn.errors import ConfigError, near_matches
from gpcn.nn.base import NodeClassifier
from gpcn.nn.engine import bank as banks
from gpcn.nn.zoo_entries.baselines import BASELINE_ENTRIES
from gpcn.nn.zoo_entries.entry import Entry
from gpcn.nn.zoo_entries.family import FAMILY, FAMILY_ENTRIES, WIMALAWARNE
from gpcn.nn.zoo_entries.model_settings import SAME

__all__ = ["FAMILY", "WIMALAWARNE", "Entry", "build", "entry", "names"]


def names(family: str | None = None) -> list[str]:
    """All model names, or those of one family."""
    return [name for name, entry in _ZOO.items() if family in (None, entry.family)]


def entry(name: str) -> Entry:
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
    chosen = entry(name)
    options: dict[str, Any] = chosen.settle(hyperparameters)
    for bank in ("operators", "link_operators"):
        if options.get(bank, SAME) != SAME:
            options[bank] = banks.resolve(banks.parse(options[bank]), directed=directed, relations=relations)
    hidden = options.pop("hidden", 1)
    if chosen.per_node:
        options["num_nodes"] = num_nodes
    return chosen.kind(in_channels, hidden, out_channels, **options)


def _register(entries: tuple[Entry, ...]) -> dict[str, Entry]:
    zoo: dict[str, Entry] = {}
    for model in entries:
        if model.name in zoo:
            raise ValueError(f"two models are called {model.name}")
        zoo[model.name] = model
    return zoo


_ZOO = _register((*FAMILY_ENTRIES, *BASELINE_ENTRIES))
