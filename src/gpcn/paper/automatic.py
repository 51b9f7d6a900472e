"""`auto` beside what was tuned for each dataset: `auto.csv` of `benchmarks/auto.py`, split by split."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from gpcn.paper import rows
from gpcn.paper.published import FAMILY
from gpcn.paper.recipes import validation
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
FORMER_COLUMNS = (
    "dataset",
    "split",
    "test",
    "val",
    "chosen",
    "model",
    "configurations",
    "seconds",
    "budget",
    "commit",
)
DEFAULTS = ("dataset", "model", "splits", "test", "val", "std", "seconds", "commit")
KEY = ("dataset", "split")


def read_table(path: Path) -> list[Row]:
    """`auto.csv`, also as it was before intervals were measured."""
    former = path.exists() and path.read_text().startswith(",".join(FORMER_COLUMNS))
    return rows.read(path, FORMER_COLUMNS if former else COLUMNS)


def coverage(automatic: Sequence[Row]) -> tuple[int, int]:
    """In how many of how many runs the expected interval contains the test score."""
    known = [row for row in automatic if row.get("expected_low") and row.get("expected_high")]
    hits = [float(row["expected_low"]) <= float(row["test"]) <= float(row["expected_high"]) for row in known]
    return sum(hits), len(known)


def comparison(automatic: Sequence[Row], table: Sequence[Row], splits: Sequence[Row]) -> list[dict[str, Any]]:
    """Per dataset: the mean of `auto`, and of the tuned rows of the family on the very same splits.

    `tuned` is the row of the family whose recipe has the best validation score, `highest` the one with the best test
    score on these splits, which nobody can choose. `std` is that of the row over all its splits.
    """
    found = []
    for dataset in dict.fromkeys(row["dataset"] for row in automatic):
        mine = [row for row in automatic if row["dataset"] == dataset]
        numbers = {row["split"] for row in mine}
        tuned: list[dict[str, Any]] = []
        for method, row in product(FAMILY, table):
            if (row["dataset"], row["method"]) != (dataset, method) or not row["mean"]:
                continue
            same = [
                each
                for each in splits
                if (each["dataset"], each["method"], each["recipe"]) == (dataset, method, row["recipe"])
                and each["split"] in numbers
            ]
            if {each["split"] for each in same} == numbers:
                test = float(np.mean([float(each["test"]) for each in same]))
                known = {"method": method, "test": test, "std": float(row["std"])}
                tuned.append(known | {"validation": validation(row)})
        if not tuned:
            continue
        best, highest = (max(tuned, key=lambda each: each[name]) for name in ("validation", "test"))
        test = float(np.mean([float(row["test"]) for row in mine]))
        found.append(
            {
                "dataset": dataset,
                "splits": sorted(int(number) for number in numbers),
                "auto": test,
                "chosen": [row["chosen"] for row in mine],
                "tuned": best,
                "highest": highest,
                "within": test >= best["test"] - best["std"],
                "within_highest": test >= highest["test"] - highest["std"],
            }
        )
    return found


def section(automatic: Sequence[Row], table: Sequence[Row], splits: Sequence[Row]) -> str:
    """The comparison, as Markdown."""
    found = comparison(automatic, table, splits)
    if not found:
        return ""
    budgets = sorted({row["budget"] for row in automatic})
    commits = sorted({row["commit"] for row in automatic})
    seconds = np.mean([float(row["seconds"]) for row in automatic])
    lines = [
        "## Without any hyperparameter: `auto`\n",
        f"`gpcn train DATASET --model auto --budget {' or '.join(budgets)}` on two cores, run by itself on each split "
        f"(it took {seconds:.0f} seconds on average), test score; beside it, on the same splits, the tuned row of the "
        "family that validation chooses, and the one with the best test score, which nobody can choose. The std is "
        "that of the tuned row over all its splits. Every run is in `auto.csv`. The settings that `auto` begins with "
        "were put together from what was found on validation nodes of these same graphs; on another graph it may "
        "need longer.\n",
        "| dataset | splits | auto | tuned | difference | within one std | highest | within one std | chosen |",
        "| --- | --- | ---: | --- | ---: | --- | --- | --- | --- |",
    ]
    for row in found:
        tuned, highest = row["tuned"], row["highest"]
        cells = [row["dataset"], ", ".join(map(str, row["splits"])), f"{row['auto']:.2f}"]
        cells += [f"{tuned['method']} {tuned['test']:.2f} ± {tuned['std']:.2f}", f"{row['auto'] - tuned['test']:+.2f}"]
        cells += [
            "yes" if row["within"] else "**no**",
            f"{highest['method']} {highest['test']:.2f} ± {highest['std']:.2f}",
        ]
        cells += ["yes" if row["within_highest"] else "**no**", "; ".join(row["chosen"])]
        lines.append("| " + " | ".join(cells) + " |")
    count = sum(row["within"] for row in found)
    hits, runs = coverage(automatic)
    if runs:
        lines.append(f"\nThe interval that `auto` expects contains the test score in {hits} of {runs} runs.")
    lines.append(
        f"\nWithin one std or better on {count} of {len(found)}; against the highest on "
        f"{sum(row['within_highest'] for row in found)} of {len(found)}. At commit {', '.join(commits)}.\n"
    )
    return "\n".join(lines)
