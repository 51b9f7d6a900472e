"""`gpcn inspect`: what is in a graph, how much neighbours agree, and what may be wrong with it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from msgspec.structs import replace
from rich.console import Console
from rich.table import Table

from gpcn.cli.shared.option_groups import takes_option_groups
from gpcn.cli.shared.options import GraphArgument, GraphOptions, Json
from gpcn.cli.shared.output import console, escaped, number_text, plain_table, print_json, print_notes
from gpcn.data.inspection import DirectionsAccount, Inspection, inspect, split_sizes_text
from gpcn.preparation.preparation import ColumnAccount

LARGEST_MATRIX = 12
MOST_ALIKE = 12


@takes_option_groups
def inspect_graph(
    graph: GraphArgument,
    options: GraphOptions,
    json: Json = False,
) -> None:
    """Describe a graph: size, classes, homophily, health.

    Examples: [bold]gpcn inspect texas[/bold], [bold]gpcn inspect edges.csv --nodes people.csv --label role[/bold]
    """
    loaded = options.load(graph)
    facts = inspect(loaded)
    if json:
        print_json(facts)
    else:
        print_inspection(facts, console())


def print_inspection(facts: Inspection, to: Console) -> None:
    """The description for people."""
    direction = "directed" if facts.directed else "undirected"
    to.print(f"[bold]{escaped(facts.name)}[/bold]", highlight=False)
    lines = {
        "nodes": f"{facts.nodes:,}" + (f" ({facts.unlabelled:,} without a label)" if facts.unlabelled else ""),
        "edges": f"{facts.edges:,} {direction}{', weighted' if facts.weighted else ''}, "
        f"mean degree {facts.degree.mean:.1f}, largest {facts.degree.max:,}",
        **_relations(facts),
        "features": f"{facts.features:,} ({facts.features_stored})",
        "classes": f"{facts.classes}: " + ", ".join(f"{escaped(k)} {v:,}" for k, v in facts.class_counts.items()),
        "splits": _splits(facts),
        "metric": facts.metric,
    }
    sizes = plain_table("", "")
    sizes.show_header = False
    for key, text in lines.items():
        sizes.add_row(key, text)
    to.print(sizes, highlight=False)
    measures = plain_table("homophily", "value", numeric=("value",))
    for key in ("edge", "node", "class_insensitive", "adjusted"):
        measures.add_row(key.replace("_", "-"), number_text(getattr(facts, f"{key}_homophily")))
    measures.add_row("label informativeness", number_text(facts.label_informativeness))
    above = facts.label_informativeness_above_chance
    if above is not None:
        low, high = number_text(above.low), number_text(above.high)
        measures.add_row(f"– above chance ({low} to {high})", number_text(above.value))
    to.print()
    to.print(measures, highlight=False)
    to.print(f"→ {facts.verdict}", highlight=False)
    if facts.directions is not None:
        _directions(facts.directions, to)
    _compatibility(facts, to)
    if facts.columns:
        to.print()
        to.print(columns_table(facts.columns), highlight=False)
    for warning in facts.warnings:
        to.print(f"[yellow]! {escaped(warning)}[/yellow]", highlight=False)
    print_notes(facts.notes, to)


def columns_table(columns: Sequence[ColumnAccount]) -> Table:
    """A row per column: what it is and what becomes of it; many columns alike are one row."""
    rows = plain_table("column", "role", "encoded", "features", "missing", numeric=("features", "missing"))
    for _, group in groupby(columns, key=lambda column: (column.role, column.encoded, column.reason)):
        alike = list(group)
        shown = alike if len(alike) <= MOST_ALIKE else [_summary(alike)]
        for column in shown:
            why = f": {column.reason}" if column.encoded == "left out" and column.reason else ""
            missing = f"{column.missing:.1%}" if column.missing else ""
            features = f"{column.features:,}" if column.features else ""
            rows.add_row(
                escaped(column.column),
                column.role,
                escaped(column.encoded + why),
                features,
                missing,
            )
    return rows


def _summary(alike: Sequence[ColumnAccount]) -> ColumnAccount:
    total = sum(column.features for column in alike)
    missing = sum(column.missing for column in alike) / len(alike)
    name = f"{alike[0].column} … {alike[-1].column} ({len(alike):,})"
    return replace(alike[0], column=name, features=total, missing=missing)


def _relations(facts: Inspection) -> dict[str, str]:
    kinds = ", ".join(f"{escaped(name)} {count:,}" for name, count in facts.relations.items())
    return {"edge types": kinds} if kinds else {}


def _splits(facts: Inspection) -> str:
    if not facts.splits:
        return "none; train and compare draw five at random, unless a column or an option says otherwise"
    return f"{facts.splits}, the first with {split_sizes_text(facts.split_sizes[0])} nodes"


def _directions(directions: DirectionsAccount, to: Console) -> None:
    """What each direction tells, and what to set where one tells more."""
    numeric = ("nodes that have any", "node homophily", "label informativeness")
    rows = plain_table("neighbours", *numeric, numeric=numeric)
    for name, seen in (("out: a node points to", directions.outward), ("in: that point to a node", directions.inward)):
        share = "–" if seen.coverage is None else f"{seen.coverage:.0%}"
        rows.add_row(name, share, number_text(seen.node_homophily), number_text(seen.label_informativeness))
    to.print()
    to.print(rows, highlight=False)
    if directions.reciprocated is not None:
        to.print(f"{directions.reciprocated:.0%} of the links have a link back", highlight=False)
    if directions.hint:
        to.print(f"→ {directions.hint}", highlight=False)


def _compatibility(facts: Inspection, to: Console) -> None:
    if facts.classes > LARGEST_MATRIX:
        return
    names = [escaped(name) for name in facts.class_counts]
    to.print("\nshare of each class's edges that go to class …", highlight=False)
    matrix = plain_table("from", *names, numeric=tuple(names))
    for name, row in zip(names, facts.compatibility, strict=True):
        matrix.add_row(name, *(f"{value:.2f}" for value in row))
    to.print(matrix, highlight=False)
