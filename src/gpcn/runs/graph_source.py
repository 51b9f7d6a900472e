"""The graph of a run, loaded again from where the run says it came from."""

from __future__ import annotations

from dataclasses import replace as with_fields
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from gpcn.core.errors import ConfigError
from gpcn.data.apply_split_plan import apply_split_plan
from gpcn.data.benchmarks import catalog
from gpcn.data.graph_record import GraphIdentity, GraphRecord, GraphSource
from gpcn.data.interop import from_frames
from gpcn.data.load import load
from gpcn.data.object_storage import local_copy, remote_url
from gpcn.data.tables.columns import Columns
from gpcn.graph import Graph
from gpcn.records import layout
from gpcn.runs.folders import lies_beside, with_resolved_paths
from gpcn.runs.run import Run


def graph_of(run: Run, *named: Any, **options: Any) -> Graph:
    """Return the graph that `run` was trained on, or another one read alike (see `reload_graph`)."""
    return reload_graph(run.graph, run.path, *named, **options)


def graph_of_frames(run: Run, edges: Any, nodes: Any = None, *, unknown: str | None = None) -> Graph:
    """Return a graph of data frames or Arrow tables, read and encoded as the tables of `run` were."""
    columns = _columns(run.graph.source, unknown)
    graph = from_frames(edges, nodes, columns, require_labels=False, preparation=run.graph.preparation)
    return graph.with_metric(run.graph.metric)


def reload_graph(
    record: GraphIdentity,
    whose: Path,
    graph: str | None = None,
    nodes: Path | None = None,
    mirror: Path | None = None,
    *,
    unknown: str | None = None,
    moved: bool = False,
) -> Graph:
    """Return the graph of `record` from where it came, or the given `graph` read alike; `whose` folder says so.

    Unasked, only a dataset or files below or beside `whose` are opened, for anybody may have written the folder. With
    `moved`, `graph` and `nodes` are no other graph, but where the files of the same one lie now; it is split as before.
    `unknown` says what happens to edges whose ends are not in the table of nodes (`drop`, `add`), where it is another
    thing than in training.
    """
    source = record.source or GraphSource()
    plan = None
    if graph is None or moved:
        source = _source_to_open(source, whose, *((graph, nodes) if moved else (None, None)))
        graph, plan = str(source.graph), source.splits
        nodes = nodes or (Path(source.nodes) if source.nodes else None)
    path = graph if remote_url(graph) is None else str(local_copy(graph))
    columns = _columns(source, unknown)
    if path.endswith(".npz") or not Path(path).exists() or layout.kind_of(Path(path)) == "parts":
        columns = Columns(structure=columns.structure, unknown=unknown or "error")
    preparation = record.preparation if isinstance(record, GraphRecord) else None
    loaded = load(
        path, nodes=nodes, columns=columns, mirror=mirror, require_labels=False, preparation=preparation
    ).with_metric(record.metric)
    return loaded if plan is None else apply_split_plan(loaded, plan, replace(source, graph=path))


def _source_to_open(source: GraphSource, whose: Path, graph: str | None, nodes: Path | None) -> GraphSource:
    """Return `source` with the files to open: those named, else its own, which must lie below or beside `whose`."""
    named: dict[str, str | None] = {} if nodes is None else {"nodes": str(nodes)}
    if graph is not None:
        named = {"graph": graph, "nodes": None} | named
    elif not source.graph:
        raise ConfigError(f"{whose} does not say where its graph came from; name the graph after it")
    found = replace(with_resolved_paths(source, whose), **named)
    files = {name: file for name, file in found.files().items() if not (name == "graph" and file in catalog.names())}
    far = [file for name, file in files.items() if name not in named and not lies_beside(file, whose)]
    if far:
        options = " and ".join(f"--{name}" for name in files)
        raise ConfigError(
            f"{whose} says that its graph comes from {far[0].partition('?')[0]}, which lies neither below nor "
            f"beside it and so is not opened unasked; if you trust that, name it with {options}"
        )
    return found


def _columns(source: GraphSource | None, unknown: str | None) -> Columns:
    columns = (source and source.columns) or Columns()
    return columns if unknown is None else with_fields(columns, unknown=unknown)
