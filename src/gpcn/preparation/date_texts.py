"""Texts as moments: a few formats of dates, each with or without a time of day, and days that exist."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Floats = npt.NDArray[np.float64]
DAY = 86_400.0
ISO, DIGITS = "%Y-%m-%d", "%Y%m%d"
OTHER_ORDER = {"%d/%m/%Y": "%m/%d/%Y", "%m/%d/%Y": "%d/%m/%Y", "%d/%m/%y": "%m/%d/%y", "%m/%d/%y": "%d/%m/%y"}
FORMATS = (ISO, "%Y/%m/%d", "%d.%m.%Y", "%d.%m.%y", *OTHER_ORDER, "%d %b %Y", "%b %d, %Y", DIGITS)
PIVOT = 69  # of two digits, as POSIX has it: 69 to 99 are 1969 to 1999, 00 to 68 are 2000 to 2068
SAMPLE = 100  # texts that have to look like a format before all are looked at
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
FULL_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
TIME = (
    r"(?:[T ] *(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?P<fraction>\.\d+)?)?"
    r" ?(?P<zone>Z|[+-]\d{2}(?::?\d{2})?)?)?"
)
ZONE = re.compile(r"(Z)|([+-])([01]\d|2[0-3])(?::?([0-5]\d))?")


@dataclass(frozen=True)
class DateReading:
    """Seconds since 1970, NaN where a text names no moment, and which texts look like the format all the same."""

    seconds: Floats
    alike: npt.NDArray[np.bool_]


def read_dates(cells: Any, format: str) -> DateReading:
    """Read the texts of an Arrow array, null where missing, as dates of a format, with or without a time of day."""
    if format == ISO:
        moments = _read_as_arrow_does(cells)
        if moments is not None:
            return moments
    timed = bool(pc.any(pc.match_substring(cells, ":")).as_py())
    found = pc.extract_regex(cells, f"^{_pattern(format)}{TIME if timed else ''}$")
    names = {field.name for field in found.type}
    alike = found.is_valid().to_numpy(zero_copy_only=False)
    year, day = (_whole(found.field(name)) for name in ("year", "day"))
    month = _months(found.field("name")) if "name" in names else _whole(found.field("month"))
    if "%y" in format:
        year += np.where(year < PIVOT, 2000, 1900)
    begins = (year - 1970) * 12 + month - 1
    first, after = ((begins + step).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64) for step in (0, 1))
    exists = alike & (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= after - first)
    seconds = (first + day - 1) * DAY
    if timed:
        hour, minute, second = (_whole(found.field(name)) for name in ("hour", "minute", "second"))
        exists &= (hour < 24) & (minute < 60) & (second < 60)
        seconds += hour * 3600 + minute * 60 + second + _fractions(found.field("fraction"))
        seconds -= _offsets(found.field("zone"))
    return DateReading(np.where(exists, seconds, np.nan), alike)


def looks_like(cells: Any, format: str) -> bool:
    """Whether the first texts of an Arrow array all look like dates of a format."""
    return bool(read_dates(cells.drop_null().slice(0, SAMPLE), format).alike.all())


def _read_as_arrow_does(cells: Any) -> DateReading | None:
    """ISO 8601 as Arrow reads it, twenty times as fast; `None` where it does not read all of them.

    A few are tried first, for a text that Arrow does not read takes it longer than a thousand that it does.
    """
    few = cells.take(pa.array(np.linspace(0, len(cells) - 1, min(SAMPLE, len(cells)), dtype=np.int64)))
    for kind in (pa.timestamp("us"), pa.timestamp("us", "UTC")):
        try:
            few.cast(kind)
            stamps = cells.cast(kind)
        except pa.ArrowException:
            continue
        there = stamps.is_valid().to_numpy(zero_copy_only=False)
        whole = stamps.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
        return DateReading(np.where(there, whole / 1e6, np.nan), there)
    return None


def _pattern(format: str) -> str:
    """A format as a regular expression with a group for the year, the month or its name, and the day."""
    digits = r"\d{2}" if format == DIGITS else r"\d{1,2}"
    groups = {
        "%Y": r"(?P<year>\d{4})",
        "%y": r"(?P<year>\d{2})",
        "%m": f"(?P<month>{digits})",
        "%b": rf"(?i:(?P<name>{'|'.join((*FULL_MONTHS, *MONTHS))}))",
        "%d": f"(?P<day>{digits})",
    }
    pattern = re.escape(format)
    for directive, group in groups.items():
        pattern = pattern.replace(directive, group)
    return pattern


def _whole(digits: Any) -> npt.NDArray[np.int64]:
    filled = pc.if_else(pc.equal(digits, ""), "0", digits).cast(pa.int64())
    return np.array(filled.to_numpy(zero_copy_only=False), dtype=np.int64)


def _months(names: Any) -> npt.NDArray[np.int64]:
    """Numbers from 1; 0 where there is no name."""
    short = pc.utf8_slice_codeunits(pc.utf8_lower(names), 0, 3)
    return np.asarray(pc.index_in(short, pa.array(MONTHS)).fill_null(-1).to_numpy(zero_copy_only=False)) + np.int64(1)


def _fractions(fractions: Any) -> Floats:
    filled = pc.if_else(pc.equal(fractions, ""), ".0", fractions).cast(pa.float64())
    return np.asarray(filled.to_numpy(zero_copy_only=False), dtype=np.float64)


def _offsets(zones: Any) -> Floats:
    """Seconds to the east of Greenwich; none where nothing is said, NaN where there is no such zone."""
    different = zones.dictionary_encode()
    offsets = np.array([_offset(zone) for zone in different.dictionary.to_pylist()], dtype=np.float64)
    return np.asarray(offsets[different.indices.to_numpy(zero_copy_only=False)], dtype=np.float64)


def _offset(zone: str) -> float:
    if not zone:
        return 0.0
    match = ZONE.fullmatch(zone)
    if match is None:
        return float("nan")
    seconds = 0.0 if match[1] else 3600.0 * int(match[3]) + 60.0 * int(match[4] or 0)
    return -seconds if match[2] == "-" else seconds
