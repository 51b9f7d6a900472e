"""Beyond the paper: banks of operators, blocks, and what practitioners pick instead, on fourteen graphs.

Every method has a search of its own (`searches.baseline_search`); validation nodes alone decide. The family stands
beside them with its best row by validation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from gpcn.nn.zoo import FAMILY
from gpcn.paper import rows
from gpcn.paper.measurements.reproduction import KEY, Cell, Measured, recipe_cells
from gpcn.paper.reference.published import DATASETS as OF_THE_PAPER
from gpcn.paper.reference.recipes import recipe_validation_score
from gpcn.paper.rows import Row
from gpcn.paper.searches.baseline_search import DEEP_MODELS

NEW = ("multi-gpcn", "multi-gpcn-link", "deep-gpcn")
METHODS = (*NEW, "trees", "deep-gcn", "deep-sage", "link", *FAMILY)
DATASETS = (
    "chameleon",
    "squirrel",
    "chameleon-filtered",
    "squirrel-filtered",
    "film",
    "cornell",
    "texas",
    "wisconsin",
    "cora",
    "citeseer",
    "twitch-de",
    "minesweeper",
    "tolokers",
    "reed98",
)
SLOW_GRAPHS = ("minesweeper", "tolokers", "film")
FIRST_SPLITS = 3
"""How many splits the deep models are trained on where a training of theirs takes minutes."""
INTRODUCTION = """Boosted trees, residual GCN and SAGE are what practitioners pick instead. Settings were searched on
validation nodes alone (`gpcn reproduce recipes`), with one budget for all but the slow ones: below
1,000 nodes 15 configurations on two splits, the best three compared on five; up to 5,000 nodes 12
on one split, the best two on three; above, 10 of width 64 (`multi-gpcn` on film 28, after ten and 27 had
ended more than a deviation below the family, which had 48; the last start was AGPCN's settings).
Blocks, deep networks and trees from 1,000 nodes on: four configurations on one split (trees on
chameleon were searched like the others).
LINK and the family on the paper's graphs are the rows above, from larger searches. Mean ± std over
the official splits (deep models on film, minesweeper and tolokers: the first three); minesweeper,
tolokers and twitch-de: ROC-AUC. Bold: the best by validation score, of all columns. A dash: not
measured.
"""
TABLE, SPLITS = "operators.csv", "operators-splits.csv"


def methods_on_dataset(dataset: str) -> tuple[str, ...]:
    """What is trained there: LINK and the family have rows of their own on the paper's graphs."""
    measured = (*FAMILY, "link") if dataset in OF_THE_PAPER else ()
    return tuple(method for method in METHODS if method not in measured)


def trained_cells(datasets: Sequence[str], methods: Sequence[str]) -> list[Cell]:
    """The cells that are trained, by the recipes of ours."""
    chosen = [(dataset, [name for name in methods_on_dataset(dataset) if name in methods]) for dataset in datasets]
    return [_shortened(cell) for dataset, names in chosen for cell in recipe_cells((dataset,), names, ("ours",))]


def _shortened(cell: Cell) -> Cell:
    slow = cell.dataset in SLOW_GRAPHS and cell.method in DEEP_MODELS
    return replace(cell, most_splits=FIRST_SPLITS) if slow else cell


def save(measured: Measured, folder: Path) -> None:
    """Put the rows into `operators.csv`; LINK and the family on the paper's graphs are those of `reproduction.csv`."""
    table = rows.read(folder / "reproduction.csv", rows.REPRODUCTION)
    reproduced = [row for dataset in DATASETS for row in _reproduced(table, dataset)]
    rows.write(folder / TABLE, rows.REPRODUCTION, [*reproduced, *measured.table], KEY)
    rows.write(folder / SPLITS, rows.SPLITS, measured.splits, (*KEY, "split"))


def _reproduced(table: Sequence[Row], dataset: str) -> list[Row]:
    chosen = [row for row in table if row["dataset"] == dataset and row["chosen"] and row["mean"]]
    family = [row for row in chosen if row["method"] in FAMILY]
    best = [max(family, key=recipe_validation_score)] if family else []
    return best + [row for row in chosen if row["method"] == "link"]


def best_of_family(table: Sequence[Row], dataset: str) -> Row | None:
    """The family's best by validation on that graph."""
    family = [row for row in table if row["dataset"] == dataset and row["method"] in FAMILY and row["mean"]]
    return max(family, key=recipe_validation_score, default=None)


def section(table: Sequence[Row]) -> str:
    """The section of the page, as Markdown: a row per graph, a column per method."""
    shown = (*NEW, "trees", "deep-gcn", "deep-sage", "link")
    lines = [
        INTRODUCTION,
        "| graph | best of the family | " + " | ".join(shown) + " |",
        "| --- | ---: |" + " ---: |" * len(shown),
    ]
    for dataset in DATASETS:
        family = best_of_family(table, dataset)
        cells = [family, *(_row(table, dataset, method) for method in shown)]
        measured = [row for row in cells if row is not None and row["mean"]]
        if not any(row["method"] in NEW for row in measured):
            continue
        best = max(measured, key=recipe_validation_score)
        text = [_cell(row, row is best) for row in cells]
        if family is not None:
            text[0] += f"<br>{family['method']}"
        lines.append(f"| {dataset} | " + " | ".join(text) + " |")
    return "\n".join(lines) + "\n" if len(lines) > 3 else ""


def _row(table: Sequence[Row], dataset: str, method: str) -> Row | None:
    return next((row for row in table if row["dataset"] == dataset and row["method"] == method), None)


def _cell(row: Row | None, best: bool) -> str:
    if row is None or not row["mean"]:
        return "–"
    text = f"{float(row['mean']):.2f} ± {float(row['std']):.2f}"
    return f"**{text}**" if best else text
