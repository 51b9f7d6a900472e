"""Tables: rows of text that is shown and values that it is sorted by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Cell:
    """What is shown, and what it is sorted by where that is something else."""

    text: str
    sort: float | None = None


@dataclass(frozen=True)
class Table:
    """Columns and rows; `numeric` columns stand right and are sorted largest first."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    numeric: frozenset[str] = field(default_factory=frozenset)


def number_cell(value: float | None, digits: int = 3, sign: bool = False) -> Cell:
    """A number; undefined is a dash, and sorts last."""
    if value is None:
        return Cell("–")
    return Cell(signed_number(value, digits) if sign else f"{value:,.{digits}f}", float(value))


def signed_number(value: float, digits: int = 2) -> str:
    """A number with its sign; what rounds to nothing is not negative."""
    return f"{round(value, digits) + 0.0:+,.{digits}f}"


def mean_and_deviation(mean: float | None, deviation: float | None, digits: int = 2) -> str:
    """Mean ± standard deviation, in the digits that tables of the field have."""
    if mean is None:
        return "–"
    return f"{mean:.{digits}f}" if deviation is None else f"{mean:.{digits}f} ± {deviation:.{digits}f}"
