"""How well a run ranks test nodes: ROC and precision-recall curves with thresholds, and gain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn import metrics as sklearn_metrics

from gpcn.core.errors import DataError
from gpcn.graph import Graph
from gpcn.report.escaping import chart_label, chart_text
from gpcn.report.figures import Figure, Trace, dotted_line, rounded_values
from gpcn.report.palette import SERIES, series_colour
from gpcn.runs.predictions.threshold import best_f1_threshold, validation_nodes
from gpcn.runs.run import Run

POINTS = 200  # of a curve
HEIGHT = 340
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Ranked:
    """One class against the rest on test nodes of all splits: its probability, and who is of it."""

    name: str
    likely: Floats
    truth: npt.NDArray[np.bool_]


def pooled_test_predictions(run: Run, graph: Graph) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Probabilities `[n, C]` and labels of the test nodes of all finished splits."""
    tests = {number: graph.splits[number].test for number in run.finished()}
    probabilities = [run.predictions(number)[test] for number, test in tests.items()]
    return np.concatenate(probabilities), np.concatenate([graph.labels[test] for test in tests.values()])


def ranking_curves(run: Run, graph: Graph) -> list[Figure]:
    """Of two classes the rarer one, of more the six largest, each against the rest; nothing where only one is there."""
    probabilities, labels = pooled_test_predictions(run, graph)
    positive, names = run.task().positive, run.label_names()
    sizes = np.bincount(labels, minlength=len(names))
    chosen = [positive] if positive is not None else sorted(np.argsort(-sizes, kind="stable")[:SERIES].tolist())
    ranked = [
        Ranked(names[label], probabilities[:, label], labels == label)
        for label in chosen
        if 0 < sizes[label] < labels.size
    ]
    if not ranked:
        return []
    thresholds = _thresholds(run, graph) if positive is not None else []
    limited = "" if positive is not None or len(names) <= SERIES else f" The {SERIES} largest classes are shown."
    return [_roc(ranked, thresholds, limited), _precision(ranked, thresholds, limited), _gain(ranked, limited)]


def _thresholds(run: Run, graph: Graph) -> list[tuple[str, float]]:
    """One half, and what `gpcn predict --threshold f1` would choose."""
    try:
        best, _ = best_f1_threshold(validation_nodes([run], graph))
    except DataError:  # no validation node is positive
        return [("threshold 0.5", 0.5)]
    return [("threshold 0.5", 0.5), (f"best F1: {best:.3f}", best)]


def _rates(subject: Ranked, threshold: float) -> tuple[float, float, float | None]:
    """Share of negatives taken for positives, share of positives that are caught, and precision."""
    marked, truth = subject.likely >= threshold, subject.truth
    hits = int((marked & truth).sum())
    wrong = int(marked.sum()) - hits
    return wrong / int((~truth).sum()), hits / int(truth.sum()), hits / (hits + wrong) if marked.any() else None


def _roc(ranked: Sequence[Ranked], thresholds: Sequence[tuple[str, float]], limited: str) -> Figure:
    traces = [_diagonal("chance")]
    for number, subject in enumerate(ranked):
        x, y, _ = sklearn_metrics.roc_curve(subject.truth, subject.likely)
        area = sklearn_metrics.roc_auc_score(subject.truth, subject.likely)
        traces.append(_line(f"{chart_label(subject.name)} ({area:.3f})", x, y, number))
    marks = [(name, *_rates(ranked[0], value)[:2]) for name, value in thresholds]
    about = (
        "For every threshold, the share of the class that is caught against the share of all others taken for it; in "
        "brackets the area under the curve, 0.5 for chance."
    )
    if len(thresholds) > 1:
        about += " The diamond is the threshold with the best F1 on validation nodes."
    layout = _axes("others taken for it", "caught (recall)")
    return Figure("ROC curve", about + limited, [*traces, *_marks(marks)], layout, HEIGHT)


def _precision(ranked: Sequence[Ranked], thresholds: Sequence[tuple[str, float]], limited: str) -> Figure:
    traces = []
    for number, subject in enumerate(ranked):
        precision, recall, _ = sklearn_metrics.precision_recall_curve(subject.truth, subject.likely)
        area = sklearn_metrics.average_precision_score(subject.truth, subject.likely)
        traces.append(_line(f"{chart_label(subject.name)} ({area:.3f})", recall[::-1], precision[::-1], number))
    share = float(ranked[0].truth.mean())
    if len(ranked) == 1:
        traces.insert(0, dotted_line("majority", rounded_values([0, 1]), rounded_values([share, share])))
    marks = []
    for name, value in thresholds:
        _, caught, right = _rates(ranked[0], value)
        if right is not None:
            marks.append((name, caught, right))
    about = (
        "For every threshold, how many of those taken for the class are of it, against how many of the class are "
        "caught; in brackets the average precision."
    )
    if len(ranked) == 1:
        about += f" The dotted line is the majority, which has no order: {share:.1%} of test nodes are of the class."
    layout = _axes("caught (recall)", "of it (precision)")
    return Figure("Precision and recall", about + limited, [*traces, *_marks(marks)], layout, HEIGHT)


def _gain(ranked: Sequence[Ranked], limited: str) -> Figure:
    traces = [_diagonal("in any order")]
    for number, subject in enumerate(ranked):
        caught = np.cumsum(subject.truth[np.argsort(-subject.likely, kind="stable")]) / subject.truth.sum()
        y = np.concatenate([[0.0], caught])
        x = np.linspace(0, 1, y.size)
        line = _line(chart_label(subject.name), x, y, number)
        words = [
            f"{chart_text(subject.name)}: the first {at:.1%} of nodes hold {caught_:.1%} of it, {caught_ / at:.1f} "
            "times as many as any others"
            if at
            else "none"
            for at, caught_ in zip(line["x"], line["y"], strict=True)
        ]
        traces.append({**line, "hovertext": words, "hoverinfo": "text"})
    tenth = ranked[0].likely.size // 10
    about = "Nodes in the order of their probability: what share of the class the first of them hold."
    if len(ranked) == 1 and tenth:
        first = ranked[0].truth[np.argsort(-ranked[0].likely, kind="stable")[:tenth]].sum() / ranked[0].truth.sum()
        about += f" The first tenth holds {first:.0%}, a lift of {10 * first:.1f}."
    return Figure("Gain", about + limited, traces, _axes("nodes looked at", "of the class among them"), HEIGHT)


def _line(name: str, x: Floats, y: Floats, number: int) -> Trace:
    kept = np.unique(np.linspace(0, len(x) - 1, min(len(x), POINTS)).round().astype(int))
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": rounded_values(np.asarray(x)[kept].tolist()),
        "y": rounded_values(np.asarray(y)[kept].tolist()),
        "line": {"width": 2, "color": series_colour(number)},
        "hovertemplate": "%{x:.1%}, %{y:.1%}<extra></extra>",
    }


def _diagonal(name: str) -> Trace:
    return dotted_line(name, rounded_values([0, 1]), rounded_values([0, 1]))


def _marks(marks: Sequence[tuple[str, float, float]]) -> list[Trace]:
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "name": name,
            "x": rounded_values([x]),
            "y": rounded_values([y]),
            "marker": {"size": 11, "symbol": symbol, "color": "$ink"},
            "hovertext": [f"{name}: {x:.1%}, {y:.1%}"],
            "hoverinfo": "text",
        }
        for (name, x, y), symbol in zip(marks, ("circle-open", "diamond"), strict=False)
    ]


def _axes(across: str, up: str) -> dict[str, object]:
    axis = {"range": [-0.03, 1.05], "tickformat": ".0%", "zeroline": False}
    titles = {"xaxis": {**axis, "title": {"text": across}}, "yaxis": {**axis, "title": {"text": up}}}
    return {**titles, "showlegend": True}
