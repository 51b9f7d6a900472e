"""A graph: how large, how balanced, how much neighbours agree, what may be wrong with it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from markupsafe import Markup

from gpcn.data.inspection import Inspection, inspect, split_sizes_text
from gpcn.graph import Graph
from gpcn.report.figures import Figure, category_axis, chart_height, heat_map, largest_classes
from gpcn.report.graph_picture import graph_picture
from gpcn.report.materials import GraphMaterial
from gpcn.report.tables import Cell, Table, number_cell
from gpcn.report.templating import render_template

MEASURES = (
    ("edge", "edge_homophily", "share of edges that join two nodes of one class"),
    ("node", "node_homophily", "the same for each node's own neighbours, then averaged over nodes"),
    ("class-insensitive", "class_insensitive_homophily", "agreement beyond what class sizes explain, from 0 to 1"),
    ("adjusted", "adjusted_homophily", "agreement beyond chance; below 0, neighbours avoid their own class"),
    ("label informativeness", "label_informativeness", "how much a neighbour's class tells about a node's own, 0 to 1"),
)

OF_A_DIRECTION = (
    ("node homophily", "node_homophily", "share of these neighbours in a node's own class, averaged over nodes"),
    ("label informativeness", "label_informativeness", "how much the class of a random one of them tells, 0 to 1"),
)


def graph_section(material: GraphMaterial) -> Markup:
    """The section of one graph."""
    graph, facts = material.graph, inspect(material.graph)
    measures = Table(
        ("measure", "value", "what it says"),
        [[Cell(name), number_cell(getattr(facts, key)), Cell(meaning)] for name, key, meaning in MEASURES]
        + _above_chance(facts)
        + _directions(facts),
        numeric=frozenset({"value"}),
    )
    figures = [_classes(facts), _degrees(graph)]
    if facts.classes > 1:
        figures.insert(1, _compatibility(facts))
    drawn = [graph_picture(graph)] if material.names_nodes else []
    return render_template(
        "graph.html", facts=facts, tiles=_tiles(facts), measures=measures, figures=figures, drawn=drawn
    )


def _above_chance(facts: Inspection) -> list[list[Cell]]:
    """A row on the label informativeness that shuffled labels do not have."""
    above = facts.label_informativeness_above_chance
    if above is None:
        return []
    meaning = f"the same beyond that of shuffled labels; chance moves it from {above.low:.3f} to {above.high:.3f}"
    return [[Cell("label informativeness above chance"), number_cell(above.value), Cell(meaning)]]


def _directions(facts: Inspection) -> list[list[Cell]]:
    """Rows on what each direction of the links tells."""
    if facts.directions is None:
        return []
    ways = (("out", facts.directions.outward), ("in", facts.directions.inward))
    return [
        [Cell(f"{name}, {of} neighbours"), number_cell(getattr(seen, key)), Cell(meaning)]
        for of, seen in ways
        for name, key, meaning in OF_A_DIRECTION
    ]


def _tiles(facts: Inspection) -> list[tuple[str, str, str]]:
    kind = ("directed" if facts.directed else "undirected") + (", weighted" if facts.weighted else "")
    unlabelled = f"{facts.unlabelled:,} without a label" if facts.unlabelled else "all with a label"
    first = f"{split_sizes_text(facts.split_sizes[0])} nodes" if facts.splits else "none"
    return [
        ("nodes", f"{facts.nodes:,}", unlabelled),
        ("edges", f"{facts.edges:,}", kind),
        ("features", f"{facts.features:,}", f"stored {facts.features_stored}"),
        ("classes", f"{facts.classes:,}", f"judged by {facts.metric.replace('_', ' ')}"),
        ("degree", f"{facts.degree.mean:.1f}", f"median {facts.degree.median:g}, largest "
         f"{facts.degree.max:,}"),
        ("splits", f"{facts.splits:,}", first),
    ]  # fmt: skip


def _classes(facts: Inspection) -> Figure:
    names, counts = list(facts.class_counts), list(facts.class_counts.values())
    total = sum(counts) or 1
    shares = [f"{count:,} ({count / total:.0%})" for count in counts]
    bars = {
        "type": "bar",
        "orientation": "h",
        "x": counts,
        "y": list(range(len(names))),
        "text": shares if len(names) <= 30 else None,
        "textposition": "auto",
        "hovertext": shares,
        "hoverinfo": "text",
        "marker": {"color": "$series-1"},
    }
    return Figure(
        "Class balance",
        "How many labelled nodes each class has.",
        [bars],
        {"yaxis": category_axis(names, downwards=True), "xaxis": {"title": {"text": "labelled nodes"}}},
        chart_height(len(names), 300),
    )


def _compatibility(facts: Inspection) -> Figure:
    chosen, limited = largest_classes(list(facts.class_counts.values()))
    names = [name for number_, name in enumerate(facts.class_counts) if number_ in set(chosen)]
    shares = [[facts.compatibility[row][column] for column in chosen] for row in chosen]
    written = [[f"{value:.2f}" for value in row] for row in shares]
    hover = "of the edges of {0}, {2} go to {1}"
    data, layout = heat_map(shares, names, names, written=written, hover=hover, down="from class", across="to class")
    about = "Share of each class's edges (rows) that go to each class (columns). A strong diagonal is homophily."
    return Figure("Who links to whom", about + limited, data, layout, chart_height(len(names), 300))


def _degrees(graph: Graph) -> Figure:
    degree = np.diff(graph.adjacency.indptr)
    edges = [0, 1, 2, *(2**power + 1 for power in range(1, max(2, int(degree.max())).bit_length() + 1))]
    edges = edges[: int(np.searchsorted(edges, degree.max(), side="right")) + 1]
    counts = np.histogram(degree, bins=edges)[0].tolist()
    names = [str(low) if high - low == 1 else f"{low:,}–{high - 1:,}" for low, high in pairwise(edges)]
    bars = {
        "type": "bar",
        "x": list(range(len(names))),
        "y": counts,
        "hovertext": [f"{count:,} nodes with degree {name}" for name, count in zip(names, counts, strict=True)],
        "hoverinfo": "text",
        "marker": {"color": "$series-3"},
    }
    about = "How many nodes have how many links; each group is twice as wide as the one before."
    if graph.directed:
        about += " Links that start at the node are counted."
    return Figure(
        "Degrees",
        about,
        [bars],
        {"xaxis": category_axis(names, title={"text": "links"}), "yaxis": {"title": {"text": "nodes"}}},
    )
