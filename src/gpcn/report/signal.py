"""Which signal carries the predictions of a run: coefficients, μ, and the parts of every test node's lead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from gpcn.explanation import can_be_explained, lead_parts, power_names
from gpcn.graph import Graph
from gpcn.report.figures import Figure, Trace, category_axis, chart_height, heat_map, rounded_values
from gpcn.report.materials import RunMaterial
from gpcn.report.tables import Cell, Table, number_cell, signed_number
from gpcn.runs.predictions.fitted import Fitted
from gpcn.runs.run import Run

MENTIONED, SHALLOW = 4, 260
OUTCOMES = (("right", "$series-1"), ("wrong", "$series-2"))


@dataclass(frozen=True)
class Leads:
    """Test nodes of all splits: `margins` `[parts, n]` of their leads, their classes, and who was predicted rightly."""

    parts: tuple[str, ...]
    margins: npt.NDArray[np.float64]
    labels: npt.NDArray[np.int64]
    right: npt.NDArray[np.bool_]

    def mean(self, chosen: npt.NDArray[np.bool_]) -> list[float | None]:
        """The mean of each part over the chosen nodes; undefined where there are none."""
        return self.margins[:, chosen].mean(axis=1).tolist() if chosen.any() else [None] * len(self.parts)


def signal_account(material: RunMaterial) -> dict[str, Any] | None:
    """Figures, a table and a sentence; `None` for models that have no such account."""
    coefficients = [split.coefficients for split in material.result.splits if split.coefficients is not None]
    figures = [_coefficients(coefficients, power_names(material.run))] if coefficients else []
    mixes = [(split.split, split.mix) for split in material.result.splits if split.mix is not None]
    figures += [_mixes(mixes)] if mixes else []
    tested = any(split.metrics["test"].size for split in material.result.splits)
    if not tested or material.graph is None or not can_be_explained(material.run):
        return {"figures": figures, "sentence": None, "table": None} if figures else None
    leads = _leads(material.run, material.graph)
    figures = [_outcomes(leads), _by_class(leads, material.run.label_names()), *figures]
    table = _table(leads, material.run.label_names())
    return {"figures": figures, "sentence": _sentence(leads), "table": table}


def _leads(run: Run, graph: Graph) -> Leads:
    fitted = Fitted.of(run, graph, torch.float64)
    margins, labels, right = [], [], []
    for split in run.finished():
        carried, test = lead_parts(fitted, split), graph.splits[split].test
        margins.append(carried.margins[:, test])
        labels.append(graph.labels[test])
        right.append(carried.predicted[test] == graph.labels[test])
    return Leads(carried.parts, np.concatenate(margins, axis=1), np.concatenate(labels), np.concatenate(right))


def _sentence(leads: Leads) -> str:
    means = leads.mean(np.ones_like(leads.right))
    named = [(name, value) for name, value in zip(leads.parts, means, strict=True) if value is not None]
    ranked = sorted(named, key=lambda pair: -abs(pair[1]))
    listed = ", ".join(f"{name} {signed_number(value)}" for name, value in ranked[:MENTIONED])
    more = f", and {len(ranked) - MENTIONED} smaller part(s)" if len(ranked) > MENTIONED else ""
    total = sum(value for _, value in named)
    return f"On average the predicted class leads the runner-up by {total:.2f}, made up of {listed}{more}."


def _outcomes(leads: Leads) -> Figure:
    bars: list[Trace] = []
    for name, colour in OUTCOMES:
        chosen = leads.right if name == "right" else ~leads.right
        values = leads.mean(chosen)
        bars.append(
            {
                "type": "bar",
                "name": f"{name} ({int(chosen.sum()):,})",
                "x": list(range(len(leads.parts))),
                "y": rounded_values(values),
                "hovertemplate": f"%{{y:+.3f}} where {name}<extra></extra>",
                "marker": {"color": colour},
            }
        )
    return Figure(
        "What carries the lead",
        "Mean share of each part in the lead of the predicted class over the runner-up (difference of logits, that is, "
        "of log-odds), for test nodes predicted rightly and wrongly. The bars of a colour add up to its mean lead.",
        bars,
        {"xaxis": category_axis(leads.parts), "yaxis": {"title": {"text": "share of the lead"}}, "showlegend": True},
        340,
    )


def _by_class(leads: Leads, names: tuple[str, ...]) -> Figure:
    values = [rounded_values(leads.mean(leads.labels == label), 4) for label in range(len(names))]
    written = [["–" if value is None else signed_number(value) for value in row] for row in values]
    data, layout = heat_map(
        values, names, leads.parts, written=written, hover="{0}, {1}: {2}", down="class", diverging=True
    )
    about = "The same for test nodes of each class. Blue parts speak for the predicted class, orange ones against it."
    return Figure("The lead, class by class", about, data, layout, chart_height(len(names), 340))


def _coefficients(splits: Sequence[Sequence[float | None]], powers: list[str] | None) -> Figure:
    positions = range(len(splits[0]))
    dots: Trace = {
        "type": "scatter",
        "mode": "markers",
        "x": [position for _ in splits for position in positions],
        "y": rounded_values([value for split in splits for value in split]),
        "hovertemplate": "%{y:.4g}<extra></extra>" if powers else "hop %{x}: %{y:.4g}<extra></extra>",
        "marker": {"size": 9, "opacity": 0.6, "color": "$series-3"},
    }
    hops = {"title": {"text": "hop"}, "dtick": 1, "zeroline": False}
    return Figure(
        "Coefficient of each operator and hop" if powers else "Coefficient of each hop",
        "The weight of each power of the adjacency, a dot per split; hop 0 is the node itself. The size of a hop's "
        "signal also depends on the learned weights, which the charts of the lead take into account.",
        [dots],
        {"xaxis": category_axis(powers) if powers else hops, "yaxis": {"title": {"text": "coefficient"}}},
        SHALLOW,
    )


def _mixes(mixes: list[tuple[int, float]]) -> Figure:
    bars: Trace = {
        "type": "bar",
        "x": list(range(len(mixes))),
        "y": rounded_values([mix for _, mix in mixes]),
        "hovertemplate": "μ = %{y:.3f}<extra></extra>",
        "marker": {"color": "$series-4"},
    }
    names = category_axis([f"split {number}" for number, _ in mixes])
    about = (
        "μ of each split: 1 is all convolution, 0 is all links. Like a coefficient, it says nothing about the weights."
    )
    layout = {"xaxis": names, "yaxis": {"range": [0, 1], "title": {"text": "μ"}}}
    return Figure("Share of convolution against links", about, [bars], layout, SHALLOW)


def _table(leads: Leads, names: tuple[str, ...]) -> Table:
    rows = []
    for label, name in enumerate(names):
        for outcome, chosen in (("right", leads.right), ("wrong", ~leads.right)):
            among = chosen & (leads.labels == label)
            if among.any():
                means = leads.mean(among)
                total = sum(value or 0.0 for value in means)
                shares = [number_cell(value, 2, sign=True) for value in (*means, total)]
                rows.append([Cell(name), Cell(outcome), number_cell(int(among.sum()), 0), *shares])
    columns = ("class", "predicted", "test nodes", *leads.parts, "lead")
    return Table(columns, rows, numeric=frozenset(columns[2:]))
