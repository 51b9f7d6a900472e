"""The type of a column of a text file: numbers where all its cells are numbers, text otherwise.

Arrow reads every cell of a CSV as text; the whole column decides what it is, never its first rows. Tables in memory and
tables that are streamed share this rule, so that both give the same graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from gpcn.preparation import values

SAMPLE = 1_000  # cells that tell most columns of words without a look at all


def typed_cells(cells: Any) -> Any:
    """Return a column of texts as numbers where all are numbers and they are no codes (`003`), else as it is."""
    numbers = _as_numbers(cells)
    return cells if numbers is None or values.is_code_column(cells) else numbers


@dataclass(frozen=True)
class CellForm:
    """The form of a column that comes in batches: all numbers, all digits alone, some padded with zeros (`003`)."""

    numbers: bool = True
    digits: bool = True
    padded: bool = False

    @classmethod
    def of(cls, cells: Any) -> CellForm:
        """Return the form of one batch of texts."""
        if _as_numbers(cells) is None:
            return cls(numbers=False)
        return cls(digits=values.are_all_digits(cells), padded=values.is_any_padded(cells))

    def joined_with(self, batch: CellForm) -> CellForm:
        """Return the form of this and one more batch."""
        return CellForm(self.numbers and batch.numbers, self.digits and batch.digits, self.padded or batch.padded)

    def typed(self, cells: Any) -> Any:
        """Return one batch of texts as `typed_cells` of the whole column would."""
        return _as_numbers(cells) if self.numbers and not (self.digits and self.padded) else cells


def _as_numbers(cells: Any) -> Any | None:
    """Texts as numbers, missing ones null; `None` where one is no number."""
    try:
        return cells.cast(pa.float64())
    except pa.ArrowException:
        pass
    if values.column_numbers(cells.slice(0, SAMPLE)) is None:
        return None
    numbers = values.column_numbers(cells)
    return None if numbers is None else pa.array(numbers, from_pandas=True)
