"""The paper's two ablation figures: γ, depth and dropout varied one at a time around each model's recipe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpcn.errors import ConfigError
from gpcn.nn import zoo
from gpcn.nn.hyperparameters import Value
from gpcn.paper import rows
from gpcn.paper.evaluations import Evaluations, Progress, Question
from gpcn.paper.published import FAMILY
from gpcn.paper.recipes import Origin, recipe
from gpcn.paper.rows import Row
from gpcn.training.config import TrainConfig

FIGURES = {"figure-1": "chameleon", "figure-2": "squirrel"}
METHODS = (*FAMILY, "gprgnn")
SWEEPS: dict[str, tuple[Value, ...]] = {
    "gamma": tuple(2.0**-power for power in (0, 2, 4, 6, 8)),
    "layers": (1, 2, 4, 8, 16),
    "dropout": (0.0, 0.3, 0.6, 0.9),
}
"""As the paper gives them. For the adaptive models γ is where learning starts; GPRGNN has none."""
KEY = ("dataset", "method", "setting", "value")
SPLITS = (0, 1, 2)


@dataclass(frozen=True)
class Point:
    """One value of one setting for one method."""

    method: str
    setting: str
    value: Value
    config: TrainConfig


def points(dataset: str, methods: Sequence[str] = METHODS, origin: Origin = "paper", seed: int = 0) -> list[Point]:
    """Every point of the figure of `dataset`."""
    found = []
    for method in methods:
        base = recipe(method, dataset, origin) or recipe(method, dataset, "ours")
        if base is None:
            raise ConfigError(f"there is no recipe for {method} on {dataset}")
        own = {each.name for each in zoo.entry(method).hyperparameters}
        for setting, values in SWEEPS.items():
            if setting in own:
                found += [Point(method, setting, value, base.config(seed=seed, **{setting: value})) for value in values]
    return found


def measure(
    dataset: str,
    wanted: Sequence[Point],
    evaluations: Evaluations,
    *,
    splits: Sequence[int] = SPLITS,
    progress: Progress | None = None,
) -> list[Row]:
    """A row per point. A training that diverges is a row that says so."""
    asked = [[Question(dataset, point.config, split) for split in splits] for point in wanted]
    evaluations.answer((question for questions in asked for question in questions), progress)
    table = []
    for point, questions in zip(wanted, asked, strict=True):
        told: dict[str, Any] = rows.summarize(evaluations.answer(questions))
        same = {"dataset": dataset, "method": point.method, "setting": point.setting, "value": point.value}
        table.append({**same, **told, "splits": len(questions)})
    return table


def save(table: list[Row], folder: Path) -> list[Row]:
    """Into `ablation.csv`, beside what is already there; the rows given."""
    rows.write(folder / "ablation.csv", rows.ABLATION, table, KEY)
    return table
