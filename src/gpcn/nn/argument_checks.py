"""The arguments that many models share, checked in one place."""

from __future__ import annotations

import math
from typing import TypeVar

from gpcn.core.errors import ConfigError

Choice = TypeVar("Choice", bound=str)


def check_count(name: str, value: int, least: int = 1) -> int:
    """A whole number, at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ConfigError(f"{name} is {value!r}; expected a whole number, at least {least}")
    return value


def check_channels(in_channels: int, hidden_channels: int, out_channels: int, *, reads_features: bool = True) -> None:
    """The three widths of a model, each at least 1; a model that reads no features needs none."""
    check_count("in_channels", in_channels, least=1 if reads_features else 0)
    check_count("hidden_channels", hidden_channels)
    check_count("out_channels", out_channels)


def check_share(name: str, value: float) -> float:
    """A share from 0 to 1, both included."""
    if not 0 <= value <= 1:
        raise ConfigError(f"{name} is {value}; expected a share from 0 to 1")
    return float(value)


def check_finite(name: str, value: float) -> float:
    """Return a finite number."""
    if not math.isfinite(value):
        raise ConfigError(f"{name} is {value}; expected a finite number")
    return float(value)


def check_choice(name: str, value: Choice, *choices: str) -> Choice:
    """Return one of `choices`."""
    if value not in choices:
        raise ConfigError(f"{name} is {value!r}; expected {', '.join(choices[:-1])} or {choices[-1]}")
    return value


def check_positive(name: str, value: float) -> float:
    """A finite number above 0."""
    if not (math.isfinite(value) and value > 0):
        raise ConfigError(f"{name} is {value}; expected a finite number above 0")
    return float(value)


def check_num_nodes(model: str, num_nodes: int | None) -> int:
    """The size of the graph, for models that learn a vector per node."""
    if num_nodes is None:
        raise ConfigError(f"{model} learns a vector per node; pass num_nodes")
    return check_count("num_nodes", num_nodes)


def check_same_nodes(model: str, expected: int, given: int) -> None:
    """Features for as many nodes as the model knows."""
    if expected != given:
        raise ConfigError(
            f"{model} knows {expected} nodes but there are features for {given}; make a model for this graph"
        )
