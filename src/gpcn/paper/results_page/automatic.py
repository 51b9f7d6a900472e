"""`auto` beside defaults, what was tuned for each dataset, and the paper: tables of `benchmarks/auto.py`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from gpcn.nn.zoo import FAMILY
from gpcn.paper.reference import published
from gpcn.paper.reference.recipes import recipe_validation_score
from gpcn.paper.rows import Row

COLUMNS = (
    "dataset",
    "split",
    "budget",
    "test",
    "val",
    "expected_low",
    "expected_high",
    "chosen",
    "tried",
    "seconds",
    "commit",
)
DEFAULTS = ("dataset", "model", "split", "test", "val", "seconds", "commit")
KEY, DEFAULTS_KEY = ("dataset", "split"), ("dataset", "model", "split")
TABLE, DEFAULTS_TABLE = "auto.csv", "auto-defaults.csv"
INTRODUCTION = """## Without any hyperparameter: `auto`

`gpcn auto DATASET --budget 5m --jobs 1`, run by itself on each split with one core (`benchmarks/auto.py`): the mean
test score, the interval that it expected from judged nodes alone, and what it chose. What it tries first was put in
order without the graph and its kin (`benchmarks/portfolio.py`), of entries that people wrote down knowing these
benchmarks. Beside it, on the same splits unless it says so: the model of `gpcn compare` with default settings that has
the highest test score, which nobody can choose before; the row of the family with settings searched for this dataset
that validation prefers; and the best row of any method that the paper prints, which is over all splits. Every run is in
`auto.csv`.
"""
HEADER = (
    "| dataset | splits | auto | expected | best default | family, tuned | best in the paper | chosen |",
    "| --- | --- | ---: | --- | --- | --- | --- | --- |",
)


@dataclass(frozen=True)
class ScoredMethod:
    """A method with its mean test score and deviation over some splits."""

    method: str
    test: float
    std: float


@dataclass(frozen=True)
class BestDefault(ScoredMethod):
    """The best model with default settings on `splits`, where `auto` has the mean `auto`."""

    splits: list[int]
    auto: float


@dataclass(frozen=True)
class ComparedAuto:
    """`auto` on one dataset, and what was measured beside it.

    Args:
        auto: its mean over `splits`, from the rows `runs`.
        default: the model with default settings that has the highest test score, which nobody can choose before.
        tuned: the row of the family, with settings searched for this dataset, that has the best validation score.
        published: the best row of any method that the paper prints, which is over all splits.
    """

    dataset: str
    splits: list[int]
    auto: float
    runs: list[Row]
    default: BestDefault | None
    tuned: ScoredMethod | None
    published: tuple[str, published.Score] | None


def auto_results_coverage(automatic: Sequence[Row]) -> tuple[int, int]:
    """In how many of how many runs the expected interval contains the test score."""
    return sum(_covered(row) for row in automatic), len(automatic)


def _covered(row: Row) -> bool:
    return float(row["expected_low"]) <= float(row["test"]) <= float(row["expected_high"])


def auto_results_comparison(
    automatic: Sequence[Row], defaults: Sequence[Row], table: Sequence[Row], splits: Sequence[Row]
) -> list[ComparedAuto]:
    """Return per dataset the mean of `auto` over its splits, and beside it what was measured on these splits."""
    compared = []
    for dataset in dict.fromkeys(row["dataset"] for row in automatic):
        runs = [row for row in automatic if row["dataset"] == dataset]
        numbers = sorted({row["split"] for row in runs}, key=int)
        compared.append(
            ComparedAuto(
                dataset,
                [int(number) for number in numbers],
                float(np.mean([float(row["test"]) for row in runs])),
                runs,
                _best_default(defaults, dataset, runs),
                _tuned_family(table, splits, dataset, numbers),
                published.best_published(dataset),
            )
        )
    return compared


def _best_default(defaults: Sequence[Row], dataset: str, runs: Sequence[Row]) -> BestDefault | None:
    """On the splits of `runs` on which defaults were measured; `auto` is the mean of the runs there."""
    automatic = {row["split"]: float(row["test"]) for row in runs}
    tests: dict[str, dict[str, float]] = {}
    for row in defaults:
        if row["dataset"] == dataset and row["split"] in automatic and row["test"]:
            tests.setdefault(row["model"], {})[row["split"]] = float(row["test"])
    if not tests:
        return None
    numbers = sorted(set.union(*(set(scores) for scores in tests.values())), key=int)
    complete = {model: list(scores.values()) for model, scores in tests.items() if len(scores) == len(numbers)}
    if not complete:
        return None
    best = max(complete, key=lambda model: np.mean(complete[model]))
    spread = np.std(complete[best], ddof=1) if len(numbers) > 1 else 0.0
    mean = float(np.mean([automatic[number] for number in numbers]))
    return BestDefault(best, float(np.mean(complete[best])), float(spread), list(map(int, numbers)), mean)


def _tuned_family(
    table: Sequence[Row], splits: Sequence[Row], dataset: str, numbers: Sequence[str]
) -> ScoredMethod | None:
    tuned: list[tuple[float, ScoredMethod]] = []
    for method, row in product(FAMILY, table):
        if (row["dataset"], row["method"]) != (dataset, method) or not row["mean"]:
            continue
        key = dataset, method, row["recipe"]
        tests = {
            split["split"]: float(split["test"])
            for split in splits
            if (split["dataset"], split["method"], split["recipe"]) == key and split["split"] in numbers
        }
        if sorted(tests, key=int) == list(numbers):
            mean = float(np.mean(list(tests.values())))
            tuned.append((recipe_validation_score(row), ScoredMethod(method, mean, float(row["std"]))))
    return max(tuned, key=lambda pair: pair[0])[1] if tuned else None


def auto_reaches_default(row: ComparedAuto) -> bool | None:
    """Whether `auto` is at or above the best default minus half its std, on the splits of both."""
    best = row.default
    return None if best is None else best.auto >= best.test - best.std / 2


def auto_reaches_published(row: ComparedAuto) -> bool | None:
    """Whether `auto` is at or above the paper's best row of any method."""
    return None if row.published is None else row.auto >= row.published[1].mean


def auto_results_section(
    automatic: Sequence[Row], defaults: Sequence[Row], table: Sequence[Row], splits: Sequence[Row]
) -> str:
    """The comparison, as Markdown."""
    compared = auto_results_comparison(automatic, defaults, table, splits)
    if not compared:
        return ""
    lines = [INTRODUCTION, *HEADER]
    for row in compared:
        intervals = "; ".join(map(_interval, row.runs))
        cells = [row.dataset, ", ".join(map(str, row.splits)), f"{row.auto:.2f}", intervals]
        cells += [_default_cell(row), _score_cell(row.tuned)]
        best = row.published
        cells += ["–" if best is None else f"{best[0]} {best[1].mean:.2f} ± {best[1].std:.2f}"]
        cells += ["; ".join(run["chosen"] for run in row.runs)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join([*lines, "", _summary(compared, automatic), ""])


def _summary(compared: Sequence[ComparedAuto], automatic: Sequence[Row]) -> str:
    parts = []
    for text, reaches in (
        ("at or above the best default model minus half its std", auto_reaches_default),
        ("at or above the best row of any method in the paper", auto_reaches_published),
    ):
        decided = [(row.dataset, reaches(row)) for row in compared if reaches(row) is not None]
        below = [dataset for dataset, reached in decided if not reached]
        if decided:
            names = f" (not on {', '.join(below)})" if below else ""
            parts.append(f"{text} on {len(decided) - len(below)} of {len(decided)}{names}")
    hits, runs = auto_results_coverage(automatic)
    parts.append(f"the interval that it expects contains the test score in {hits} of {runs} runs")
    commits = sorted({row["commit"] for row in automatic})
    return f"`auto` is {'; '.join(parts)}. At commit {', '.join(commits)}."


def _interval(run: Row) -> str:
    text = f"{float(run['expected_low']):.1f} to {float(run['expected_high']):.1f}"
    return text if _covered(run) else f"{text} (missed)"


def _default_cell(row: ComparedAuto) -> str:
    """The best default, and where it was measured if that is not where `auto` was."""
    best = row.default
    if best is None or best.splits == row.splits:
        return _score_cell(best)
    where = ", ".join(map(str, best.splits))
    return f"{_score_cell(best)} (split {where}; auto {best.auto:.2f})"


def _score_cell(row: ScoredMethod | None) -> str:
    if row is None:
        return "–"
    spread = f" ± {row.std:.2f}" if row.std else ""  # one split has none
    return f"{row.method} {row.test:.2f}{spread}"
