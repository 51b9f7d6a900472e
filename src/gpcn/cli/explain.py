"""`gpcn explain`: which signal carries the prediction of one node."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console

from gpcn.cli.options import ChangedGraph, Json, Mirror, Nodes, RunArgument
from gpcn.cli.output import console, print_json, safe, table

WIDTH = 24


def explain(
    run: RunArgument,
    node: Annotated[str, typer.Option("--node", metavar="ID", help="The node's name, or its number.")],
    graph: ChangedGraph = None,
    split: Annotated[
        int | None, typer.Option("--split", metavar="N", help="Whose model (default: the first finished).")
    ] = None,
    top: Annotated[int, typer.Option("--top", min=1, metavar="N", help="Neighbours to show per hop.")] = 5,
    nodes: Nodes = None,
    mirror: Mirror = None,
    json: Json = False,
) -> None:
    """Take a prediction apart: features, neighbours at each hop, links; exactly, to the single feature.

    Example: [bold]gpcn explain runs/gpcn-link --node alice[/bold]
    """
    from gpcn.workspace.folder import open_run

    found = open_run(run, mirror=mirror).explain(node, graph, nodes, split=split, top=top)
    if json:
        print_json(found)
    else:
        show(found, console())


def show(found: dict[str, Any], to: Console) -> None:
    """The account for people."""
    winner, other = safe(found["predicted"]), safe(found["runner_up"])
    to.print(
        f"[bold]{safe(found['node'])}[/bold] of {safe(found['graph'])} is predicted [bold]{winner}[/bold], "
        f"{found['probability']:.1%} (next: {other}, {found['runner_up_probability']:.1%})\n"
        f"{_truth(found)}; {safe(found['model'])}, split {found['split']} of {safe(found['run'])}\n",
        highlight=False,
    )
    rows = table("part", f"for {winner}", f"lead over {other}", "", numeric=(f"for {winner}", f"lead over {other}"))
    longest = max(abs(part["margin"]) for part in found["parts"])
    for part in found["parts"]:
        rows.add_row(safe(part["part"]), *_pair(part), _bar(part["margin"], longest))
    rows.add_row("sum", *_pair(found["sum"]), style="bold")
    to.print(rows, highlight=False)
    for sentence in found["sentences"][1:]:
        to.print(safe(sentence), highlight=False)
    if found["features"]:
        columns = (f"lead over {other}", "of its own", "of others")
        features = table("feature", *columns, numeric=columns)
        for feature in found["features"]:
            values = (f"{feature[name]:+.3f}" for name in ("margin", "itself", "others"))
            features.add_row(safe(feature["feature"]), *values)
        to.print("\nfeatures that count most", highlight=False)
        given = found["origins"]
        features.caption = (
            f"all features {given['features']:+.3f}, links {given['links']:+.3f}, biases {given['biases']:+.3f}: "
            "together the lead"
        )
        to.print(features, highlight=False)
    for each in found["sources"]:
        behind = table("node", "label", "role", "for", "lead", numeric=("for", "lead"))
        for near in each["top"]:
            name = safe(near["node"]) + (" (itself)" if near["itself"] else "")
            behind.add_row(name, safe(near["label"] or "–"), near["role"] or "–", *_pair(near))
        shown, reached = len(each["top"]), each["nodes"]
        to.print(
            f"\n{safe(each['part'])}: {reached:,} node(s)" + (f", the {shown} that count most" * (shown < reached))
        )
        to.print(behind, highlight=False)
    for note in found["notes"]:
        to.print(f"[dim]note: {safe(note)}[/dim]", highlight=False)


def _truth(found: dict[str, Any]) -> str:
    if found["label"] is None:
        return "its label is not known"
    verdict = "right" if found["label"] == found["predicted"] else "wrong"
    role = f", a {found['role']} node" if found["role"] else ""
    return f"its label is {safe(found['label'])}, so that is {verdict}{role}"


def _pair(shares: dict[str, Any]) -> tuple[str, str]:
    return f"{shares['winner']:+.3f}", f"{shares['margin']:+.3f}"


def _bar(value: float, longest: float) -> str:
    return ("█" if value >= 0 else "░") * round(WIDTH * abs(value) / longest) if longest else ""
