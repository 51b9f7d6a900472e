"""The paper's tables measured again: which cells there are, and what came out of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpcn.core.errors import ConfigError, near_matches
from gpcn.paper import rows
from gpcn.paper.evaluations import Evaluations, Progress, Question, answer_groups, load_once, why_dataset_missing
from gpcn.paper.reference import published
from gpcn.paper.reference.recipes import ORIGINS, Origin, Recipe, preferred_recipe, recipe
from gpcn.paper.rows import Row

KEY = ("dataset", "method", "recipe")


@dataclass(frozen=True)
class Cell:
    """One method on one dataset by one recipe, on no more than the first `most_splits` where its epochs take long."""

    dataset: str
    method: str
    recipe: Recipe
    most_splits: int | None = None


@dataclass(frozen=True)
class Measured:
    """Rows of the table, and the values of every split beside them."""

    table: list[Row]
    splits: list[Row]

    def save(self, folder: Path) -> None:
        """Put the rows into `reproduction.csv` and `splits.csv`, beside those already there."""
        rows.write(folder / "reproduction.csv", rows.REPRODUCTION, self.table, KEY)
        rows.write(folder / "splits.csv", rows.SPLITS, self.splits, (*KEY, "split"))


def choose_names(names: str | None, among: Sequence[str], what: str, *, strict: bool = True) -> tuple[str, ...]:
    """`a,b` as names of `among`, all of them where nothing is said; unless `strict`, other names are passed over."""
    if names is None:
        return tuple(among)
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    for name in wanted:
        if strict and name not in among:
            raise ConfigError(f"{name!r} is no {what} of this table; {near_matches(name, among)}")
    if not wanted:
        raise ConfigError(f"no {what} is named; expected names such as {among[0]}")
    return tuple(name for name in among if name in wanted)


def recipe_cells(datasets: Iterable[str], methods: Iterable[str], origins: Iterable[Origin] = ORIGINS) -> list[Cell]:
    """All cells that have a recipe."""
    methods, origins = tuple(methods), tuple(origins)
    return [
        Cell(dataset, method, chosen)
        for dataset in datasets
        for method in methods
        for origin in origins
        if (chosen := recipe(method, dataset, origin)) is not None
    ]


def measure(
    cells: Sequence[Cell],
    evaluations: Evaluations,
    *,
    splits: Sequence[int] | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Measured:
    """Train every cell on `splits` (default: all official ones); a dataset that is not there becomes rows saying so."""
    missing: dict[str, str] = {}
    numbers: dict[str, list[int]] = {}
    for dataset in dict.fromkeys(cell.dataset for cell in cells):
        if why := why_dataset_missing(dataset):
            missing[dataset] = why
            continue
        count = len(load_once(dataset).splits)
        numbers[dataset] = list(range(count)) if splits is None else sorted(set(splits))
        if max(numbers[dataset]) >= count:
            raise ConfigError(f"there is no split {max(numbers[dataset])}; {dataset} has splits 0 to {count - 1}")
    questions = [
        [
            Question(cell.dataset, cell.recipe.config(seed=seed), split)
            for split in numbers.get(cell.dataset, [])[: cell.most_splits]
        ]
        for cell in cells
    ]
    groups = answer_groups(evaluations, questions, progress)
    table, split_rows = [], []
    for cell, cell_questions, answers in zip(cells, questions, groups, strict=True):
        row = _row(cell)
        if cell.dataset in missing:
            table.append({**row, "splits": 0, "status": missing[cell.dataset]})
            continue
        table.append({**row, **rows.summarize(answers), "splits": len(answers), "seeds": seed})
        for question, answer in zip(cell_questions, answers, strict=True):
            split_rows.append({**{key: row[key] for key in KEY}, "split": question.split, "seed": seed, **answer})
    return Measured(table, split_rows)


def _row(cell: Cell) -> Row:
    printed = published.published_score(cell.dataset, cell.method)
    return {
        "dataset": cell.dataset,
        "method": cell.method,
        "recipe": cell.recipe.origin,
        "paper_mean": None if printed is None else printed.mean,
        "paper_std": None if printed is None else printed.std,
        "chosen": "yes" if cell.recipe == preferred_recipe(cell.method, cell.dataset) else "",
        "settings": json.dumps(dict(cell.recipe.settings)),
    }
