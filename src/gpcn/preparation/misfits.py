"""A value that is not what its column holds, and patterns of what columns hold."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa

from gpcn.core.errors import DataError, Option
from gpcn.preparation import date_texts, values
from gpcn.preparation.values import Floats

NUMERIC = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
LOCAL_NUMBER = re.compile(r"[-+]?\d[\d.,' ]*%?")
PLAUSIBLE_YEARS, POSSIBLE_YEARS = (1900, 2100), (1, 9999)
NOTHING = re.compile(r"(?!)")
FLAG = re.compile("|".join(sorted(values.TRUE | values.FALSE)) + r"|[01](\.0*)?", re.IGNORECASE)


class MisfitError(DataError):
    """Which cell of which column is not what is expected; whoever knows the file says where that is."""

    def __init__(self, row: int, cell: str, expected: str, column: str = "") -> None:
        super().__init__(f"{cell!r} is not {expected}")
        self.row, self.cell, self.expected, self.column = row, cell, expected, column

    @classmethod
    def first(cls, cells: Any, pattern: re.Pattern[str], expected: str, column: str = "") -> MisfitError:
        """About the first value that does not match."""
        for row, cell in enumerate(values.column_texts(cells).to_pylist()):
            if cell.lower() not in values.MISSING and pattern.fullmatch(cell) is None:
                return cls(row, cell, expected, column)
        return cls(0, "", expected, column)


def first_without_a_date(column: Any, format: str | None, expected: str, name: str = "") -> MisfitError:
    """About the first value that is no date of `format`, or where there is none, of the format that fits most."""
    cells = values.date_cells(column, format)
    if cells is None:
        return MisfitError.first(column, NOTHING, expected, name)
    given = cells.is_valid().to_numpy(zero_copy_only=False)
    formats = (format,) if format in date_texts.FORMATS else date_texts.FORMATS
    unread = [given & np.isnan(date_texts.read_dates(cells, candidate).seconds) for candidate in formats]
    least = min(unread, key=np.count_nonzero)
    row = int(np.argmax(least if least.any() else given))
    return MisfitError(row, str(cells[row].as_py()), expected, name)


def refuse_days_that_do_not_exist(column: Any) -> None:
    """Texts that all look like dates of one format, most of them rightly, are dates; 31/02/2023 is a mistake there."""
    cells = values.date_cells(column)
    if cells is None or cells.null_count == len(cells):
        return
    given = len(cells) - cells.null_count
    most, best = 0, ""
    for format in date_texts.FORMATS:
        if date_texts.looks_like(cells, format):
            read = date_texts.read_dates(cells, format)
            right = int(np.count_nonzero(~np.isnan(read.seconds)))
            if np.count_nonzero(read.alike) == given and right > most:
                most, best = right, format
    if given / 2 <= most < given:
        raise first_without_a_date(column, best, f"a day that exists, written as {best}")


def refuse_strange_years(column: Any, seconds: Floats, *, declared: bool = False, name: str = "") -> None:
    """Refuse the first date outside the plausible years, or where dates were declared, outside those of a calendar."""
    first, last = POSSIBLE_YEARS if declared else PLAUSIBLE_YEARS
    low, high = (np.datetime64(f"{year:04d}-01-01", "s").astype(np.int64) for year in (first, last + 1))
    strange = (seconds < low) | (seconds >= high)
    if not strange.any():
        return
    row = int(np.argmax(strange))
    hint = "" if declared else f" (others are read of a column of nodes that {Option('date')} names)"
    cell = column[row].cast(pa.string()).as_py()
    raise MisfitError(row, cell, f"a date in the years {first} to {last}{hint}", name)


def plausible_times(column: Any, *, declared: bool = False) -> tuple[Floats, str] | None:
    """`values.column_times`, refused where some year is strange."""
    moments = values.column_times(column)
    if moments is not None:
        refuse_strange_years(column, moments[0], declared=declared)
    return moments
