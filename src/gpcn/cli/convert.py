"""`gpcn convert`: any graph into the native file, or into a pair of CSV tables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from gpcn.api.prepare import prepare
from gpcn.cli.shared.option_groups import takes_option_groups
from gpcn.cli.shared.options import GraphArgument, GraphOptions, Json
from gpcn.cli.shared.output import console, escaped, print_json, print_notes
from gpcn.cli.shared.training_options import SplitOptions
from gpcn.core.errors import ConfigError
from gpcn.data import native
from gpcn.data.tables.tables_out import write_graph_tables
from gpcn.graph import Graph


@takes_option_groups
def convert(
    graph: GraphArgument,
    options: GraphOptions,
    parts: SplitOptions,
    out: Annotated[Path, typer.Option("--out", "-o", help="A .npz file, or a folder for edges.csv and nodes.csv.")],
    json: Json = False,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the random splits.")] = 0,
    name: Annotated[str | None, typer.Option("--name", help="What to call the graph from now on.")] = None,
) -> None:
    """Convert a graph to the native .npz, which loads fastest, or to a folder of CSV tables.

    Example: [bold]gpcn convert edges.csv --nodes nodes.csv --random-splits 10 --out mine.npz[/bold]
    """
    loaded = prepare(
        graph,
        parts.plan(seed),
        nodes=options.nodes,
        columns=options.columns(),
        mirror=options.mirror,
        needs_splits=False,
        require_labels=False,
    ).graph
    if name is not None:
        loaded = replace(loaded, name=name)
    write_graph(loaded, out)
    print_written_graph(loaded, out, json)


def write_graph(graph: Graph, out: Path) -> None:
    """Write to the kind of place that `out` names."""
    if out.suffix == ".npz":
        native.write(graph, out)
    elif out.suffix == "" and out.name not in ("", "-") and not out.is_file():
        write_graph_tables(graph, out)
    else:
        raise ConfigError(f"cannot write to {out}; expected a name that ends in .npz, or a folder for CSV tables")


def print_written_graph(graph: Graph, out: Path, json: bool) -> None:
    """Say what was written where."""
    if json:
        sizes = {"nodes": graph.num_nodes, "edges": graph.num_edges, "splits": len(graph.splits)}
        print_json({"out": str(out), "name": graph.name, **sizes, "fingerprint": graph.fingerprint()})
    else:
        console().print(f"{escaped(graph)} → {escaped(out)}", highlight=False)
        print_notes(graph.notes)
