"""Options that several commands take, defined once, and the graph they describe."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpcn.data import catalog
from gpcn.data.columns import Columns
from gpcn.data.load import load
from gpcn.graph import Graph

if TYPE_CHECKING:
    pass

GraphArgument = Annotated[
    str,
    typer.Argument(
        metavar="GRAPH",
        help="A dataset's name, a folder with edges.* and nodes.*, or a file (csv, tsv, parquet, npz, graphml, txt).",
    ),
]
RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="A folder written by gpcn train.")]
ChangedGraph = Annotated[
    str | None, typer.Argument(metavar="[GRAPH]", help="A changed graph (default: the one trained on).")
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


def several(text: str | None) -> tuple[str, ...] | None:
    """Names between commas."""
    return None if text is None else tuple(part.strip() for part in text.split(",") if part.strip())
