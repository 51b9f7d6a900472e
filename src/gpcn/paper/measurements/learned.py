"""What is learned besides weights: the mix `μ` of every LINK recipe, the coefficients `θ` of every adaptive one.

They belong to the recipe that validation prefers, splits 0 to 2, and stand beside the values learning starts from.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from gpcn.nn import zoo
from gpcn.nn.engine.randomness import drawing_from
from gpcn.paper import rows
from gpcn.paper.evaluations import Evaluations, Progress, Question, answer_groups, why_dataset_missing
from gpcn.paper.reference.recipes import Recipe, preferred_recipe
from gpcn.paper.rows import Row
from gpcn.training.config import TrainConfig

METHODS = ("gpcn-link", "agpcn", "agpcn-link")
SPLITS = (0, 1, 2)
COLUMNS = (
    "dataset",
    "method",
    "recipe",
    "mu_start",
    "mu",
    "mu_std",
    "theta_start",
    "theta",
    "splits",
    "seconds",
    "commit",
    "status",
)
KEY = ("dataset", "method")


def measure(
    datasets: Iterable[str],
    methods: Sequence[str],
    evaluations: Evaluations,
    *,
    splits: Sequence[int] = SPLITS,
    progress: Progress | None = None,
) -> list[Row]:
    """A row per dataset and method that has a recipe; a dataset that is not there is a row that says so."""
    missing = {dataset: why_dataset_missing(dataset) for dataset in datasets}
    cells = [
        (dataset, recipe)
        for dataset in missing
        for method in methods
        if (recipe := preferred_recipe(method, dataset)) is not None
    ]
    questions = [
        [Question(dataset, recipe.config(), split) for split in splits if not missing[dataset]]
        for dataset, recipe in cells
    ]
    return [
        _row(dataset, recipe, answers, missing[dataset])
        for (dataset, recipe), answers in zip(cells, answer_groups(evaluations, questions, progress), strict=True)
    ]


def _row(dataset: str, recipe: Recipe, answers: Sequence[Row], missing: str) -> Row:
    row: Row = {"dataset": dataset, "method": recipe.model, "recipe": recipe.origin, "splits": len(answers)}
    failed = [answer["failed"] for answer in answers if "failed" in answer]
    if missing or failed:
        return {**row, "status": missing or failed[0]}
    config = recipe.config()
    if "mu" in config.hyperparameters:
        mixes = [answer["mix"] for answer in answers]
        row |= {"mu_start": config["mu"], "mu": round(float(np.mean(mixes)), 4)}
        row |= {"mu_std": round(float(np.std(mixes)), 4)}
    if "adaptive" in config.hyperparameters:
        learned = np.mean([answer["coefficients"] for answer in answers], axis=0)
        row |= {"theta_start": _as_json(starting_coefficients(config)), "theta": _as_json(learned)}
    seconds = round(sum(answer["seconds"] for answer in answers), 1)
    return row | {"seconds": seconds, "commit": rows.commits_of_answers(answers)}


def starting_coefficients(config: TrainConfig) -> list[float]:
    """`θ` of the untrained model."""
    options: dict[str, Any] = {**config.hyperparameters, "hidden": 1}
    with drawing_from(torch.Generator()):
        coefficients = zoo.build(config.model, in_channels=1, out_channels=2, num_nodes=1, **options).coefficients()
    return [] if coefficients is None else [float(value) for value in coefficients]


def _as_json(values: Iterable[float]) -> str:
    return json.dumps([float(f"{value:.4g}") for value in values])


def save(table: Sequence[Row], folder: Path) -> None:
    """Put the rows into `learned.csv`, beside those already there."""
    rows.write(folder / "learned.csv", COLUMNS, table, KEY)


def section(table: Sequence[Row]) -> str:
    """The section of the page, as Markdown."""
    done = [row for row in table if row["mu"] or row["theta"]]
    if not done:
        return ""
    lines = [
        "`μ` is the share of convolution, `1 - μ` that of direct learning from links; `θ_k` weighs the `k`-th power of "
        "the adjacency. The recipe that validation prefers, mean over splits 0 to 2 (μ ± std), each beside where "
        "learning starts.\n",
        "| dataset | model | μ, start | μ, learned | θ, start | θ, learned |",
        "| --- | --- | ---: | ---: | --- | --- |",
    ]
    for row in done:
        mix = f"{float(row['mu']):.3f} ± {float(row['mu_std']):.3f}" if row["mu"] else "–"
        start = f"{float(row['mu_start']):g}" if row["mu"] else "–"
        thetas = [_as_text(row[name]) if row[name] else "–" for name in ("theta_start", "theta")]
        lines.append(f"| {row['dataset']} | {row['method']} | {start} | {mix} | {thetas[0]} | {thetas[1]} |")
    return "\n".join(lines) + "\n"


def _as_text(values: str) -> str:
    return ", ".join(f"{value:.3g}" for value in json.loads(values))
