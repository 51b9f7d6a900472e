"""How loose is the bound? It stands beside what random signs can reach, where that can be computed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from gpcn.nn.zoo import FAMILY
from gpcn.paper import rows
from gpcn.paper.evaluations import Evaluations, Progress, Question, why_dataset_missing
from gpcn.paper.rows import Row
from gpcn.training.config import TrainConfig

DATASETS = ("texas", "cornell", "wisconsin")
SPLIT = 0
COLUMNS = ("dataset", "model", "printed", "corrected", "reached", "error", "draws", "seconds", "commit", "status")


def complexity_config(model: str) -> TrainConfig:
    """The settings of every model here: narrow, so that climbing is quick."""
    return TrainConfig.of(
        model, hidden=16, layers=2, mlp_layers=1, gamma=0.25, dropout=0.0, normalize_features=True, epochs=100
    )


def measure(datasets: Iterable[str], evaluations: Evaluations, *, progress: Progress | None = None) -> list[Row]:
    """A row per model and dataset, split 0; what is not there says so."""
    missing = {name: why_dataset_missing(name) for name in datasets}
    questions = [
        Question(name, complexity_config(model), SPLIT, "complexity")
        for name in missing
        if not missing[name]
        for model in FAMILY
    ]
    table: list[Row] = [
        {"dataset": name, "model": model, "status": why} for name, why in missing.items() if why for model in FAMILY
    ]
    for question, answer in zip(questions, evaluations.answer(questions, progress), strict=True):
        rounded = {name: float(f"{value:.6g}") if isinstance(value, float) else value for name, value in answer.items()}
        row = {"dataset": question.dataset, "model": question.config.model, "status": answer.get("failed", "")}
        table.append(row | rounded)
    return table


def save(table: Sequence[Row], folder: Path) -> None:
    """Put the rows into `complexity.csv`, beside those already there."""
    rows.write(folder / "complexity.csv", COLUMNS, table, ("dataset", "model"))


def section(table: Sequence[Row]) -> str:
    """The section of the page, as Markdown."""
    done = [row for row in table if row["reached"]]
    if not done:
        return ""
    lines = [
        "Complexity divided by `Q`, `L = 2`, `γ = 0.25`, one ReLU layer of width 16, the norms of the trained model, "
        f"split 0; reached is the mean over {done[0]['draws']} draws of signs, ± its standard error:\n",
        "| dataset | model | reached | corrected bound | times | printed bound (C' = 1) | times |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in done:
        reached, error, corrected, printed = (float(row[name]) for name in ("reached", "error", "corrected", "printed"))
        lines.append(
            f"| {row['dataset']} | {row['model']} | {reached:,.3g} ± {error:.2g} | {corrected:,.3g} | "
            f"{corrected / reached:.1f} | {printed:,.3g} | {printed / reached:,.0f} |"
        )
    return "\n".join(lines) + "\n"
