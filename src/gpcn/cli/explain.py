"""`gpcn explain`: which signal carries the prediction of one node, or of a class."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from gpcn.cli.shared.opened_run import RunOptions
from gpcn.cli.shared.option_groups import takes_option_groups
from gpcn.cli.shared.options import Json
from gpcn.cli.shared.output import console, escaped, plain_table, print_json, print_notes
from gpcn.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpcn.explanation.account import ClassExplanation, Explanation, Neighbour, Part, Shares, SourceNode

WIDTH = 24


@takes_option_groups
def explain(
    asked: RunOptions,
    node: Annotated[str | None, typer.Option("--node", metavar="ID", help="The node's name, or its number.")] = None,
    label: Annotated[
        str | None, typer.Option("--class", metavar="NAME", help="A class instead of a node: what carries it overall.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option("--picture", metavar="FILE.svg", help="Also draw the node and those that matter.")
    ] = None,
    split: Annotated[
        int | None, typer.Option("--split", metavar="N", help="Whose model (default: the first finished).")
    ] = None,
    top: Annotated[int, typer.Option("--top", min=1, metavar="N", help="Neighbours to show per hop.")] = 5,
    json: Json = False,
) -> None:
    """Take a prediction apart: features, neighbours at each hop, links; exactly, to the single feature.

    Models that are no sum over hops are taken apart by integrated gradients, with what these leave open.

    Example: [bold]gpcn explain runs/gpcn-link --node alice[/bold]

    Example: [bold]gpcn explain runs/gpcn-link --class yes[/bold]
    """
    if (node is None) == (label is None):
        raise ConfigError("gpcn explain needs a node or a class, and not both; give --node ID or --class NAME")
    if picture is not None and node is None:
        raise ConfigError("--picture draws a node and those that matter to it; give --node ID instead of --class")
    folder, table = asked.open()
    folder.check_explains(split)
    loaded = folder.graph_to_predict(asked.graph, table)
    if node is None:
        of_class = folder.explain_class(str(label), loaded, split=split, top=top)
        print_json(of_class.to_json()) if json else print_class_explanation(of_class, console())
        return
    account = folder.explain(node, loaded, split=split, top=top)
    if picture is not None:
        from gpcn.explanation.ego_picture import REACH, write_picture

        write_picture(folder.explain(node, loaded, split=split, top=REACH), loaded, picture)
    if json:
        print_json(account.to_json() | ({} if picture is None else {"picture": str(picture)}))
        return
    print_explanation(account, console())
    if picture is not None:
        console().print(f"picture → {escaped(picture)}", highlight=False)


def print_explanation(account: Explanation, to: Console) -> None:
    """The account for people."""
    winner, other = escaped(account.predicted), escaped(account.runner_up)
    to.print(
        f"[bold]{escaped(account.node)}[/bold] of {escaped(account.graph)} is predicted [bold]{winner}[/bold], "
        f"{account.probability:.1%} (next: {other}, {account.runner_up_probability:.1%})\n"
        f"{_truth(account)}; {escaped(account.model)}, split {account.split} of {escaped(account.run)}\n"
        f"{_members(account)}",
        highlight=False,
    )
    rows = plain_table(
        "part", f"for {winner}", f"lead over {other}", "", numeric=(f"for {winner}", f"lead over {other}")
    )
    longest = max(abs(part.margin) for part in account.parts)
    for part in account.parts:
        rows.add_row(escaped(part.part), *_pair(part), _bar(part.margin, longest))
    rows.add_row("sum", *_pair(account.sum), style="bold")
    to.print(rows, highlight=False)
    for sentence in account.sentences[1:]:
        to.print(escaped(sentence), highlight=False)
    if account.features:
        columns = (f"lead over {other}", "of its own", "of others")
        features = plain_table("feature", *columns, numeric=columns)
        for feature in account.features:
            values = (f"{getattr(feature, name):+.3f}" for name in ("margin", "itself", "others"))
            features.add_row(escaped(feature.feature), *values)
        to.print("\nfeatures that count most", highlight=False)
        features.caption = _origins(account, "the lead")
        to.print(features, highlight=False)
    if account.neighbours:
        to.print("\nnodes that count most, over all hops and links together", highlight=False)
        to.print(_neighbours(account.neighbours, other), highlight=False)
    for source in account.sources:
        behind = plain_table("node", "label", "role", "for", "lead", numeric=("for", "lead"))
        for near in source.top:
            name = escaped(near.node) + (" (itself)" if near.itself else "")
            behind.add_row(name, escaped(near.label or "–"), near.role or "–", *_pair(near))
        shown, reached = len(source.top), source.nodes
        to.print(
            f"\n{escaped(source.part)}: {reached:,} node(s)" + (f", the {shown} that count most" * (shown < reached))
        )
        to.print(behind, highlight=False)
    print_notes(account.notes, to)


def _neighbours(nearest: Sequence[Neighbour], other: str) -> Table:
    """A row per node: what it gives through hops, and where the model has a link term, through that."""
    columns = {f"lead over {other}": "margin"}
    if any(near.links for near in nearest):
        columns |= {"through hops": "hops", "by the link itself": "links"}
    rows = plain_table("node", "label", "role", *columns, numeric=tuple(columns))
    for near in nearest:
        values = (f"{getattr(near, name):+.3f}" for name in columns.values())
        rows.add_row(escaped(near.node), escaped(near.label or "–"), near.role or "–", *values)
    return rows


def print_class_explanation(account: ClassExplanation, to: Console) -> None:
    """The account of a class for people."""
    to.print(f"[bold]{escaped(account.name)}[/bold] of {escaped(account.graph)}", highlight=False)
    whose = f"{escaped(account.model)}, split {account.split} of {escaped(account.run)}"
    to.print(f"{whose}\n{_members(account)}", highlight=False)
    over = f"mean lead over {escaped(account.over)}"
    rows = plain_table("part", over, "", numeric=(over,))
    longest = max(abs(part.margin) for part in account.parts)
    for part in account.parts:
        rows.add_row(escaped(part.part), f"{part.margin:+.3f}", _bar(part.margin, longest))
    rows.add_row("sum", f"{account.lead:+.3f}", style="bold")
    to.print(rows, highlight=False)
    for sentence in account.sentences:
        to.print(escaped(sentence), highlight=False)
    if account.features:
        columns = ("mean lead", "directly", "through links")
        features = plain_table("feature", *columns, numeric=columns)
        for feature in account.features:
            shares = (getattr(feature, name) for name in ("margin", "directly", "through_links"))
            features.add_row(escaped(feature.feature), *("–" if share is None else f"{share:+.3f}" for share in shares))
        features.caption = _origins(account, "the mean lead")
        to.print("\nfeatures that count most", highlight=False)
        to.print(features, highlight=False)
    typical = plain_table("node", "label", "role", "probability", "lead", numeric=("probability", "lead"))
    for near in account.typical:
        values = f"{near.probability:.1%}", f"{near.lead:+.3f}"
        typical.add_row(escaped(near.node), escaped(near.label or "–"), near.role or "–", *values)
    to.print("\nmost typical nodes: those whose parts are nearest to the mean", highlight=False)
    to.print(typical, highlight=False)
    print_notes(account.notes, to)


def _members(account: Explanation | ClassExplanation) -> str:
    """A line that says whose average `auto` is; nothing for a single run."""
    if account.model != "auto":
        return ""
    listed = ", ".join(
        f"{member.share:.0%} {escaped(member.model)} ({escaped(member.run)})" for member in account.members
    )
    return f"members: {listed}\n"


def _origins(account: Explanation | ClassExplanation, lead: str) -> str:
    given = ", ".join(f"{name} {share:+.3f}" for name, share in account.origins.items())
    return f"all {given}: together {lead}"


def _truth(account: Explanation) -> str:
    if account.label is None:
        return "its label is not known"
    verdict = "right" if account.label == account.predicted else "wrong"
    role = f", a {account.role} node" if account.role else ""
    return f"its label is {escaped(account.label)}, so that is {verdict}{role}"


def _pair(shares: Shares | Part | SourceNode) -> tuple[str, str]:
    return f"{shares.winner:+.3f}", f"{shares.margin:+.3f}"


def _bar(value: float, longest: float) -> str:
    return ("█" if value >= 0 else "░") * round(WIDTH * abs(value) / longest) if longest else ""
