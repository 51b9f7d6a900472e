"""Does the theory's advice hold? Bound, gap and oversmoothing over depth, γ and μ: `gpcn reproduce theory`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gpcn.nn.zoo.hyperparameters import Value
from gpcn.paper import rows
from gpcn.paper.evaluations import Evaluations, Progress, Question, answer_groups, why_dataset_missing
from gpcn.paper.rows import Row
from gpcn.theory.drawing import figure_at
from gpcn.training.config import TrainConfig

DATASETS = ("texas", "chameleon", "cora")
LAYERS = (1, 2, 4, 8, 16)
GAMMAS = tuple(2.0**power for power in (-8, -6, -4, -2, 0, 2))
MUS = (0.1, 0.3, 0.5, 0.7, 0.9)
SPLITS = (0, 1, 2)
COLUMNS = (
    "dataset",
    "model",
    "layers",
    "gamma",
    "mu",
    "printed",
    "printed_dominant",
    "corrected",
    "corrected_dominant",
    "train",
    "test",
    "gap",
    "loss_gap",
    "energy_first",
    "energy_last",
    "distance_first",
    "distance_last",
    "energy",
    "distance",
    "splits",
    "epochs",
    "seconds",
    "commit",
    "status",
)
KEY = ("dataset", "model", "layers", "gamma", "mu")
FIXED: dict[str, Value] = {
    "hidden": 64,
    "dropout": 0.0,
    "lr": 0.01,
    "weight_decay": 5e-4,
    "normalize_features": True,
    "epochs": 200,
}


def points() -> list[tuple[TrainConfig, dict[str, Value]]]:
    """GPCN over depth and γ; GPCN-LINK over μ, which is held where it starts."""
    listed = []
    for layers in LAYERS:
        for gamma in GAMMAS:
            key: dict[str, Value] = {"model": "gpcn", "layers": layers, "gamma": gamma, "mu": 1.0}
            listed.append((_config("gpcn", {"layers": layers, "gamma": gamma}), key))
    for mu in MUS:
        settings: dict[str, Value] = {"layers": 4, "gamma": 0.25, "mu": mu, "learn_mu": False}
        listed.append((_config("gpcn-link", settings), {"model": "gpcn-link", "layers": 4, "gamma": 0.25, "mu": mu}))
    return listed


def _config(model: str, settings: dict[str, Value]) -> TrainConfig:
    all_settings: dict[str, Any] = {**FIXED, **settings}
    return TrainConfig.of(model, **all_settings)


def measure(
    datasets: Iterable[str],
    evaluations: Evaluations,
    *,
    splits: Sequence[int] = SPLITS,
    progress: Progress | None = None,
) -> list[Row]:
    """A row per point, numbers averaged over splits; what diverges, or is not there, says so."""
    missing = {dataset: why_dataset_missing(dataset) for dataset in datasets}
    cells = [(dataset, config, key) for dataset in missing for config, key in points()]
    questions = [
        [Question(dataset, config, split, "bound") for split in splits if not missing[dataset]]
        for dataset, config, _ in cells
    ]
    table = []
    for (dataset, _, key), answers in zip(cells, answer_groups(evaluations, questions, progress), strict=True):
        summary = _summary(answers)
        summary["status"] = missing[dataset] or summary["status"]
        table.append({"dataset": dataset, **key, **summary, "splits": len(answers)})
    return table


def _summary(answers: Sequence[Row]) -> Row:
    done = [answer for answer in answers if "failed" not in answer]
    row: Row = {"seconds": round(sum(answer["seconds"] for answer in answers), 2)}
    row |= {"commit": rows.commits_of_answers(answers), "status": rows.failure_status(answers)}
    if not done:
        return row
    for name in ("printed", "corrected", "train", "test", "gap", "loss_gap", "epochs"):
        row[name] = float(f"{np.mean([answer[name] for answer in done]):.6g}")
    for name in ("printed_dominant", "corrected_dominant"):
        row[name] = done[0][name]
    for name in ("energy", "distance"):
        mean = np.mean([answer[name] for answer in done], axis=0)
        row |= {f"{name}_first": round(float(mean[0]), 4), f"{name}_last": round(float(mean[-1]), 4)}
        row[name] = json.dumps([round(float(value), 4) for value in mean])
    return row


def save(table: Sequence[Row], folder: Path) -> None:
    """Put the rows into `theory.csv`, beside those already there."""
    rows.write(folder / "theory.csv", COLUMNS, table, KEY)


def correlations(table: Sequence[Row]) -> list[Row]:
    """Spearman's rank correlation of each bound with the gap and the test score, per dataset, GPCN over depth and γ."""
    from gpcn.theory.study import rank_correlation

    correlated = []
    for dataset in dict.fromkeys(row["dataset"] for row in table):
        measured = _gpcn_rows(table, dataset)
        if len(measured) < 3:
            continue
        numbers = {
            name: [float(row[name]) for row in measured]
            for name in ("printed", "corrected", "gap", "loss_gap", "test", "layers", "gamma", "energy_last")
        }
        row: Row = {"dataset": dataset, "points": len(measured)}
        for first in ("printed", "corrected", "layers", "gamma"):
            for second in ("gap", "loss_gap", "test", "energy_last"):
                row[f"{first}~{second}"] = round(rank_correlation(numbers[first], numbers[second]), 2)
        correlated.append(row)
    return correlated


def _gpcn_rows(table: Sequence[Row], dataset: str) -> list[Row]:
    """The rows of GPCN on `dataset` that have a bound."""
    return [row for row in table if (row["dataset"], row["model"]) == (dataset, "gpcn") and row["corrected"]]


def section(table: Sequence[Row]) -> str:
    """The section of the page, as Markdown."""
    if not table:
        return ""
    lines = [
        "GPCN over `L` ∈ {1, 2, 4, 8, 16} and `γ` ∈ {2^-8 … 2^2}, width 64, no dropout, splits 0 to 2. Rank "
        "correlation (Spearman) with the gap between training and test and with test accuracy:\n",
        "| dataset | points | bound ~ gap | bound ~ loss gap | bound ~ test | L ~ test | γ ~ test | bound ~ energy |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in correlations(table):
        names = ("corrected~gap", "corrected~loss_gap", "corrected~test", "layers~test", "gamma~test")
        cells = " | ".join(
            "–" if np.isnan(row[name]) else f"{row[name]:+.2f}" for name in (*names, "corrected~energy_last")
        )
        lines.append(f"| {row['dataset']} | {row['points']} | {cells} |")
    lines += ["", "GPCN-LINK with `L = 4`, `γ = 0.25` and `μ` held:\n"]
    lines += ["| dataset | μ | printed | corrected | largest term | train | test | gap |", "| --- |" + " ---: |" * 7]
    for row in table:
        if row["model"] == "gpcn-link" and row["corrected"]:
            values = [row["dataset"], row["mu"], f"{float(row['printed']):.3g}", f"{float(row['corrected']):.3g}"]
            values += [row["corrected_dominant"], *(f"{float(row[name]):.1f}" for name in ("train", "test", "gap"))]
            lines.append("| " + " | ".join(values) + " |")
    return "\n".join(lines) + "\n"


def draw_bound_against_gap(table: Sequence[Row], path: Path) -> None:
    """Bound against gap, a panel per dataset, and below it the Dirichlet energy of each layer."""
    datasets = list(dict.fromkeys(row["dataset"] for row in table))
    colours = dict(zip(LAYERS, ("#fde725", "#5ec962", "#21918c", "#3b528b", "#440154"), strict=True))
    with figure_at(path, 3.8 * len(datasets), 6.4) as figure:
        grid = figure.subplots(2, len(datasets), squeeze=False)
        for column, dataset in enumerate(datasets):
            measured = _gpcn_rows(table, dataset)
            above, below = grid[0][column], grid[1][column]
            for layers in LAYERS:
                of_depth = [row for row in measured if int(row["layers"]) == layers]
                if not of_depth:
                    continue
                bound, gap = ([float(row[name]) for row in of_depth] for name in ("corrected", "gap"))
                above.scatter(
                    bound, gap, s=22, color=colours[layers], edgecolors="#333333", linewidths=0.4, label=f"L = {layers}"
                )
            for gamma, style in ((2.0**-4, ":"), (2.0**-2, "--"), (1.0, "-")):
                deep = [row for row in measured if int(row["layers"]) == max(LAYERS) and float(row["gamma"]) == gamma]
                if deep:
                    below.plot(json.loads(deep[0]["energy"]), style, color="#3b528b", label=f"γ = {gamma:g}")
            above.set(xscale="log", xlabel="corrected bound / Q", title=dataset)
            below.set(xlabel="layer", ylim=(0, None))
        grid[0][0].set_ylabel("train minus test accuracy")
        grid[1][0].set_ylabel("Dirichlet energy, L = 16")
        for panels in grid:
            drawn = [panel for panel in panels if panel.get_legend_handles_labels()[0]]
            if drawn:
                drawn[-1].legend(frameon=False, fontsize=8)
