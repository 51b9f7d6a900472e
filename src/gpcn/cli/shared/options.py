"""Options that several commands take, defined once, and the graph they describe."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from gpcn.data.graph_record import GraphSource
from gpcn.data.load import load
from gpcn.data.tables.columns import Columns
from gpcn.data.tables.columns_file import LISTS, TEXTS, StatedColumns, read_columns_file
from gpcn.graph import Graph

PANEL = "Columns"
GraphArgument = Annotated[
    str,
    typer.Argument(
        metavar="GRAPH",
        help="A dataset's name, a folder with edges.* and nodes.*, or a file (csv, tsv, parquet, npz, graphml, txt).",
    ),
]
RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="A folder written by gpcn train.")]
MovedGraph = Annotated[
    str | None,
    typer.Option("--graph", metavar="GRAPH", help="Where the graph lies now, if not where it was at training."),
]
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


def _column(option: str, help_text: str) -> Any:
    return typer.Option(option, metavar="COLUMN", help=help_text, rich_help_panel=PANEL)


def _columns(option: str, help_text: str) -> Any:
    return typer.Option(option, metavar="A,B,…", help=help_text, rich_help_panel=PANEL)


@dataclass(frozen=True)
class GraphOptions:
    """Which graph, and what the columns of its tables hold."""

    mirror: Mirror = None
    nodes: Nodes = None
    source: Annotated[str | None, _column("--source", "Edges: where an edge starts.")] = None
    target: Annotated[str | None, _column("--target", "Edges: where an edge ends.")] = None
    weight: Annotated[str | None, _column("--weight", "Edges: weight, a number above 0.")] = None
    type: Annotated[str | None, _column("--type", "Edges: their type (default: type, kind, relation, …).")] = None
    id: Annotated[str | None, _column("--id", "Nodes: the id that edges refer to.")] = None
    label: Annotated[str | None, _column("--label", "Nodes: the class; empty means to be predicted.")] = None
    features: Annotated[str | None, _columns("--features", "Nodes: columns to use (default: all others).")] = None
    numeric: Annotated[str | None, _columns("--numeric", "Nodes: columns of numbers.")] = None
    category: Annotated[str | None, _columns("--category", "Nodes: columns of categories.")] = None
    date: Annotated[str | None, _columns("--date", "Nodes: columns of dates or times.")] = None
    tags: Annotated[str | None, _columns("--tags", "Nodes: columns with several values in a cell: a;b;c.")] = None
    text: Annotated[str | None, _columns("--text", "Nodes: columns of prose.")] = None
    drop: Annotated[str | None, _columns("--drop", "Nodes: columns to leave out.")] = None
    split: Annotated[
        str | None,
        _columns("--split", "Nodes: columns that say train, val, test or calibration (default: split, split_0, …)."),
    ] = None
    undirected: Annotated[
        bool,
        typer.Option("--undirected", help="Edges are listed once but hold in both directions.", rich_help_panel=PANEL),
    ] = False
    unknown: Annotated[
        str | None,
        typer.Option(
            "--unknown",
            metavar="error|drop|add",
            help="Edges whose ends are not among the nodes (default: error).",
            rich_help_panel=PANEL,
        ),
    ] = None
    scale: Annotated[
        str | None,
        typer.Option(
            "--scale",
            metavar="robust|standard|none",
            help="How columns of numbers are scaled (default: robust).",
            rich_help_panel=PANEL,
        ),
    ] = None
    structure: Annotated[
        str | None,
        typer.Option(
            "--structure",
            metavar="auto|none|degrees|full",
            help="What the links add to the features (auto: degrees for tables, full where nothing else is there).",
            rich_help_panel=PANEL,
        ),
    ] = None
    columns_file: Annotated[
        Path | None,
        typer.Option("--columns", metavar="FILE.toml", help="The same options in a file.", rich_help_panel=PANEL),
    ] = None

    def columns(self) -> Columns:
        """What these options say of columns; they win over the file."""
        in_file = Columns() if self.columns_file is None else read_columns_file(self.columns_file)
        stated: dict[str, Any] = {name: getattr(self, name) for name in (*TEXTS, "undirected")}
        stated |= {name: comma_separated(getattr(self, name)) for name in LISTS}
        return StatedColumns(**stated).over(in_file)

    def load(self, graph: str, *, require_labels: bool = True) -> Graph:
        """The graph that these options describe."""
        return load(graph, nodes=self.nodes, columns=self.columns(), mirror=self.mirror, require_labels=require_labels)

    def origin(self, graph: str) -> GraphSource:
        """Where a graph came from, as data, so that a run can load it again."""
        return GraphSource.of(graph, self.nodes, self.columns())


def option_given_besides(context: typer.Context, allowed: Collection[str]) -> str | None:
    """An option that somebody wrote on the command line and whose parameter is not `allowed`; `None` without one."""
    for name in context.params.keys() - set(allowed):
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            return str(next(parameter.opts[-1] for parameter in context.command.params if parameter.name == name))
    return None


def comma_separated(text: str | None) -> tuple[str, ...] | None:
    """Names between commas."""
    return None if text is None else tuple(part.strip() for part in text.split(",") if part.strip())
