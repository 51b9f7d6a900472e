"""What a preset draws: tables of texts for this month and the next, and how they are written."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gpcn.core.atomic import replacing
from gpcn.core.types import IntVector

Table = dict[str, list[str]]


@dataclass(frozen=True, kw_only=True)
class Month:
    """A table of nodes and a table of edges, as a user would have them; all cells are texts, empty where missing."""

    nodes: Table
    edges: Table


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """This month's tables, next month's, and the true class of every node of the latter by its id."""

    now: Month
    next: Month
    truth: dict[str, str]


def write_preset_table(table: Table, path: Path) -> None:
    """Write a CSV file, whole or not at all."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(zip(*table.values(), strict=True))
    with replacing(path) as stream:
        stream.write(text.getvalue().encode())


def first_preset_rows(table: Table, count: int) -> Table:
    """The first rows of a table."""
    return {name: values[:count] for name, values in table.items()}


def select_preset_columns(table: Table, names: Sequence[str]) -> Table:
    """Some columns of a table, in this order."""
    return {name: table[name] for name in names}


def with_missing_cells(values: Sequence[str], count: int, rng: np.random.Generator) -> list[str]:
    """`values` with `count` of them missing."""
    missing = set(rng.permutation(len(values))[:count].tolist())
    return ["" if position in missing else value for position, value in enumerate(values)]


def draw_choices(
    words: Sequence[str], size: int, rng: np.random.Generator, p: Sequence[float] | None = None
) -> list[str]:
    """`size` of the `words`, with their probabilities."""
    shares = None if p is None else np.asarray(p) / np.sum(p)
    return [words[index] for index in rng.choice(len(words), size=size, p=shares)]


def draw_partners(classes: IntVector, wanted: IntVector, rng: np.random.Generator) -> IntVector:
    """For each entry of `wanted` a random node of that class."""
    members = np.argsort(classes, kind="stable")
    sizes = np.bincount(classes)
    starts = np.cumsum(sizes) - sizes
    return np.asarray(members[starts[wanted] + (rng.random(wanted.size) * sizes[wanted]).astype(np.int64)])


def date_texts(days: Sequence[float] | np.ndarray, start: str, unit: str) -> list[str]:
    """Days since `start` as texts of `unit`: `D` gives 2019-11-03, `m` and `s` add a time."""
    seconds = np.round(np.asarray(days, dtype=np.float64) * 86_400).astype("timedelta64[s]")
    return [str(moment) for moment in (np.datetime64(start, "s") + seconds).astype(f"datetime64[{unit}]")]
