"""A value that is not what its column holds, and patterns of what columns hold."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow.compute as pc

from gpcn.errors import DataError
from gpcn.preparation import values

NUMERIC = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
LOCAL_NUMBER = re.compile(r"[-+]?\d[\d.,' ]*%?")
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
    cells = values.missing_words_as_empty(values.column_texts(column))
    shown = pc.if_else(pc.equal(cells, ""), None, cells)
    formats = values.DATE_FORMATS if format in (None, "timestamp") else (format,)
    parsed = [pc.strptime(shown, format=candidate, unit="s", error_is_null=True) for candidate in formats]
    best = min(parsed, key=lambda moments: moments.null_count)
    strange = pc.and_(best.is_null(), pc.not_equal(cells, "")).to_numpy(zero_copy_only=False)
    row = int(np.argmax(strange))
    return MisfitError(row, str(cells[row].as_py()), expected, name)
