"""The values of an Arrow column as a role needs them: numbers, moments, words, tags. Missing is NaN or empty."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from gpcn.errors import DataError

Floats = npt.NDArray[np.float64]
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?", "-", "--", "#n/a", "<na>", "nil", "n.a."})
TRUE = frozenset({"true", "yes", "y", "t"})
FALSE = frozenset({"false", "no", "n", "f"})
DATE_FORMATS = (
    "%Y-%m-%d",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%dT%H:%M:%S",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%dT%H:%M",
    "%Y/%m/%d",
    "%Y/%m/%d %H:%M:%S",
    "%Y/%m/%d %H:%M",
    "%d.%m.%Y",
    "%d.%m.%Y %H:%M",
    "%d.%m.%Y %H:%M:%S",
    "%d/%m/%Y",
    "%d/%m/%Y %H:%M",
    "%d/%m/%Y %H:%M:%S",
    "%m/%d/%Y",
    "%m/%d/%Y %H:%M",
    "%m/%d/%Y %H:%M:%S",
    "%d %b %Y",
    "%b %d, %Y",
    "%Y%m%d",
)
DIGITS = "%Y%m%d"  # whole numbers are dates of this form only where somebody says so
SEPARATORS = (";", "|", ",")
WORD = r"\w\w+"
DAY = 86_400.0
SAMPLE = 100  # values that a format of dates has to fit before all are tried


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
    """As seconds since 1970, missing NaN, and the format that fits all values; `None` where none does."""
    if is_date_type(column.type):
        flat = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        return _seconds(flat), "timestamp"
    digits = format == DIGITS and pa.types.is_integer(column.type)
    if (is_number_type(column.type) and not digits) or pa.types.is_nested(column.type) or pa.types.is_null(column.type):
        return None
    words = missing_words_as_empty(column_texts(column))
    words = pc.replace_substring_regex(words, r"(\d{2}:\d{2}:\d{2})\.\d+", r"\1")
    words = pc.replace_substring_regex(words, r"Z$|[+-]00:?00$", "")
    present = pc.not_equal(words, "")
    count = int(pc.sum(present).as_py() or 0)
    if not count:
        return None
    shown = pc.if_else(present, words, None)
    sample = words.filter(present).slice(0, SAMPLE)
    for candidate in (format,) if format else DATE_FORMATS:
        if pc.strptime(sample, format=candidate, unit="s", error_is_null=True).null_count:
            continue
        parsed = pc.strptime(shown, format=candidate, unit="s", error_is_null=True)
        if count == len(parsed) - parsed.null_count:
            return _seconds(parsed), str(candidate)
    return None


def _seconds(values: Any) -> Floats:
    stamps = values.cast(pa.timestamp("us"), safe=False) if not pa.types.is_date(values.type) else values
    stamps = stamps.cast(pa.timestamp("us"))
    whole = np.asarray(stamps.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False), dtype=np.float64)
    seconds = whole / 1e6
    seconds[stamps.is_null().to_numpy(zero_copy_only=False)] = np.nan
    return seconds


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
