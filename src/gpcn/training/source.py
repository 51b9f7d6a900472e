"""The graph of a run, loaded again from where the run says it came from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpcn.data.columns import Columns
from gpcn.data.load import load
from gpcn.errors import CheckpointError, ConfigError
from gpcn.graph import Graph
from gpcn.splits import random_splits
from gpcn.training.runs import Run
from gpcn.types import METRICS


def graph_of(run: Run, graph: str | None = None, nodes: Path | None = None, mirror: Path | None = None) -> Graph:
    """The graph that `run` was trained on, or the given `graph`, read with the same options."""
    return load_again(source_of(run.graph), run.path, graph, nodes, mirror)


def source_of(about: Mapping[str, Any]) -> dict[str, Any]:
    """Where the graph of a run or study came from, and the metric it was judged by, from what is kept of it."""
    source = about.get("source") or {}
    return {**source, "metric": about["metric"]} if "metric" in about else dict(source)


def load_again(
    told: dict[str, Any],
    whose: Path,
    graph: str | None = None,
    nodes: Path | None = None,
    mirror: Path | None = None,
) -> Graph:
    """The graph from where `told` says it came, or the given `graph`; `whose` folder says so."""
    given = graph
    if graph is None:
        if not told.get("graph"):
            raise ConfigError(f"{whose} does not say where its graph came from; name the graph after it")
        _check(told, whose)
        graph, nodes = told["graph"], nodes or (Path(told["nodes"]) if told.get("nodes") else None)
    plain = graph.endswith(".npz") or not Path(graph).exists()
    columns = Columns() if plain else _columns(whose, told)
    loaded = load(graph, nodes=nodes, columns=columns, mirror=mirror, require_labels=False)
    metric = told.get("metric", loaded.metric)
    if metric not in METRICS:
        raise CheckpointError(f"{whose} is damaged: it names a metric {metric!r} that gpcn does not know")
    loaded = loaded.judged_by(metric)
    drawn = told.get("random_splits")
    return random_splits(loaded, count=drawn["count"], seed=drawn["seed"]) if drawn and given is None else loaded


def _check(told: dict[str, Any], whose: Path) -> None:
    drawn = told.get("random_splits") or {"count": 1, "seed": 0}
    texts = [told["graph"], told.get("nodes") or ""]
    numbers = [drawn.get("count"), drawn.get("seed")] if isinstance(drawn, dict) else [None]
    if not all(isinstance(text, str) for text in texts) or not all(type(number) is int for number in numbers):
        raise CheckpointError(
            f"{whose} is damaged: it does not say where its graph came from in a way that can be read"
        )


def _columns(whose: Path, told: dict[str, Any]) -> Columns:
    stored: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in (told.get("columns") or {}).items()
    }
    try:
        return Columns(**stored)
    except TypeError as error:
        raise CheckpointError(f"{whose} is damaged: it names columns of an unknown kind") from error
