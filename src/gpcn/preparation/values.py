"""The values of an Arrow column as a role needs them: numbers, moments, words, tags. Missing is NaN or empty."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from gpcn.core.errors import DataError
from gpcn.preparation import date_texts

Floats = npt.NDArray[np.float64]
DAY = date_texts.DAY
PER_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?", "-", "--", "#n/a", "<na>", "nil", "n.a."})
TRUE = frozenset({"true", "yes", "y", "t"})
FALSE = frozenset({"false", "no", "n", "f"})
SEPARATORS = (";", "|", ",")


def is_number_type(kind: Any) -> bool:
    """Whether an Arrow type holds numbers or booleans."""
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_decimal(kind)
    )


def is_date_type(kind: Any) -> bool:
    """Whether an Arrow type holds dates or times of a day of the calendar."""
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def is_list_type(kind: Any) -> bool:
    """Whether an Arrow type holds lists."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def is_text_type(kind: Any) -> bool:
    """Whether an Arrow type holds texts, in any of the ways that data frames store them."""
    if pa.types.is_dictionary(kind):
        return is_text_type(kind.value_type)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def column_texts(column: Any) -> Any:
    """As trimmed text, missing as the empty text; one chunk."""
    flat = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    try:
        return pc.utf8_trim_whitespace(flat.cast(pa.string()).fill_null(""))
    except pa.ArrowException as error:
        raise DataError(f"it holds {flat.type} values; expected text, numbers, dates or lists of texts") from error


def missing_words_as_empty(values: Any) -> Any:
    """Texts with words such as `n/a` made empty."""
    missing = pc.is_in(pc.utf8_lower(values), value_set=pa.array(sorted(MISSING), pa.string()))
    return pc.if_else(missing, "", values)


def column_numbers(column: Any) -> Floats | None:
    """As numbers, missing NaN; `None` where some value is no number."""
    if is_number_type(column.type) or pa.types.is_null(column.type):
        flat = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        values = flat.cast(pa.float64(), safe=False)
        return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)
    if is_date_type(column.type) or is_list_type(column.type) or pa.types.is_nested(column.type):
        return None
    words = missing_words_as_empty(column_texts(column))
    try:
        parsed = pc.if_else(pc.equal(words, ""), None, words).cast(pa.float64())
    except pa.ArrowException:
        return None
    return np.asarray(parsed.to_numpy(zero_copy_only=False), dtype=np.float64)


def plain_whole_numbers(cells: Any, missing: Collection[str] = MISSING) -> Any:
    """`1.0` as `1`, where all values are whole numbers, as when a table was exported from floats."""
    kinds = [kind for kind in pc.unique(cells).to_pylist() if kind.lower() not in missing]
    if any("." in kind for kind in kinds) and all(re.fullmatch(r"-?\d+(\.0*)?", kind) for kind in kinds):
        return without_decimals(cells)
    return cells


def without_decimals(cells: Any) -> Any:
    """`1.0` as `1`, cell by cell."""
    return pc.replace_substring_regex(cells, r"^(-?\d+)\.0*$", r"\1")


def is_code_column(column: Any) -> bool:
    """Whether texts are codes: digits alone, some of them padded with zeros, such as `003`."""
    return is_text_type(column.type) and is_any_padded(column) and are_all_digits(column)


def is_any_padded(column: Any) -> bool:
    """Whether some text is a whole number that begins with a zero it does not need."""
    column = column if column.type == pa.string() else column_texts(column)
    first = pc.and_(pc.starts_with(column, "0"), pc.invert(pc.starts_with(column, "0.")))
    likely = pc.and_(pc.or_(first, pc.starts_with(column, " ")), pc.greater(pc.binary_length(column), 1))
    return bool(pc.any(pc.match_substring_regex(column.filter(likely), r"^\s*0\d+\s*$")).as_py())


def are_all_digits(column: Any) -> bool:
    """Whether all texts that are not missing are digits alone."""
    words = missing_words_as_empty(column_texts(column))
    return bool(pc.all(pc.match_substring_regex(words, r"^\d*$"), min_count=0).as_py())


def column_flags(column: Any) -> Floats | None:
    """Yes and no, true and false as 1 and 0, missing NaN; `None` where some value is neither."""
    if pa.types.is_boolean(column.type):
        return column_numbers(column)
    if not is_text_type(column.type):
        return None
    words = pc.utf8_lower(missing_words_as_empty(column_texts(column)))
    distinct = set(pc.unique(words).to_pylist()) - {""}
    if not distinct or not (distinct <= TRUE | FALSE):
        return None
    yes = pc.is_in(words, value_set=pa.array(sorted(TRUE), pa.string())).to_numpy(zero_copy_only=False)
    values: Floats = yes.astype(np.float64)
    values[pc.equal(words, "").to_numpy(zero_copy_only=False)] = np.nan
    return values


def column_times(column: Any, format: str | None = None) -> tuple[Floats, str] | None:
    """As seconds since 1970, missing NaN, and the first format that fits all values; `None` where none does.

    Dates that Arrow knows are of the format `timestamp`.
    """
    if is_date_type(column.type):
        return _seconds(column), "timestamp"
    cells = date_cells(column, format)
    if cells is None or cells.null_count == len(cells):
        return None
    for candidate in date_texts.FORMATS:
        if format in (None, candidate) and date_texts.looks_like(cells, candidate):
            read = date_texts.read_dates(cells, candidate)
            if np.count_nonzero(~np.isnan(read.seconds)) == len(cells) - cells.null_count:
                return read.seconds, candidate
    return None


def date_cells(column: Any, format: str | None = None) -> Any | None:
    """The texts that may be dates, missing null; `None` where no text is one. Whole numbers are where `format` is."""
    digits = format == date_texts.DIGITS and pa.types.is_integer(column.type)
    if (is_number_type(column.type) and not digits) or pa.types.is_nested(column.type) or pa.types.is_null(column.type):
        return None
    words = missing_words_as_empty(column_texts(column))
    return pc.if_else(pc.equal(words, ""), None, words)


def fits_other_order(column: Any, format: str) -> str | None:
    """The format with month and day the other way round, where all values fit that as well."""
    other = date_texts.OTHER_ORDER.get(format)
    return other if other is not None and column_times(column, other) is not None else None


def _seconds(column: Any) -> Floats:
    """Of dates as Arrow stores them, however far from the present."""
    flat = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    whole = flat.view(pa.int32() if pa.types.is_date32(flat.type) else pa.int64()).cast(pa.float64(), safe=False)
    numbers = np.asarray(whole.to_numpy(zero_copy_only=False), dtype=np.float64)
    if pa.types.is_date32(flat.type):
        return numbers * DAY
    return numbers / PER_SECOND["ms" if pa.types.is_date64(flat.type) else flat.type.unit]


def column_tag_lists(column: Any, separator: str | None) -> Any:
    """Each cell's tags as an Arrow list of trimmed texts; `separator` is None for lists, `json` for JSON lists."""
    if is_list_type(column.type):
        flat = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        if not isinstance(flat, pa.ListArray):
            flat = flat.cast(pa.list_(flat.type.value_type))
        return flat.cast(pa.list_(pa.string()))
    words = missing_words_as_empty(column_texts(column))
    if separator == "json":
        return pa.array([_json_list(cell) for cell in words.to_pylist()], pa.list_(pa.string()))
    return pc.split_pattern(words, pattern=separator or ";")


def _json_list(cell: str) -> list[str]:
    if not cell:
        return []
    try:
        values = json.loads(cell)
    except (ValueError, RecursionError):
        return [cell]
    return [str(value) for value in values] if isinstance(values, list) else [str(values)]


def entries_of_lists(lists: Any) -> tuple[npt.NDArray[np.int64], Any]:
    """The rows and the trimmed, non-empty texts of all entries of a list array."""
    rows = np.asarray(pc.list_parent_indices(lists).to_numpy(zero_copy_only=False), dtype=np.int64)
    entries = pc.utf8_trim_whitespace(pc.list_flatten(lists).fill_null(""))
    keep = pc.not_equal(entries, "").to_numpy(zero_copy_only=False)
    return rows[keep], entries.filter(pa.array(keep))


def column_word_lists(column: Any) -> Any:
    """Each text's words of two letters or more, in lower case."""
    words = pc.utf8_lower(column_texts(column))
    spaced = pc.replace_substring_regex(words, r"[^\pL\pN_]+", " ")
    return pc.split_pattern(pc.utf8_trim_whitespace(spaced), pattern=" ")


def long_words(words: Any) -> npt.NDArray[np.bool_]:
    """Which words have two letters or more."""
    return np.asarray(pc.greater_equal(pc.utf8_length(words), 2).to_numpy(zero_copy_only=False))


def is_empty_column(column: Any) -> bool:
    """Whether a column holds nothing but missing values."""
    return bool(pc.all(pc.equal(missing_words_as_empty(column_texts(column)), "")).as_py())
