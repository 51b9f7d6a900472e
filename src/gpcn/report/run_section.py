"""A run: how it learned, how good and how honest its predictions are, class by class, and what carries them."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from gpcn.data.archives import read_npz
from gpcn.errors import CheckpointError
from gpcn.graph import Graph
from gpcn.report import signal
from gpcn.report.figures import Figure, Trace, height_of, matrix, plain
from gpcn.report.materials import RunMaterial
from gpcn.report.palette import series
from gpcn.report.tables import Cell, Table, number, spread
from gpcn.report.templating import render
from gpcn.training.evaluation import calibration_error, confidence_bins
from gpcn.training.runs import Run

POINTS = 300
TO_SHOW = (1, 1, 1, 100)  # epoch, train_loss, val_loss, and val_score in per cent


def section(material: RunMaterial) -> Markup:
    """The section of one run."""
    run, result = material.run, material.result
    confusion = np.sum([split["metrics"]["test"]["confusion"] for split in result["splits"]], axis=0)
    learning = _learning(run, result["splits"], result["metric"].replace("_", " "))
    figures = [_confusion(confusion, run.label_names())]
    if material.graph is not None:
        figures.append(_reliability(run, material.graph))
    return render(
        "run.html",
        result=result,
        settings=_settings(run),
        tiles=_tiles(result),
        learning=learning,
        figures=figures,
        classes=_classes(confusion, run.label_names()),
        splits=_splits(result["splits"]),
        signal=signal.account(material),
        notes=material.notes,
    )


def _tiles(result: dict[str, Any]) -> list[tuple[str, str, str]]:
    splits = result["splits"]
    epochs = [split["epochs"] for split in splits]
    mixes = [split["mix"] for split in splits if split["mix"] is not None]
    deviation = "" if result["test_std"] is None else f"± {result['test_std']:.2f} over splits; "
    tiles = [
        ("test", spread(result["test_mean"], None), f"{deviation}{result['metric'].replace('_', ' ')}, per cent"),
        ("validation", spread(result["val_mean"], None), "mean over splits, same measure"),
        ("splits", f"{len(splits):,}", "finished"),
        ("epochs", f"{np.mean(epochs):,.0f}", f"on average, from {min(epochs):,} to {max(epochs):,}"),
        ("time", f"{result['seconds']:,.1f} s", "all splits together"),
        ("parameters", f"{result['parameters']:,}", "learned numbers per split"),
    ]
    if mixes:
        tiles.append(("μ", f"{np.mean(mixes):.3f}", "share of convolution; the rest is links"))
    return tiles


def _settings(run: Run) -> list[tuple[str, str]]:
    config = run.config
    both = {"seed": config.seed, **config.hyperparameters, **config.training}
    return [(name, str(value)) for name, value in both.items()]


def _learning(run: Run, splits: list[dict[str, Any]], metric: str) -> list[Figure]:
    losses: list[Trace] = []
    scores: list[Trace] = []
    best: Trace = {"x": [], "y": [], "hovertext": []}
    for place, split in enumerate(splits):
        history = _history(run.folder(split["split"]) / "epochs.csv")
        shown = history[:: max(1, len(history) // POINTS)]
        epochs = [int(row[0]) for row in shown]
        name = f"split {split['split']}"
        line = {"type": "scatter", "mode": "lines", "x": epochs}
        for column, (kind, colour) in enumerate((("training", "$series-1"), ("validation", "$series-2")), start=1):
            losses.append(
                {
                    **line,
                    "y": plain([row[column] for row in shown]),
                    "name": kind,
                    "legendgroup": kind,
                    "showlegend": place == 0,
                    "hovertemplate": f"{name}, {kind} loss %{{y:.3f}}<extra></extra>",
                    "line": {"width": 1.3, "color": colour},
                    "opacity": 0.75,
                }
            )
        drawn = {"width": 1.5, "color": series(place)}
        told = f"{name}: %{{y:.2f}}<extra></extra>"
        scores.append(
            {**line, "y": plain([row[3] for row in shown]), "name": name, "line": drawn, "hovertemplate": told}
        )
        chosen = next((row for row in history if int(row[0]) == split["best_epoch"]), None)
        if chosen is not None:
            best["x"].append(int(chosen[0]))
            best["y"].append(plain([chosen[3]])[0])
            best["hovertext"].append(f"{name}: epoch {chosen[0]:.0f} is kept")
    marker = {"symbol": "circle-open", "size": 10, "color": "$ink", "line": {"width": 2}}
    kept = {"type": "scatter", "mode": "markers", "name": "kept epoch", "hoverinfo": "text", "marker": marker, **best}
    epoch_axis = {"xaxis": {"title": {"text": "epoch"}, "zeroline": False}, "showlegend": True}
    about = "A line per split. Click a name to hide or show its lines, drag to zoom, double-click to go back."
    score_axis = {"title": {"text": f"{metric}, per cent"}, "zeroline": False}
    return [
        Figure("Loss", about, losses, {**epoch_axis, "yaxis": {"title": {"text": "loss"}}, "dragmode": "zoom"}),
        Figure(
            f"Validation {metric}",
            "Measured on validation nodes before every step; the ring marks the epoch whose weights are kept.",
            [*scores, kept],
            {**epoch_axis, "yaxis": score_axis, "dragmode": "zoom"},
        ),
    ]


def _history(file: Path) -> list[list[float]]:
    try:
        rows = list(csv.reader(io.StringIO(file.read_text())))
        return [[float(value) * scale for value, scale in zip(row, TO_SHOW, strict=True)] for row in rows[1:]]
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{file} is damaged: {error}; delete {file.parent} to run that split again") from error


def _confusion(confusion: npt.NDArray[Any], names: tuple[str, ...]) -> Figure:
    totals = confusion.sum(axis=1, keepdims=True)
    shares = np.divide(confusion, totals, out=np.zeros(confusion.shape), where=totals > 0)
    written = [[f"{count:,}" for count in row] for row in confusion.tolist()]
    hover = "{2} test node(s) of {0} predicted as {1}"
    data, layout = matrix(
        shares.round(4).tolist(), names, names, written=written, hover=hover, down="class", across="predicted"
    )
    about = (
        "Test nodes of all splits: their class (rows) and what was predicted (columns). Colour is the share of the row."
    )
    return Figure("Confusion", about, data, layout, height_of(len(names), 320))


def _reliability(run: Run, graph: Graph) -> Figure:
    chosen, truth = [], []
    for number_ in run.finished():
        file = run.folder(number_) / "predictions.npz"
        probabilities = read_npz(file, str(file)).get("probabilities")
        if probabilities is None or probabilities.shape != (graph.num_nodes, len(run.label_names())):
            raise CheckpointError(f"{file} is damaged; delete {file.parent} to run that split again")
        test = graph.splits[number_].test
        chosen.append(probabilities[test])
        truth.append(graph.labels[test])
    pooled, labels = np.concatenate(chosen), np.concatenate(truth)
    size, right, confidence = confidence_bins(pooled, labels)
    seen = size > 0
    x, y, many = confidence[seen] / size[seen], right[seen] / size[seen], size[seen]
    dots: Trace = {
        "type": "scatter",
        "mode": "markers",
        "name": "predictions",
        "x": plain(x.tolist()),
        "y": plain(y.tolist()),
        "marker": {
            "color": "$series-1",
            "opacity": 0.8,
            "size": (6 + 18 * np.sqrt(many / many.max())).round(1).tolist(),
        },
        "hovertext": [f"{n:,} predictions, {c:.0%} sure, {r:.0%} right" for n, c, r in zip(many, x, y, strict=True)],
        "hoverinfo": "text",
    }
    even: Trace = {
        "type": "scatter",
        "mode": "lines",
        "name": "as sure as right",
        "x": [0, 1],
        "y": [0, 1],
        "line": {"dash": "dot", "color": "$quiet", "width": 1},
        "hoverinfo": "skip",
    }
    error = calibration_error(pooled, labels)
    axis = {"range": [-0.04, 1.06], "tickformat": ".0%", "zeroline": False}
    return Figure(
        "Reliability",
        "How often predictions are right against how sure they are, on test nodes of all splits; larger dots hold more "
        f"of them. Below the line: too sure. The mean gap (expected calibration error) is {error:.1%}.",
        [even, dots],
        {"xaxis": {**axis, "title": {"text": "how sure"}}, "yaxis": {**axis, "title": {"text": "how often right"}}},
        height_of(len(run.label_names()), 320),
    )


def _classes(confusion: npt.NDArray[Any], names: tuple[str, ...]) -> Table:
    hits, given, found = np.diag(confusion), confusion.sum(axis=1), confusion.sum(axis=0)
    rows = []
    for place, name in enumerate(names):
        both = given[place] + found[place]
        rows.append(
            [
                Cell(name),
                number(int(given[place]), 0),
                number(hits[place] / found[place] if found[place] else None),
                number(hits[place] / given[place] if given[place] else None),
                number(2 * hits[place] / both if both else None),
            ]
        )
    columns = ("class", "test nodes", "precision", "recall", "F1")
    return Table(columns, rows, numeric=frozenset(columns[1:]))


def _splits(splits: list[dict[str, Any]]) -> Table:
    columns = ("split", "test", "validation", "train", "epochs", "kept epoch", "seconds")
    keys = ("test", "val", "train", "epochs", "best_epoch", "seconds")
    rows = [
        [
            number(split["split"], 0),
            *(number(split[key], 0 if "epoch" in key else 1 if key == "seconds" else 2) for key in keys),
        ]
        for split in splits
    ]
    return Table(columns, rows, numeric=frozenset(columns))
