"""New tables beside those of training: what drifted, and which of the new nodes to look at first."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup

from gpcn.report.escaping import chart_text
from gpcn.report.figures import Figure, Trace, category_axis, chart_height, largest_classes, rounded_values
from gpcn.report.materials import NewTablesMaterial
from gpcn.report.tables import Cell, Table, number_cell
from gpcn.report.templating import render_template
from gpcn.runs.predictions.drift import MOVED, NOTABLE, ClassShares, DegreeCounts, Drift
from gpcn.runs.predictions.prediction import Predictions

MARK = "drift: "  # what notes on drift begin with
MOST_NODES, MOST_FEATURES = 50, 50
LEAST_WRITTEN = 0.001


def drift_section(material: NewTablesMaterial) -> Markup:
    """The section of one pair of tables."""
    predictions, drift = material.predictions, material.predictions.drift
    moved = [note.removeprefix(MARK) for note in predictions.notes if note.startswith(MARK)]
    return render_template(
        "drift.html",
        run=material.run,
        tiles=_tiles(predictions),
        verdict=None if drift is None else _verdict(len(moved)),
        moved=[f"{text[:1].upper()}{text[1:]}." for text in moved],
        figures=[] if drift is None else [_links(drift.degree_counts), *_classes(drift.classes)],
        measures=None if drift is None else _measures(drift),
        first=_first_nodes(predictions) if material.names_nodes and len(predictions.nodes) else None,
        notes=[note for note in predictions.notes if not note.startswith(MARK)],
    )


def _verdict(count: int) -> str:
    if not count:
        return "Nothing notable differs from the tables of training."
    return f"{count:,} notable difference{'s' * (count > 1)} from the tables of training."


def _tiles(predictions: Predictions) -> list[tuple[str, str, str]]:
    tiles = [
        ("nodes", f"{len(predictions.nodes):,}", "predicted"),
        ("new", f"{predictions.new_nodes:,}", "were not there in training"),
        ("vanished", f"{predictions.vanished_nodes:,}", "were there in training, and are not here"),
    ]
    if predictions.drift is not None:
        classes = predictions.drift.classes.index
        about = "stability index; from 0.1 on different, from 0.25 on very"
        tiles.append(("numbers of links", f"{predictions.drift.degrees:.3f}", about))
        tiles.append(("predicted classes", "–" if classes is None else f"{classes:.3f}", about))
    return tiles


def _links(counts: DegreeCounts) -> Figure:
    groups = max(len(counts.before), len(counts.now))
    names = ["0", "1", *(f"{1 << power:,}–{(2 << power) - 1:,}" for power in range(1, groups - 1))][:groups]
    traces = [
        _bars(title, names, _shares([*nodes, *[0] * (groups - len(nodes))]), colour, "with {} link(s)")
        for nodes, title, colour in ((counts.before, "in training", "$series-2"), (counts.now, "now", "$series-1"))
    ]
    about = "Share of the nodes with so many links, in either direction; each group is twice as wide as the one before."
    layout = {
        "xaxis": category_axis(names, title={"text": "links"}),
        "yaxis": {"title": {"text": "nodes"}, "tickformat": ".0%"},
        "barmode": "group",
        "showlegend": True,
    }
    return Figure("Numbers of links", about, traces, layout)


def _classes(classes: ClassShares) -> list[Figure]:
    kinds = (
        (classes.labels, "training labels", "$series-3"),
        (classes.predicted_before, "predicted in training", "$series-2"),
        (classes.predicted_now, "predicted now", "$series-1"),
    )
    given = [(title, shares, colour) for shares, title, colour in kinds if shares is not None]
    class_names = list(classes.labels)
    if not class_names:
        return []
    chosen, limited = largest_classes(list(classes.labels.values()))
    names = [class_names[index] for index in chosen]
    traces = [_bars(title, names, [shares[name] for name in names], colour, "{}") for title, shares, colour in given]
    about = (
        "Mean probability of each class over all nodes, now and for the graph trained on, and the shares of the labels "
        "trained on."
    )
    layout = {
        "xaxis": category_axis(names, title={"text": "class"}),
        "yaxis": {"title": {"text": "share"}, "tickformat": ".0%"},
        "barmode": "group",
        "showlegend": True,
    }
    return [Figure("Classes", about + limited, traces, layout, chart_height(len(given), 320))]


def _bars(title: str, names: list[str], shares: list[float], colour: str, words: str) -> Trace:
    return {
        "type": "bar",
        "name": title,
        "x": list(range(len(names))),
        "y": rounded_values(shares),
        "hovertext": [
            f"{title}: {share:.1%} {words.format(chart_text(name))}" for name, share in zip(names, shares, strict=True)
        ],
        "hoverinfo": "text",
        "marker": {"color": colour},
    }


def _shares(counts: list[int]) -> list[float]:
    return [float(share) for share in np.asarray(counts) / max(1, sum(counts))]


def _measures(drift: Drift) -> Table:
    """Everything that was compared and is not the same."""
    rows = [
        [Cell("category not seen in training"), Cell(column), _share(share), _notable(share >= NOTABLE)]
        for column, share in drift.unseen_levels.items()
    ]
    rows += [
        [Cell("outside the range of training"), Cell(feature), _share(share), _notable(share >= NOTABLE)]
        for feature, share in list((drift.outside_range or {}).items())[:MOST_FEATURES]
    ]
    for what, index in (("numbers of links", drift.degrees), ("predicted classes", drift.classes.index)):
        if index is not None:
            rows.append([Cell(what), Cell("stability index"), number_cell(index), _notable(index >= MOVED)])
    return Table(("what", "of", "how much", "notable"), rows, numeric=frozenset({"how much"}))


def _share(share: float) -> Cell:
    written = f"{share:.1%}" if share >= LEAST_WRITTEN else f"below {LEAST_WRITTEN:.1%}"
    return Cell(f"{written} of the nodes", share)


def _notable(notable: bool) -> Cell:
    return Cell("yes" if notable else "no", float(notable))


def _first_nodes(predictions: Predictions) -> Table:
    """The nodes that `gpcn predict --sort` would list first."""
    ranked = predictions.sorted()
    positive, names = ranked.task.positive, ranked.label_names
    rows = []
    for node, shares in zip(ranked.node_ids[:MOST_NODES], ranked.probabilities, strict=False):
        chosen = int(shares.argmax()) if positive is None else positive
        rows.append([Cell(node), Cell(names[chosen]), Cell(f"{shares[chosen]:.1%}", float(shares[chosen]))])
    return Table(("node", "class", "probability"), rows, numeric=frozenset({"probability"}))
