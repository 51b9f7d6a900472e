"""`gpcn demo`: the whole story on a graph made on the spot."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gpcn.cli.convert import write_graph
from gpcn.cli.inspect import show
from gpcn.cli.options import Json
from gpcn.cli.output import console, print_json, safe
from gpcn.data.load import load
from gpcn.data.synthetic import synthesize
from gpcn.inspection import inspect


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for what the demo writes.")] = Path("demo"),
    json: Json = False,
) -> None:
    """Make a graph whose neighbours disagree, write it as CSV, read it back and describe it.

    Example: [bold]gpcn demo --out /tmp/demo[/bold]
    """
    made = synthesize(nodes=2000, classes=4, homophily=0.1, mixing="ring", signal=1.5, unlabelled=0.1, splits=3, seed=7)
    folder = out / "graph"
    write_graph(made, folder)
    facts = inspect(load(folder))
    if json:
        print_json({"graph": str(folder), "inspection": facts})
        return
    to = console()
    to.print(
        f"A social network of {made.num_nodes:,} people in {made.num_classes} groups, made on the spot: people link to "
        f"neighbouring\ngroups, rarely to their own. Written to {safe(folder)} as CSV and read back:\n",
        highlight=False,
    )
    show(facts, to)
    to.print(
        "\nTry it on your own files:\n"
        "  gpcn inspect edges.csv --nodes nodes.csv --label COLUMN\n"
        "or on a benchmark (gpcn datasets lists them):\n"
        "  gpcn inspect chameleon",
        highlight=False,
    )
