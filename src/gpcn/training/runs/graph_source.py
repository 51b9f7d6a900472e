"""The graph of a run, loaded again from where the run says it came from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpcn.data.apply_split_plan import apply_split_plan
from gpcn.data.benchmarks import catalog
from gpcn.data.interop import from_frames
from gpcn.data.load import load
from gpcn.data.object_storage import local_copy, remote_url
from gpcn.data.parts.manifest import is_sharded
from gpcn.data.split_plan import SplitPlan
from gpcn.data.tables.columns import Columns
from gpcn.errors import CheckpointError, ConfigError
from gpcn.graph import Graph
from gpcn.preparation.preparation import Preparation
from gpcn.tasks.metrics import metric_names
from gpcn.training.runs.folders import lies_beside, with_resolved_paths
from gpcn.training.runs.run import Run


def graph_of(
    run: Run,
    graph: str | None = None,
    nodes: Path | None = None,
    mirror: Path | None = None,
    *,
    unknown: str | None = None,
    moved: bool = False,
) -> Graph:
    """The graph that `run` was trained on, or the given `graph`, read with the same options.

    With `moved`, `graph` and `nodes` are where the files of the graph trained on lie now. `unknown` says what happens
    to edges whose ends are not in the table of nodes (`drop`, `add`), where it is another thing than in training.
    """
    source, preparation = source_of(run.graph), run.graph.get("preparation")
    return reload_graph(source, run.path, graph, nodes, mirror, preparation, unknown=unknown, moved=moved)


def graph_of_frames(run: Run, edges: Any, nodes: Any = None, *, unknown: str | None = None) -> Graph:
    """The same from data frames or Arrow tables, read and encoded as the tables of `run` were."""
    payload = run.graph.get("preparation")
    preparation = None if payload is None else Preparation.from_json(payload, str(run.path))
    columns = _columns(run.path, source_of(run.graph), unknown)
    graph = from_frames(edges, nodes, columns, require_labels=False, preparation=preparation)
    return graph.with_metric(run.graph["metric"])


def source_of(graph_record: Mapping[str, Any]) -> dict[str, Any]:
    """Where the graph of a run or study came from, and the metric it was judged by, from what is kept of it."""
    source = graph_record.get("source") or {}
    return {**source, "metric": graph_record["metric"]} if "metric" in graph_record else dict(source)


def reload_graph(
    source: dict[str, Any],
    whose: Path,
    graph: str | None = None,
    nodes: Path | None = None,
    mirror: Path | None = None,
    prepared: Any = None,
    *,
    unknown: str | None = None,
    moved: bool = False,
) -> Graph:
    """The graph from where `source` says it came, or the given `graph`; `whose` folder says so.

    Unasked, only a dataset or files below or beside `whose` are opened, for anybody may have written the folder.
    `prepared` is how the columns of its tables were encoded: another graph's tables are encoded alike. With `moved`,
    `graph` and `nodes` are no other graph, but where the files of the same one lie now; it is split as before.
    """
    plan = None
    if graph is None or moved:
        source = _source_to_open(source, whose, *((graph, nodes) if moved else (None, None)))
        plan = _plan(source, whose)
        graph, nodes = source["graph"], nodes or (Path(source["nodes"]) if source.get("nodes") else None)
    path = graph if remote_url(graph) is None else str(local_copy(graph))
    plain = path.endswith(".npz") or not Path(path).exists() or is_sharded(path)
    columns = _columns(whose, source, unknown)
    if plain:
        columns = Columns(structure=columns.structure, unknown=unknown or "error")
    preparation = None if prepared is None else Preparation.from_json(prepared, str(whose))
    options: dict[str, Any] = {"columns": columns, "mirror": mirror, "require_labels": False}
    loaded = load(path, nodes=nodes, preparation=preparation, **options)
    metric = source.get("metric", loaded.metric)
    if metric not in metric_names():
        raise CheckpointError(f"{whose} is damaged: it names a metric {metric!r} that gpcn does not know")
    loaded = loaded.with_metric(metric)
    return loaded if plan is None else apply_split_plan(loaded, plan, {**source, "graph": path})


def _source_to_open(source: dict[str, Any], whose: Path, graph: str | None, nodes: Path | None) -> dict[str, Any]:
    """`source` with the files to open: those that are named, else its own, which must lie below or beside `whose`."""
    named: dict[str, Any] = {} if nodes is None else {"nodes": str(nodes)}
    if graph is not None:
        named = {"graph": graph, "nodes": None} | named
    elif not source.get("graph"):
        raise ConfigError(f"{whose} does not say where its graph came from; name the graph after it")
    else:
        _check(source, whose)
    found = {**with_resolved_paths(source, whose), **named}
    files = [key for key in ("graph", "nodes") if found.get(key) and not (key == "graph" and _is_dataset(found[key]))]
    far = [key for key in files if key not in named and not lies_beside(found[key], whose)]
    if far:
        options = " and ".join(f"--{key}" for key in files)
        raise ConfigError(
            f"{whose} says that its graph comes from {found[far[0]].partition('?')[0]}, which lies neither below nor "
            f"beside it and so is not opened unasked; if you trust that, name it with {options}"
        )
    return found


def _is_dataset(location: str) -> bool:
    return location in catalog.names()


def _check(source: dict[str, Any], whose: Path) -> None:
    if not all(isinstance(text, str) for text in (source["graph"], source.get("nodes") or "")):
        raise CheckpointError(
            f"{whose} is damaged: it does not say where its graph came from in a way that can be read"
        )


def _plan(source: dict[str, Any], whose: Path) -> SplitPlan | None:
    """Return how the graph was split, where it was."""
    stored = source.get("splits")
    if not stored:
        return None
    try:
        return SplitPlan.from_json(stored)
    except ConfigError as error:
        raise CheckpointError(f"{whose} is damaged: it does not say how its graph was split ({error})") from error


def _columns(whose: Path, metadata: dict[str, Any], unknown: str | None) -> Columns:
    stored: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in (metadata.get("columns") or {}).items()
    }
    stored |= {} if unknown is None else {"unknown": unknown}
    try:
        return Columns(**stored)
    except TypeError as error:
        raise CheckpointError(f"{whose} is damaged: it names columns of an unknown kind") from error
