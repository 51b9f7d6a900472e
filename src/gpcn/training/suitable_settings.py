"""Settings that suit a graph where nobody says anything."""

from __future__ import annotations

from typing import Any

from gpcn.graph import Graph
from gpcn.nn import zoo


def suitable_settings(graph: Graph, model: str) -> dict[str, Any]:
    """What differs from the defaults of `model` on this graph.

    The paper's models have no biases, and benchmarks keep it so. The columns of tables are centred and their classes
    rarely of equal size; there a model without biases starts at a loss (average precision 93 instead of 96 on the
    preset `fraud`), so the family has them on graphs from tables.
    """
    return suitable_settings_by_origin(model, tables=graph.preparation is not None)


def suitable_settings_by_origin(model: str, *, tables: bool) -> dict[str, Any]:
    """The same for any graph from `tables`, or for one that is not."""
    entry = zoo.entry(model)
    has_bias = any(setting.name == "bias" for setting in entry.hyperparameters)
    return {"bias": True} if tables and entry.family == "gpcn" and has_bias else {}
