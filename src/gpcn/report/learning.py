"""How a run learned: loss and validation score, epoch by epoch and split by split."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from gpcn.core.errors import CheckpointError
from gpcn.records import layout
from gpcn.report.figures import Figure, Trace, rounded_values
from gpcn.report.palette import series_colour
from gpcn.runs.results import SplitResult
from gpcn.runs.run import Run
from gpcn.tasks.metrics import Metric

POINTS = 300


def learning_curves(
    run: Run, splits: Sequence[SplitResult], metric: Metric, majority: float | None = None
) -> list[Figure]:
    """Two charts, of losses and of the validation score, with what the `majority` has as a line."""
    losses: list[Trace] = []
    scores: list[Trace] = []
    best: Trace = {"x": [], "y": [], "hovertext": []}
    for index, split in enumerate(splits):
        history = _history(run.split_file(split.split, layout.EPOCHS), metric.scale)
        shown = history[:: max(1, len(history) // POINTS)]
        epochs = [int(row[0]) for row in shown]
        name = f"split {split.split}"
        line = {"type": "scatter", "mode": "lines", "x": epochs}
        for column, (kind, colour) in enumerate((("training", "$series-1"), ("validation", "$series-2")), start=1):
            losses.append(
                {
                    **line,
                    "y": rounded_values([row[column] for row in shown]),
                    "name": kind,
                    "legendgroup": kind,
                    "showlegend": index == 0,
                    "hovertemplate": f"{name}, {kind} loss %{{y:.3f}}<extra></extra>",
                    "line": {"width": 1.3, "color": colour},
                    "opacity": 0.75,
                }
            )
        style = {"width": 1.5, "color": series_colour(index)}
        hover = f"{name}: %{{y:.{metric.digits}f}}<extra></extra>"
        scores.append(
            {
                **line,
                "y": rounded_values([row[3] for row in shown]),
                "name": name,
                "line": style,
                "hovertemplate": hover,
            }
        )
        chosen = next((row for row in history if int(row[0]) == split.best_epoch), None)
        if chosen is not None:
            best["x"].append(int(chosen[0]))
            best["y"].append(rounded_values([chosen[3]])[0])
            best["hovertext"].append(f"{name}: epoch {chosen[0]:.0f} is kept")
    marker = {"symbol": "circle-open", "size": 10, "color": "$ink", "line": {"width": 2}}
    kept = {"type": "scatter", "mode": "markers", "name": "kept epoch", "hoverinfo": "text", "marker": marker, **best}
    if majority is not None:
        last = max(max(trace["x"], default=0) for trace in scores)
        dotted = {"dash": "dot", "color": "$quiet", "width": 1.5}
        level: Trace = {"name": "majority", "x": [0, last], "y": rounded_values([majority, majority]), "line": dotted}
        scores.append({"type": "scatter", "mode": "lines", "hoverinfo": "name", **level})
    epoch_axis = {"xaxis": {"title": {"text": "epoch"}, "zeroline": False}, "showlegend": True}
    about = "A line per split. Click a name to hide or show its lines, drag to zoom, double-click to go back."
    score_axis = {"title": {"text": metric.axis}, "zeroline": False}
    return [
        Figure("Loss", about, losses, {**epoch_axis, "yaxis": {"title": {"text": "loss"}}, "dragmode": "zoom"}),
        Figure(
            f"Validation {metric.name.replace('_', ' ')}",
            "Measured on validation nodes before every step; the ring marks the epoch whose weights are kept.",
            [*scores, kept],
            {**epoch_axis, "yaxis": score_axis, "dragmode": "zoom"},
        ),
    ]


def _history(file: Path, scale: int) -> list[list[float]]:
    """Rows of epoch, train_loss, val_loss and val_score, the last as it is shown."""
    try:
        rows = list(csv.reader(io.StringIO(file.read_text())))
        return [
            [float(value) * factor for value, factor in zip(row, (1, 1, 1, scale), strict=True)] for row in rows[1:]
        ]
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{file} is damaged: {error}; delete {file.parent} to run that split again") from error
