"""A run: how it learned, how good and how honest its predictions are, class by class, and what carries them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from gpcn.graph import Graph
from gpcn.report.figures import Figure, Trace, chart_height, dotted_line, heat_map, largest_classes, rounded_values
from gpcn.report.first_look import first_look
from gpcn.report.importance import importance_figures
from gpcn.report.learning import learning_curves
from gpcn.report.materials import RunMaterial
from gpcn.report.ranking import pooled_test_predictions, ranking_curves
from gpcn.report.signal import signal_account
from gpcn.report.tables import Cell, Table, mean_and_deviation, number_cell
from gpcn.report.templating import render_template
from gpcn.runs.comparison import ModelScores, majority_scores
from gpcn.runs.results import RunResult, SplitResult
from gpcn.runs.run import Run
from gpcn.tasks.calibration import calibration_error, confidence_bins
from gpcn.tasks.classification import Classification
from gpcn.tasks.metrics import find_metric


def run_section(material: RunMaterial) -> Markup:
    """The section of one run."""
    run, result = material.run, material.result
    classes = isinstance(run.task(), Classification)
    confusion = np.sum([split.metrics["test"].confusion for split in result.splits], axis=0) if classes else np.zeros(0)
    tested = bool(confusion.any())
    figures = [_confusion(confusion, run.label_names())] if tested else []
    if tested and material.graph is not None:
        figures += [_reliability(run, material.graph), *ranking_curves(run, material.graph)]
    majority = majority_scores([result], result.metric, run.task())
    return render_template(
        "run.html",
        result=result,
        settings=_settings(run),
        tiles=_tiles(result, majority),
        learning=learning_curves(run, result.splits, find_metric(result.metric), majority.val_mean),
        figures=figures,
        classes=_classes(confusion, run.label_names()) if classes else None,
        splits=_splits(result.splits, find_metric(result.metric).digits),
        signal=signal_account(material),
        features=importance_figures(material),
        first=first_look(material) if classes else None,
        notes=material.notes,
    )


def _tiles(result: RunResult, majority: ModelScores) -> list[tuple[str, str, str]]:
    splits = result.splits
    epochs = [split.epochs for split in splits]
    mixes = [split.mix for split in splits if split.mix is not None]
    metric = find_metric(result.metric)
    deviation = "" if result.test_std is None else f"± {result.test_std:.{metric.digits}f} over splits; "
    tiles = [
        ("test", mean_and_deviation(result.test_mean, None, metric.digits), f"{deviation}{metric.axis}"),
        ("validation", mean_and_deviation(result.val_mean, None, metric.digits), "mean over splits, same measure"),
        (
            "majority",
            mean_and_deviation(majority.test_mean, None, metric.digits),
            "what class shares alone achieve on test nodes",
        ),
        ("epochs", f"{np.mean(epochs):,.0f}", f"on average; {min(epochs):,} to {max(epochs):,}"),
        ("time", f"{result.seconds:,.1f} s", f"{len(splits):,} finished split(s) together"),
        ("parameters", f"{result.parameters:,}", "learned numbers per split"),
    ]
    if mixes:
        tiles.append(("μ", f"{np.mean(mixes):.3f}", "share of convolution; the rest is links"))
    return tiles


def _settings(run: Run) -> list[tuple[str, str]]:
    config = run.config
    both = {"seed": config.seed, **config.hyperparameters, **config.training}
    return [(name, str(value)) for name, value in both.items()]


def _confusion(confusion: npt.NDArray[Any], names: tuple[str, ...]) -> Figure:
    totals = confusion.sum(axis=1, keepdims=True)
    shares = np.divide(confusion, totals, out=np.zeros(confusion.shape), where=totals > 0)
    chosen, limited = largest_classes(totals.ravel().tolist())
    shares, confusion = shares[np.ix_(chosen, chosen)], confusion[np.ix_(chosen, chosen)]
    names = tuple(names[number_] for number_ in chosen)
    written = [[f"{count:,}" for count in row] for row in confusion.tolist()]
    hover = "{2} test node(s) of {0} predicted as {1}"
    data, layout = heat_map(
        shares.round(4).tolist(), names, names, written=written, hover=hover, down="class", across="predicted"
    )
    about = (
        "Test nodes of all splits: their class (rows) and what was predicted (columns). Colour is the share of the row."
    )
    return Figure("Confusion", about + limited, data, layout, chart_height(len(names), 320))


def _reliability(run: Run, graph: Graph) -> Figure:
    pooled, labels = pooled_test_predictions(run, graph)
    size, right, confidence = confidence_bins(pooled, labels)
    seen = size > 0
    x, y, many = confidence[seen] / size[seen], right[seen] / size[seen], size[seen]
    dots: Trace = {
        "type": "scatter",
        "mode": "markers",
        "name": "predictions",
        "x": rounded_values(x.tolist()),
        "y": rounded_values(y.tolist()),
        "marker": {
            "color": "$series-1",
            "opacity": 0.8,
            "size": (6 + 18 * np.sqrt(many / many.max())).round(1).tolist(),
        },
        "hovertext": [f"{n:,} predictions, {c:.0%} sure, {r:.0%} right" for n, c, r in zip(many, x, y, strict=True)],
        "hoverinfo": "text",
    }
    error = calibration_error(pooled, labels)
    axis = {"range": [-0.04, 1.06], "tickformat": ".0%", "zeroline": False}
    return Figure(
        "Reliability",
        "How often predictions are right against how sure they are, on test nodes of all splits; larger dots hold more "
        f"of them. Below the line: too sure. The mean gap (expected calibration error) is {error:.1%}.",
        [dotted_line("as sure as right", [0, 1], [0, 1]), dots],
        {"xaxis": {**axis, "title": {"text": "how sure"}}, "yaxis": {**axis, "title": {"text": "how often right"}}},
        chart_height(len(run.label_names()), 320),
    )


def _classes(confusion: npt.NDArray[Any], names: tuple[str, ...]) -> Table:
    hits, actual, predicted = np.diag(confusion), confusion.sum(axis=1), confusion.sum(axis=0)
    rows = []
    for index, name in enumerate(names):
        both = actual[index] + predicted[index]
        rows.append(
            [
                Cell(name),
                number_cell(int(actual[index]), 0),
                number_cell(hits[index] / predicted[index] if predicted[index] else None),
                number_cell(hits[index] / actual[index] if actual[index] else None),
                number_cell(2 * hits[index] / both if both else None),
            ]
        )
    columns = ("class", "test nodes", "precision", "recall", "F1")
    return Table(columns, rows, numeric=frozenset(columns[1:]))


def _splits(splits: Sequence[SplitResult], digits: int) -> Table:
    columns = ("split", "test", "validation", "train", "epochs", "kept epoch", "seconds")
    keys = ("test", "val", "train", "epochs", "best_epoch", "seconds")
    rows = [
        [
            number_cell(split.split, 0),
            *(
                number_cell(getattr(split, key), 0 if "epoch" in key else 1 if key == "seconds" else digits)
                for key in keys
            ),
        ]
        for split in splits
    ]
    return Table(columns, rows, numeric=frozenset(columns))
