"""Libraries that single commands need and the base install lacks: each belongs to an extra, which its absence names."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from gpcn.core.errors import ConfigError, Option

EXTRA_OF = {
    "duckdb": "scale",
    "matplotlib": "figures",
    "networkx": "networkx",
    "optuna": "search",
    "pymetis": "scale",
    "ray": "ray",
    "ray.train": "scale",
    "torch_geometric": "pyg",
    "torchdiffeq": "ode",
}
"""The extra of `pyproject.toml` that brings a library."""


def require_library(library: str, purpose: str | Option) -> Any:
    """The module `library`; where it cannot be imported, one sentence says what needs it and which extra brings it.

    Args:
        library: one of `EXTRA_OF`.
        purpose: the subject of that sentence, such as an option or `to_pyg`.
    """
    try:
        return import_module(library)
    except ImportError as error:
        raise ConfigError(f"{purpose} needs {library}; {how_to_install(EXTRA_OF[library])}") from error


def how_to_install(extra: str) -> str:
    """The end of a sentence about something that `extra` brings."""
    return f"install it with: pip install 'gpcn[{extra}]'"
