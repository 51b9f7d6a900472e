"""`gpcn export`: a run as a program of PyTorch that needs nothing of gpcn."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gpcn.cli.shared.opened_run import RunOptions
from gpcn.cli.shared.option_groups import takes_option_groups
from gpcn.cli.shared.options import Json
from gpcn.cli.shared.output import console, escaped, print_json, print_notes


@takes_option_groups
def export(
    asked: RunOptions,
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder to write.")] = Path("exported"),
    format: Annotated[
        str, typer.Option("--format", metavar="torch", help="A program for torch.export.load.")
    ] = "torch",
    json: Json = False,
) -> None:
    """Write a run as a program of PyTorch that needs nothing of gpcn, with the tensors of a graph to give it.

    Example: [bold]gpcn export runs/mine --out exported[/bold]
    """
    from gpcn.api.export import export_folder

    folder, table = asked.open()
    summary = export_folder(folder, out, asked.graph, table, format=format)
    if json:
        print_json(summary)
        return
    to = console()
    for program in summary.get("members", [summary]):
        whose = "the nodes of any graph" if program["any_graph"] else "the nodes of this graph alone"
        what = f"{escaped(program['model'])}, mean of {len(program['splits'])} split(s), for {whose}"
        to.print(f"{what} → {escaped(out / program.get('folder', '') / 'model.pt2')}", highlight=False)
        print_notes(program["notes"], to)
