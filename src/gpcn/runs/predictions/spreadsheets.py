"""Cells that a spreadsheet would run as a formula when it opens a CSV: `=HYPERLINK(...)` as the name of a node."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

FORMULA = re.compile(r"[\t\r\n ]*[=+\-@＝＋－＠]|[\t\r]")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def is_formula(cell: str) -> bool:
    """Whether a spreadsheet may take `cell` for a formula; a plain number such as -3 is none."""
    return FORMULA.match(cell) is not None and NUMBER.fullmatch(cell) is None


def count_formulas(cells: Iterable[str]) -> int:
    """How many of `cells` a spreadsheet may take for formulas."""
    return sum(map(is_formula, cells))


def without_formulas(cells: Sequence[str]) -> list[str]:
    """`cells` with an apostrophe before each that may be a formula; spreadsheets then show it as text."""
    return [f"'{cell}" if is_formula(cell) else cell for cell in cells]
