"""`gpcn report`: one HTML page about runs, comparisons, studies, theory and graphs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gpcn.cli.shared.options import Json, Mirror, MovedGraph
from gpcn.cli.shared.output import console, escaped, print_json


def report(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN|COMPARISON|STUDY|GRAPH…",
            help="Folders written by gpcn train, compare, auto or tune --out, documents of gpcn bound or spectrum "
            "--out, and graphs: files, folders or dataset names.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The page, a name that ends in .html.")] = Path(
        "report.html"
    ),
    hide_nodes: Annotated[
        bool, typer.Option("--hide-nodes", help="Name and draw no single node or link, for a page to pass on.")
    ] = False,
    edges: Annotated[
        str | None,
        typer.Option("--edges", metavar="FILE", help="New tables, as for gpcn predict: how they differ from training."),
    ] = None,
    graph: MovedGraph = None,
    nodes: Annotated[
        Path | None,
        typer.Option("--nodes", metavar="FILE", help="The table of nodes that goes with --edges or --graph."),
    ] = None,
    mirror: Mirror = None,
    json: Json = False,
) -> None:
    """Write one HTML page that works offline: graph, comparison, search, learning, predictions, what carries them.

    Example: [bold]gpcn report runs --out report.html[/bold]

    Example: [bold]gpcn report runs/mine --edges new.csv --nodes people.csv --out today.html[/bold]
    """
    from gpcn.api.report_page import write_report_page

    written = write_report_page(
        paths, out, edges=edges, nodes=nodes, graph=graph, mirror=mirror, names_nodes=not hide_nodes
    )
    if json:
        print_json(written)
    else:
        print_written_report(written)


def print_written_report(written: dict[str, Any]) -> None:
    """Say what was written where."""
    listed = ", ".join(f"{section['kind']} {escaped(section['name'])}" for section in written["sections"])
    console().print(
        f"{listed} → {escaped(written['out'])} ({written['bytes'] / 1e6:.1f} MB; open it in a browser)",
        highlight=False,
    )
