"""Encoders of columns with one quantity per cell: numbers, flags, dates."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from gpcn.preparation import values
from gpcn.preparation.date_texts import FORMATS, OTHER_ORDER
from gpcn.preparation.misfits import FLAG, NUMERIC, MisfitError, first_without_a_date, refuse_strange_years
from gpcn.preparation.values import DAY, Floats

Scale: TypeAlias = Literal["robust", "standard", "none"]
Dense: TypeAlias = npt.NDArray[np.float32]
MISSING = "(missing)"
QUARTILES_OF_A_NORMAL = 1.349
LARGEST = 1e150  # numbers beyond have no square
CALENDAR = {"month": (1 / 12, "month"), "weekday": (1 / 7, "day_of_week"), "hour": (1 / 24, "hour")}


@dataclass(frozen=True)
class Numbers:
    """A number. Missing values become the median, and a column of their own says where they were.

    `robust` takes `asinh((x - median) / spread)`, with the quartiles' distance as spread: linear in the middle,
    logarithmic in the tails; then mean 0 and deviation 1. `standard` does the last alone, `none` nothing.
    """

    role: ClassVar[str] = "number"
    column: str
    scale: Scale
    median: float
    spread: float
    mean: float
    std: float
    missing: bool

    @classmethod
    def fit(cls, column: str, numbers: Floats, scale: Scale) -> Numbers:
        """From the numbers of a column, NaN where missing."""
        numbers = np.clip(numbers, -LARGEST, LARGEST)
        present = numbers[~np.isnan(numbers)]
        if present.size == 0:
            present = np.zeros(1)
        low, median, high = np.percentile(present, [25, 50, 75])
        with np.errstate(over="ignore"):
            spread = float(high - low) / QUARTILES_OF_A_NORMAL or float(present.std()) or 1.0
        unscaled = cls(column, scale, float(median), spread, 0.0, 1.0, bool(np.isnan(numbers).any()))
        tamed = unscaled.tame(np.where(np.isnan(numbers), median, numbers))
        with np.errstate(over="ignore"):
            std = float(tamed.std())
        if scale == "none":
            return unscaled
        return cls(column, scale, float(median), spread, float(tamed.mean()), std or 1.0, unscaled.missing)

    def tame(self, numbers: Floats) -> Floats:
        """Before centring."""
        numbers = np.clip(numbers, -LARGEST, LARGEST)
        if self.scale != "robust":
            return numbers
        with np.errstate(over="ignore"):
            ratio = (numbers - self.median) / self.spread
        return np.arcsinh(np.clip(ratio, -np.finfo(np.float64).max, np.finfo(np.float64).max))

    @property
    def names(self) -> list[str]:
        """The column, and where it is missing."""
        return [self.column, *([f"{self.column}={MISSING}"] if self.missing else [])]

    @property
    def how(self) -> str:
        """For people."""
        rules = {"robust": "tails tamed (asinh), then scaled", "standard": "scaled", "none": "as it is"}
        return rules[self.scale] + ("; missing → median + indicator" if self.missing else "")

    def encode(self, column: Any, rows: int) -> Dense:
        """The scaled numbers."""
        if column is None:
            return self.encode_numbers(np.full(rows, np.nan))
        numbers = values.column_numbers(column)
        if numbers is None:
            raise MisfitError.first(column, NUMERIC, "a number", self.column)
        return self.encode_numbers(numbers)

    def encode_numbers(self, numbers: Floats) -> Dense:
        """The same from numbers."""
        absent = np.isnan(numbers)
        scaled = (self.tame(np.where(absent, self.median, numbers)) - self.mean) / self.std
        with np.errstate(over="ignore"):
            columns = [scaled, *([absent] if self.missing else [])]
            return np.stack(columns, axis=1).astype(np.float32)

    def state(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


@dataclass(frozen=True)
class Flags:
    """Yes or no, and counts: as they are. A missing flag is 0, and a column of its own says where."""

    role: ClassVar[str] = "boolean"
    column: str
    missing: bool

    @classmethod
    def fit(cls, column: str, numbers: Floats) -> Flags:
        """From the numbers of a column, NaN where missing."""
        return cls(column, bool(np.isnan(numbers).any()))

    @property
    def names(self) -> list[str]:
        """The column, and where it is missing."""
        return [self.column, *([f"{self.column}={MISSING}"] if self.missing else [])]

    @property
    def how(self) -> str:
        """For people."""
        return "as it is" + ("; missing → 0 + indicator" if self.missing else "")

    def encode(self, column: Any, rows: int) -> Dense:
        """0 and 1, or counts."""
        numbers = np.full(rows, np.nan) if column is None else flag_values(column)
        if numbers is None:
            raise MisfitError.first(column, FLAG, "yes or no, true or false, 1 or 0", self.column)
        absent = np.isnan(numbers)
        columns = [np.where(absent, 0, numbers), *([absent] if self.missing else [])]
        with np.errstate(over="ignore"):
            return np.stack(columns, axis=1).astype(np.float32)

    def state(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


@dataclass(frozen=True)
class Dates:
    """A date: days passed, scaled like a number, and where in the year, the week and the day it falls, on a circle."""

    role: ClassVar[str] = "date"
    column: str
    format: str
    days: Numbers
    parts: tuple[str, ...]
    also: str | None = None  # a format that fitted all values of training too

    @classmethod
    def fit(cls, column: str, seconds: Floats, format: str, scale: Scale, also: str | None = None) -> Dates:
        """From seconds since 1970, NaN where missing."""
        present = seconds[~np.isnan(seconds)]
        has_hours = bool((present % DAY != 0).any())
        parts = [part for part in CALENDAR if part != "hour" or has_hours]
        return cls(column, format, Numbers.fit(f"{column} (days)", seconds / DAY, scale), tuple(parts), also)

    @property
    def names(self) -> list[str]:
        """`column (days)`, then two coordinates per part of the calendar."""
        circles = [f"{self.column} ({part} {side})" for part in self.parts for side in ("sin", "cos")]
        return [*self.days.names, *circles]

    @property
    def how(self) -> str:
        """For people."""
        also = f", though {self.also} fits too" if self.also else ""
        return f"elapsed time and {', '.join(self.parts)}; read as {self.format}{also}"

    def seconds_of(self, column: Any) -> Floats:
        """Return seconds since 1970, NaN where missing; what is no date as in training is refused."""
        seconds = timestamp_values(column, self.format)
        if seconds is None:
            raise first_without_a_date(column, self.format, f"a date like those before ({self.format})", self.column)
        return seconds

    def refuse_strange_years(self, column: Any, *, declared: bool) -> None:
        """Refuse dates that are probably none; where dates were declared, those outside of calendars."""
        refuse_strange_years(column, self.seconds_of(column), declared=declared, name=self.column)

    def encode(self, column: Any, rows: int) -> Dense:
        """Elapsed time and the calendar; a missing date has no place in the calendar."""
        seconds = np.full(rows, np.nan) if column is None else self.seconds_of(column)
        blocks = [self.days.encode_numbers(seconds / DAY)]
        absent = np.isnan(seconds)
        stamps = pa.array(np.where(absent, 0, seconds).astype(np.int64), pa.timestamp("s"))
        for part in self.parts:
            frequency, function = CALENDAR[part]
            angle = 2 * np.pi * frequency * getattr(pc, function)(stamps).to_numpy(zero_copy_only=False)
            circle = np.stack([np.sin(angle), np.cos(angle)], axis=1)
            circle[absent] = 0
            blocks.append(circle.astype(np.float32))
        return np.concatenate(blocks, axis=1)

    def state(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def flag_values(column: Any) -> Floats | None:
    """Yes and no, or numbers, as numbers."""
    flags = values.column_flags(column)
    return values.column_numbers(column) if flags is None else flags


def timestamp_values(column: Any, format: str) -> Floats | None:
    """Seconds since 1970, by the format that was fitted, else by the only other one that fits all and does not turn
    day and month round; all missing where there is no value at all."""
    moments = values.column_times(column, format)
    if moments is not None:
        return moments[0]
    if column.null_count == len(column) or values.is_empty_column(column):
        return np.full(len(column), np.nan)
    turned = {other for other in OTHER_ORDER if format in OTHER_ORDER and other[:2] != format[:2]}
    fitting = [values.column_times(column, other) for other in FORMATS if other not in turned]
    read = [moments[0] for moments in fitting if moments is not None]
    return read[0] if len(read) == 1 else None


def date_note(column: str, format: str, also: str) -> str:
    """Return the note on dates that two formats fit."""
    return f"{column!r} is read as {format}, though {also} fits all its values too; if that is wrong, write 2024-05-31"
