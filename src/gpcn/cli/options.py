"""Options that several commands take, defined once, and the graph they describe."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from gpcn.data import catalog
from gpcn.data.columns import Columns
from gpcn.data.load import load
from gpcn.graph import Graph

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


@dataclass(frozen=True)
class GraphOptions:
    """Which graph, and which column of its tables is what."""

    mirror: Mirror = None
    nodes: Nodes = None
    source: Annotated[str | None, typer.Option("--source", metavar="COLUMN", help="Edges: where an edge starts.")] = (
        None
    )
    target: Annotated[str | None, typer.Option("--target", metavar="COLUMN", help="Edges: where an edge ends.")] = None
    weight: Annotated[
        str | None, typer.Option("--weight", metavar="COLUMN", help="Edges: weight, a number above 0.")
    ] = None
    id: Annotated[str | None, typer.Option("--id", metavar="COLUMN", help="Nodes: the id that edges refer to.")] = None
    label: Annotated[
        str | None, typer.Option("--label", metavar="COLUMN", help="Nodes: the class; empty means to be predicted.")
    ] = None
    features: Annotated[
        str | None, typer.Option("--features", metavar="A,B,…", help="Nodes: columns to use (default: all others).")
    ] = None
    split: Annotated[
        str | None,
        typer.Option(
            "--split", metavar="A,B,…", help="Nodes: columns that say train, val or test (default: split, split_0, …)."
        ),
    ] = None
    undirected: Annotated[
        bool, typer.Option("--undirected", help="Edges are listed once but hold in both directions.")
    ] = False

    def columns(self) -> Columns:
        """What these options say of columns."""
        return Columns(
            source=self.source,
            target=self.target,
            weight=self.weight,
            id=self.id,
            label=self.label,
            features=several(self.features),
            splits=several(self.split),
            undirected=self.undirected,
        )

    def load(self, graph: str, *, require_labels: bool = True) -> Graph:
        """The graph that these options describe."""
        return load(graph, nodes=self.nodes, columns=self.columns(), mirror=self.mirror, require_labels=require_labels)

    def origin(self, graph: str) -> dict[str, Any]:
        """Where a graph came from, as data, so that a run can load it again."""
        location = graph if graph in catalog.names() else str(Path(graph).resolve())
        nodes = str(self.nodes.resolve()) if self.nodes else None
        return {"graph": location, "nodes": nodes, "columns": asdict(self.columns())}


def several(text: str | None) -> tuple[str, ...] | None:
    """Names between commas."""
    return None if text is None else tuple(part.strip() for part in text.split(",") if part.strip())
