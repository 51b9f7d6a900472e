"""The graph of a run, loaded again from where the run says it came from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gpcn.data.columns import Columns
from gpcn.data.load import load
from gpcn.errors import CheckpointError, ConfigError
from gpcn.graph import Graph
from gpcn.preparation.preparation import Preparation
from gpcn.splits import random_splits
from gpcn.training.runs import Run


def graph_of(run: Run, graph: str | None = None, nodes: Path | None = None, mirror: Path | None = None) -> Graph:
    """The graph that `run` was trained on, or the given `graph`, read with the same options."""
    return load_again(run.graph.get("source") or {}, run.path, graph, nodes, mirror, run.graph.get("preparation"))


def load_again(
    told: dict[str, Any],
    whose: Path,
    graph: str | None = None,
    nodes: Path | None = None,
    mirror: Path | None = None,
    prepared: Any = None,
) -> Graph:
    """The graph from where `told` says it came, or the given `graph`; `whose` folder says so.

    `prepared` is how the columns of its tables were encoded: another graph's tables are encoded alike.
    """
    given = graph
    if graph is None:
        if not told.get("graph"):
            raise ConfigError(f"{whose} does not say where its graph came from; name the graph after it")
        _check(told, whose)
        graph, nodes = told["graph"], nodes or (Path(told["nodes"]) if told.get("nodes") else None)
    plain = graph.endswith(".npz") or not Path(graph).exists()
    columns = _columns(whose, told)
    if plain:
        columns = Columns(structure=columns.structure)
    preparation = None if prepared is None else Preparation.from_json(prepared, str(whose))
    options: dict[str, Any] = {"columns": columns, "mirror": mirror, "require_labels": False}
    loaded = load(graph, nodes=nodes, preparation=preparation, **options)
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
