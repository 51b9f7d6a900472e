"""What a column is: guessed from its values, or as the user says."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gpcn.core.errors import DataError, Option
from gpcn.preparation import values
from gpcn.preparation.date_texts import DIGITS
from gpcn.preparation.misfits import (
    FLAG,
    LOCAL_NUMBER,
    NUMERIC,
    MisfitError,
    first_without_a_date,
    plausible_times,
    refuse_days_that_do_not_exist,
    refuse_strange_years,
)
from gpcn.preparation.values import SEPARATORS

Role: TypeAlias = Literal["number", "count", "boolean", "category", "date", "tags", "text", "id", "constant", "drop"]
ROLES: tuple[str, ...] = get_args(Role)
AS_SAID = "as said"  # why a column has its role, where the user names it
LEFT_OUT = ("id", "constant", "drop")
LITERAL = ("category", "date", "tags", "text")
"""Roles whose cells are taken to the letter, also where all of them look like numbers."""
ID_NAME = re.compile(r"(^|[_\s-])(id|uuid|guid|key|index|row)$", re.IGNORECASE)
SAMPLE = 20_000  # texts looked at to tell names, tags, categories and prose apart
FEW = 32  # different texts that are always categories
TAG_SHARE, TAG_LENGTH = 0.1, 30
PROSE_WORDS = 4.0


@dataclass(frozen=True)
class Guess:
    """A role, why, and what else reading the column needs (a separator of tags, a format of dates)."""

    role: Role
    reason: str = ""
    options: dict[str, Any] = field(default_factory=dict)


def guess_role(name: str, column: Any) -> Guess:
    """The role that the values of `column` suggest."""
    if values.is_list_type(column.type) and not pa.types.is_floating(column.type.value_type):
        _refuse_unreadable(name, column.type.value_type, "lists of ")
        return Guess("tags", "lists")
    _refuse_unreadable(name, column.type)
    if values.is_date_type(column.type):
        return _moment(column)
    flags = values.column_flags(column)
    if flags is not None:
        return _constant(flags) or Guess("boolean")
    codes = values.is_code_column(column)
    numbers = None if codes else values.column_numbers(column)
    if numbers is not None:
        return _number(name, numbers)
    moments = None if codes else plausible_times(column)
    if moments is not None:
        return Guess("date", f"format {moments[1]}", {"format": moments[1]})
    return _text(column)


def _refuse_unreadable(name: str, kind: Any, many: str = "") -> None:
    if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        expected = "expected numbers, text, dates or lists of texts"
        raise DataError(f"it holds {many}{kind} values; {expected}; leave it out with {Option('drop', name)}")


def declared_role(role: Role, column: Any, name: str = "") -> Guess:
    """The role the user names, with what reading the column needs; a misfit is refused with its first value."""
    if values.is_list_type(column.type):
        _refuse_unreadable(name, column.type.value_type, "lists of ")
    if role in ("number", "count"):
        numbers = values.column_numbers(column)
        if numbers is None:
            raise MisfitError.first(column, NUMERIC, "a number")
    if role == "date":
        moments = values.column_times(column) or values.column_times(column, DIGITS)
        if moments is None:
            expected = "a date such as 2024-05-31 or 2024-05-31 14:20, all in one format"
            raise first_without_a_date(column, DIGITS if pa.types.is_integer(column.type) else None, expected)
        refuse_strange_years(column, moments[0], declared=True)
        return Guess("date", AS_SAID, {"format": moments[1]})
    if role == "boolean" and values.column_flags(column) is None:
        numbers = values.column_numbers(column)
        if numbers is None or not np.isin(numbers[~np.isnan(numbers)], (0.0, 1.0)).all():
            raise MisfitError.first(column, FLAG, "yes or no, true or false, 1 or 0")
    if role == "tags" and not values.is_list_type(column.type):
        cells = values.missing_words_as_empty(values.column_texts(column))
        return Guess("tags", AS_SAID, {"separator": _separator(cells.filter(pc.not_equal(cells, ""))) or ";"})
    return Guess(role, AS_SAID)


def _moment(column: Any) -> Guess:
    moments = plausible_times(column)
    seconds = moments[0] if moments else np.array([])
    return _constant(seconds) or Guess("date", "", {"format": "timestamp"})


def _constant(numbers: values.Floats) -> Guess | None:
    present = numbers[~np.isnan(numbers)]
    if present.size == 0:
        return Guess("constant", "every value is missing")
    if present.size == numbers.size and (present == present[0]).all():
        return Guess("constant", "every value is the same")
    return None


def _number(name: str, numbers: values.Floats) -> Guess:
    nothing = _constant(numbers)
    if nothing is not None:
        return nothing
    present = numbers[~np.isnan(numbers)]
    if np.isin(present, (0.0, 1.0)).all():
        return Guess("boolean")
    whole = bool((present == np.floor(present)).all())
    if whole and present.size == numbers.size and present.size > FEW:
        steps = np.diff(present)
        if (steps == 1).all():
            return Guess("id", "it only counts the rows")
        if ID_NAME.search(name) and np.unique(present).size == present.size:
            return Guess("id", "a different number in every row, and named like an id")
    if whole and present.min() >= 0 and np.count_nonzero(present) <= 0.2 * numbers.size:
        return Guess("count")
    return Guess("number")


def _text(column: Any) -> Guess:
    cells = values.missing_words_as_empty(values.column_texts(column))
    present = cells.filter(pc.not_equal(cells, ""))
    return text_role(pc.unique(present), len(present), len(cells), present.slice(0, SAMPLE), cells)


def text_role(distinct: Any, total: int, rows: int, sample: Any, cells: Any) -> Guess:
    """The role of texts.

    Args:
        distinct: the different ones, none of them missing.
        total: how many are not missing.
        rows: how many there are, with those that are missing.
        sample: the first `SAMPLE` that are not missing.
        cells: where one that is no number is looked for.
    """
    if total == 0:
        return Guess("constant", "every value is missing")
    if len(distinct) == 1 and total == rows:
        return Guess("constant", "every value is the same")
    _refuse_broken_numbers(cells, distinct)
    refuse_days_that_do_not_exist(cells)
    separator = _separator(sample)
    if separator is not None:
        return Guess(
            "tags",
            f"several values between {separator!r}" if separator != "json" else "JSON lists",
            {"separator": separator},
        )
    if len(distinct) <= FEW:
        return Guess("category")
    words = 1 + float(pc.mean(pc.count_substring_regex(sample, r"\s+")).as_py())
    many = len(distinct) > total / 2
    if words >= PROSE_WORDS or (many and words >= 2):
        return Guess("text")
    names = f"{len(distinct):,} different texts in {total:,} rows are names, not categories"
    return Guess("id", names) if many else Guess("category")


def _separator(sample: Any) -> str | None:
    """What stands between several values of one cell, where cells look like lists of tags."""
    total = max(1, len(sample))
    as_json = pc.and_(pc.starts_with(sample, "["), pc.ends_with(sample, "]"))
    if int(pc.sum(as_json).as_py() or 0) > 0.9 * total:
        return "json"
    for separator in SEPARATORS:
        if int(pc.sum(pc.match_substring(sample, separator)).as_py() or 0) < TAG_SHARE * total:
            continue
        _, entries = values.entries_of_lists(pc.split_pattern(sample, pattern=separator))
        if not len(entries):
            continue
        length = float(pc.mean(pc.utf8_length(entries)).as_py())
        spaces = float(pc.mean(pc.count_substring(entries, " ")).as_py())
        repeated = pc.count_distinct(entries).as_py() <= max(FEW, len(entries) / 4)
        if length <= TAG_LENGTH and spaces < 1.5 and repeated:
            return separator
    return None


def _refuse_broken_numbers(cells: Any, distinct: Any) -> None:
    """A column of numbers with a few other values, or in a local form, is a mistake rather than a category."""
    kinds = distinct.to_pylist() if len(distinct) <= SAMPLE else distinct.slice(0, SAMPLE).to_pylist()
    numeric = sum(NUMERIC.fullmatch(kind) is not None for kind in kinds)
    if numeric and len(kinds) / 2 <= numeric < len(kinds):
        odd = next(kind for kind in kinds if NUMERIC.fullmatch(kind) is None)
        raise MisfitError(int(pc.index(cells, odd).as_py()), odd, "a number like the other values")
    if not numeric and all(LOCAL_NUMBER.fullmatch(kind) for kind in kinds) and not any("/" in kind for kind in kinds):
        odd = kinds[0]
        raise MisfitError(int(pc.index(cells, odd).as_py()), odd, "a number with a decimal point and no other marks")
