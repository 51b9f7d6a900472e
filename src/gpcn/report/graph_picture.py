"""A picture of a graph: at most 300 of its nodes with the links among them, laid out by springs, coloured by class."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gpcn.core.types import UNKNOWN
from gpcn.graph import Graph
from gpcn.report.escaping import chart_label, chart_text
from gpcn.report.figures import Figure, Trace, rounded_values
from gpcn.report.palette import series_colour

MOST_NODES, MOST_LINKS, MOST_COLOURS = 300, 1500, 5
BRANCHES = 6  # neighbours that a node brings in, so that one hub does not fill the picture
ROUNDS = 120
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


def graph_picture(graph: Graph) -> Figure:
    """The same picture every time."""
    nodes = sample_nodes(graph)
    inner = graph.adjacency[nodes][:, nodes].tocoo()
    pairs = np.unique(np.sort(np.stack([inner.row, inner.col]).astype(np.int64), axis=0), axis=1)
    pairs = pairs[:, pairs[0] != pairs[1]]
    points = spring_layout(len(nodes), pairs)
    shown = pairs[:, np.sort(np.random.default_rng(0).permutation(pairs.shape[1])[:MOST_LINKS])]
    traces = [_links(points, shown)] if shown.size else []
    traces += _classes(graph, nodes, points)
    whole = len(nodes) == graph.num_nodes
    what = (
        "All nodes" if whole else f"{len(nodes):,} of {graph.num_nodes:,} nodes, drawn outwards from a few at random,"
    )
    about = f"{what} and the links among them; linked nodes are pulled together, colour is the class."
    hidden = {"visible": False, "zeroline": False, "showgrid": False}
    axes = {"xaxis": hidden, "yaxis": hidden | {"scaleanchor": "x"}}
    return Figure("A picture of the graph", about, traces, {**axes, "showlegend": True}, 520)


def sample_nodes(graph: Graph) -> Integers:
    """All nodes of a small graph; of a large one those met on the way outwards from nodes drawn at random."""
    if graph.num_nodes <= MOST_NODES:
        return np.arange(graph.num_nodes)
    links = (graph.adjacency + graph.adjacency.T).tocsr() if graph.directed else graph.adjacency
    rng = np.random.default_rng(0)
    chosen: dict[int, None] = {}
    starts = iter(rng.permutation(graph.num_nodes).tolist())
    waiting: list[int] = []
    while len(chosen) < MOST_NODES:
        node = waiting.pop(0) if waiting else next(starts)
        if node in chosen:
            continue
        chosen[node] = None
        neighbours = links.indices[links.indptr[node] : links.indptr[node + 1]]
        waiting += neighbours[rng.permutation(neighbours.size)[:BRANCHES]].tolist()
    return np.sort(np.fromiter(chosen, dtype=np.int64))


def spring_layout(count: int, pairs: Integers) -> Floats:
    """Fruchterman and Reingold's springs, `[count, 2]`: all push each other away, `pairs` `[2, E]` pull together."""
    rng = np.random.default_rng(0)
    points: Floats = rng.uniform(-1, 1, (count, 2))
    ideal = 2 / max(1, count) ** 0.5
    for step in range(ROUNDS):
        apart = points[:, None] - points[None]  # [count, count, 2]
        distance = np.maximum(np.linalg.norm(apart, axis=2), 1e-3)
        force = (apart * (ideal**2 / distance**2)[:, :, None]).sum(axis=1)
        along = points[pairs[0]] - points[pairs[1]]
        pull = along * (np.linalg.norm(along, axis=1, keepdims=True) / ideal)
        np.add.at(force, pairs[0], -pull)
        np.add.at(force, pairs[1], pull)
        force -= points * ideal  # nobody drifts away
        size = np.maximum(np.linalg.norm(force, axis=1, keepdims=True), 1e-9)
        points += force / size * np.minimum(size, 0.2 * (1 - step / ROUNDS))
    return points


def _links(points: Floats, pairs: Integers) -> Trace:
    ends = points[pairs]  # [2, E, 2]
    x, y = ([value for a, b in zip(*ends[:, :, axis], strict=True) for value in (a, b, None)] for axis in (0, 1))
    line = {"width": 0.7, "color": "$quiet"}
    shared = {"type": "scatter", "mode": "lines", "hoverinfo": "skip", "showlegend": False, "opacity": 0.45}
    return {**shared, "name": "links", "x": rounded_values(x, 4), "y": rounded_values(y, 4), "line": line}


def _classes(graph: Graph, nodes: Integers, points: Floats) -> list[Trace]:
    """A trace for each of the largest classes, one for all others, one for nodes without a label."""
    labels, names = graph.target.strata[nodes], graph.target.stratum_names if graph.label_names else None
    sizes = np.bincount(labels[labels != UNKNOWN], minlength=len(graph.target.stratum_names))
    largest = sorted(np.argsort(-sizes, kind="stable")[:MOST_COLOURS].tolist())
    groups = [(label, labels == label, series_colour(number)) for number, label in enumerate(largest)]
    groups.append((None, (labels != UNKNOWN) & ~np.isin(labels, largest), "$series-6"))
    groups.append((UNKNOWN, labels == UNKNOWN, "$line"))
    traces: list[Trace] = []
    for label, mask, colour in groups:
        if not mask.any():
            continue
        titles = {None: "other classes", UNKNOWN: "no label"}
        title = titles.get(label) or (names[label] if names else f"class {label}")
        listed = np.flatnonzero(mask)
        node_names = [graph.node_ids[node] if graph.node_ids else str(node) for node in nodes[listed]]
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": chart_label(title),
                "x": rounded_values(points[listed, 0].tolist(), 4),
                "y": rounded_values(points[listed, 1].tolist(), 4),
                "hovertext": [f"{chart_text(name)}: {chart_text(title)}" for name in node_names],
                "hoverinfo": "text",
                "marker": {"size": 8, "color": colour, "line": {"width": 0.8, "color": "$quiet"}},
            }
        )
    return traces
