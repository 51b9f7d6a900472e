"""One setting varied at a time around each model's recipe: the paper's two figures, and what the paper leaves open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpcn.core.errors import ConfigError
from gpcn.nn.zoo import FAMILY
from gpcn.nn.zoo.hyperparameters import Value
from gpcn.paper import rows
from gpcn.paper.evaluations import Evaluations, Progress, Question, answer_groups, why_dataset_missing
from gpcn.paper.reference.recipes import Origin, preferred_recipe, recipe
from gpcn.paper.rows import Row
from gpcn.training.config import TrainConfig, declared_settings

FIGURES = {"figure-1": "chameleon", "figure-2": "squirrel"}
METHODS = (*FAMILY, "gprgnn")
SWEEPS: dict[str, tuple[Value, ...]] = {
    "gamma": tuple(2.0**-power for power in (0, 2, 4, 6, 8)),
    "layers": (1, 2, 4, 8, 16),
    "dropout": (0.0, 0.3, 0.6, 0.9),
}
"""As the paper gives them. For the adaptive models γ is where learning starts; GPRGNN has none."""
VARIANTS: dict[str, tuple[Value, ...]] = {
    "select": ("loss", "metric"),
    "normalize_features": (False, True),
    "direction": ("out", "both"),
    "bias": (False, True),
    "dropout_mode": ("collapsible", "residual"),
    "coefficients": ("binomial", "printed"),
    "adaptive": ("theta", "relative", "scales"),
    "gamma": (1.0, 0.25, 0.0625),
}
"""Where paper, tables and code disagree or say nothing."""
SPLITS = (0, 1, 2)
LENGTH: dict[str, Value] = {"epochs": 150, "patience": 30}
KEY = ("dataset", "method", "setting", "value")


@dataclass(frozen=True)
class Study:
    """What is varied, for whom, on what, around which recipe (where `None`: the one validation prefers), and into what
    table it goes."""

    dataset: str
    sweeps: Mapping[str, tuple[Value, ...]]
    file: str
    methods: tuple[str, ...] = METHODS
    origin: Origin | None = None


STUDIES: dict[str, tuple[Study, ...]] = {
    **{name: (Study(dataset, SWEEPS, "ablation.csv"),) for name, dataset in FIGURES.items()},
    "variants": (
        *(Study(dataset, VARIANTS, "variants.csv", ("gpcn", "agpcn"), "paper") for dataset in ("texas", "wisconsin")),
        Study("squirrel", {"adaptive": VARIANTS["adaptive"]}, "variants.csv", ("agpcn",)),
    ),
}


@dataclass(frozen=True)
class Point:
    """One value of one setting for one method."""

    method: str
    setting: str
    value: Value
    config: TrainConfig


def points(study: Study, methods: Sequence[str] | None = None, origin: Origin | None = None) -> list[Point]:
    """Every value of every setting of `study` that a method has."""
    listed = []
    for method in study.methods if methods is None else methods:
        source = origin or study.origin
        base = (recipe(method, study.dataset, source) if source else None) or preferred_recipe(method, study.dataset)
        if base is None:
            raise ConfigError(f"there is no recipe for {method} on {study.dataset}")
        names = declared_settings(method)
        for setting in (name for name in study.sweeps if name in names):
            listed += [
                Point(method, setting, value, base.config({**LENGTH, setting: value}))
                for value in study.sweeps[setting]
            ]
    return listed


def studies(what: str) -> tuple[Study, ...]:
    """The studies of a figure, of the variants, or of `all`."""
    return tuple(study for name, group in STUDIES.items() for study in group if what in (name, "all"))


def measure(
    study: Study,
    points: Sequence[Point],
    evaluations: Evaluations,
    *,
    splits: Sequence[int] = SPLITS,
    progress: Progress | None = None,
) -> list[Row]:
    """A row per point. A training that diverges, or a dataset that is not there, is a row that says so."""
    missing = why_dataset_missing(study.dataset)
    questions = [[Question(study.dataset, point.config, split) for split in splits if not missing] for point in points]
    table = []
    for point, answers in zip(points, answer_groups(evaluations, questions, progress), strict=True):
        summary = rows.summarize(answers)
        summary["status"] = missing or summary["status"]
        key = {"dataset": study.dataset, "method": point.method, "setting": point.setting, "value": point.value}
        table.append({**key, **summary, "splits": len(answers)})
    return table


def save(study: Study, table: Sequence[Row], folder: Path) -> None:
    """Put the rows into the study's table in `folder`, beside those already there."""
    rows.write(folder / study.file, rows.ABLATION, table, KEY)
