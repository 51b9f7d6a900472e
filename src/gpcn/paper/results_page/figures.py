"""The ablation figures, as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gpcn.paper.measurements.ablation import METHODS, SWEEPS
from gpcn.paper.rows import Row
from gpcn.theory.drawing import figure_at

LABELS = {"gamma": "γ", "layers": "L, residual layers", "dropout": "dropout"}
# colours that colour-blind readers can keep apart
COLOURS = dict(zip(METHODS, ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#666666"), strict=True))
MARKS = dict(zip(METHODS, "osD^x", strict=True))


def draw_ablation(dataset: str, table: Sequence[Row], path: Path) -> None:
    """Test score against γ, depth and dropout, a line per method; the band is one deviation over splits."""
    with figure_at(path, 11, 3.6) as figure:
        for axes, (setting, values) in zip(figure.subplots(1, 3, sharey=True), SWEEPS.items(), strict=True):
            for method in METHODS:
                line = [
                    row
                    for row in table
                    if (row["dataset"], row["method"], row["setting"]) == (dataset, method, setting) and row["mean"]
                ]
                if not line:
                    continue
                line.sort(key=lambda row: float(row["value"]))
                x = [float(row["value"]) for row in line]
                mean, std = ([float(row[name]) for row in line] for name in ("mean", "std"))
                axes.plot(x, mean, color=COLOURS[method], marker=MARKS[method], markersize=4, label=method)
                low, high = ([m + sign * s for m, s in zip(mean, std, strict=True)] for sign in (-1, 1))
                axes.fill_between(x, low, high, color=COLOURS[method], alpha=0.12, linewidth=0)
            if setting != "dropout":
                axes.set_xscale("log", base=2)
            axes.set_xticks([float(value) for value in values])
            axes.set_xlabel(LABELS[setting])
        figure.axes[0].set_ylabel(f"test accuracy on {dataset}, %")
        handles, names = figure.axes[1].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper center", ncols=len(names), frameon=False)
