"""Options that several commands take, defined once, and the graph they describe."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpcn.data import catalog
from gpcn.data.columns import Columns
from gpcn.data.load import load
from gpcn.errors import ConfigError
from gpcn.graph import Graph

if TYPE_CHECKING:
    from gpcn.training.runs import Run

GraphArgument = Annotated[
    str,
    typer.Argument(
        metavar="GRAPH",
        help="A dataset's name, a folder with edges.* and nodes.*, or a file (csv, tsv, parquet, npz, graphml, txt).",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
Mirror = Annotated[
    Path | None,
    typer.Option("--mirror", metavar="DIR", help="Folder with the datasets' raw files (else GPCN_MIRROR)."),
]
Nodes = Annotated[
    Path | None,
    typer.Option("--nodes", metavar="FILE", help="Table of nodes, where GRAPH is a table of edges."),
]
Source = Annotated[str | None, typer.Option("--source", metavar="COLUMN", help="Edges: where an edge starts.")]
Target = Annotated[str | None, typer.Option("--target", metavar="COLUMN", help="Edges: where an edge ends.")]
Weight = Annotated[str | None, typer.Option("--weight", metavar="COLUMN", help="Edges: weight, a number above 0.")]
Id = Annotated[str | None, typer.Option("--id", metavar="COLUMN", help="Nodes: the id that edges refer to.")]
Label = Annotated[
    str | None,
    typer.Option("--label", metavar="COLUMN", help="Nodes: the class; empty means to be predicted."),
]
Features = Annotated[
    str | None,
    typer.Option("--features", metavar="A,B,…", help="Nodes: columns to use (default: all others)."),
]
Splits = Annotated[
    str | None,
    typer.Option(
        "--split",
        metavar="A,B,…",
        help="Nodes: columns that say train, val or test (default: split, split_0, …).",
    ),
]
Undirected = Annotated[bool, typer.Option("--undirected", help="Edges are listed once but hold in both directions.")]


def load_with_options(
    graph: str,
    mirror: Path | None,
    nodes: Path | None,
    source: str | None,
    target: str | None,
    weight: str | None,
    id: str | None,
    label: str | None,
    features: str | None,
    split: str | None,
    undirected: bool,
    require_labels: bool = True,
) -> Graph:
    """The graph that these options describe."""
    columns = Columns(
        source=source,
        target=target,
        weight=weight,
        id=id,
        label=label,
        features=several(features),
        splits=several(split),
        undirected=undirected,
    )
    return load(graph, nodes=nodes, columns=columns, mirror=mirror, require_labels=require_labels)


def source_of(
    graph: str,
    nodes: Path | None,
    source: str | None,
    target: str | None,
    weight: str | None,
    id: str | None,
    label: str | None,
    features: str | None,
    split: str | None,
    undirected: bool,
) -> dict[str, Any]:
    """Where a graph came from, as data, so that a run can load it again."""
    place = graph if graph in catalog.names() else str(Path(graph).resolve())
    columns = {"source": source, "target": target, "weight": weight, "id": id, "label": label, "undirected": undirected}
    columns |= {"features": several(features), "splits": several(split)}  # type: ignore[dict-item]
    return {"graph": place, "nodes": str(nodes.resolve()) if nodes else None, "columns": columns}


def load_for_run(run: Run, graph: str | None, nodes: Path | None, mirror: Path | None) -> Graph:
    """The graph a run was trained on, read as it was then, or another one in its place."""
    return load_again(run.graph.get("source") or {}, f"the run in {run.path}", graph, nodes, mirror)


def load_again(told: dict[str, Any], whose: str, graph: str | None, nodes: Path | None, mirror: Path | None) -> Graph:
    """The graph that `source_of` told of, or another one in its place."""
    columns = Columns()
    if told.get("columns"):
        stored: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in told["columns"].items()
        }
        columns = Columns(**stored)
    if graph is None:
        if not told.get("graph"):
            raise ConfigError(f"{whose} does not say where its graph came from; name the graph after it")
        graph, nodes = str(told["graph"]), nodes or (Path(told["nodes"]) if told.get("nodes") else None)
    plain = graph.endswith(".npz") or not Path(graph).exists()
    return load(graph, nodes=nodes, columns=Columns() if plain else columns, mirror=mirror, require_labels=False)


def several(text: str | None) -> tuple[str, ...] | None:
    """Names between commas."""
    return None if text is None else tuple(part.strip() for part in text.split(",") if part.strip())
