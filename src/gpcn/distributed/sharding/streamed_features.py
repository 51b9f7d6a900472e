"""The way from columns to features, fitted by DuckDB in a few passes, as `Preparation.fit` does in memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from gpcn.data.tables.feature_storage import SPARSE_FROM
from gpcn.distributed.sharding.streamed_columns import (
    DistinctValues,
    column_numbers_sql,
    create_mapped_cells,
    guess_streamed_number,
    guess_streamed_role,
    is_duckdb_number_type,
)
from gpcn.distributed.sharding.table_database import TableDatabase
from gpcn.preparation import values
from gpcn.preparation.encoders import Encoder
from gpcn.preparation.preparation import Preparation, PreparedColumn, decide_bag_of_words
from gpcn.preparation.roles import LEFT_OUT, Guess, Role
from gpcn.preparation.scalar_encoders import CALENDAR, LARGEST, QUARTILES_OF_A_NORMAL, Dates, Flags, Numbers, Scale
from gpcn.preparation.text_encoders import Levels, category_texts

FROM_NUMBERS = (None, "number", "count", "boolean")


def fit_streamed_preparation(
    database: TableDatabase,
    names: tuple[str, ...],
    declared: Mapping[str, Role],
    scale: Scale,
    reading: Mapping[str, Any],
) -> Preparation:
    """Return what makes features of the columns `names` of the nodes; `declared` are the roles that somebody said."""
    types = database.columns("nodes")
    columns = {name: _Column(database, name, declared.get(name), types[name]) for name in names}
    complete = {name for name, column in columns.items() if is_duckdb_number_type(column.kind) and not column.missing}
    guesses = decide_bag_of_words({name: column.guess for name, column in columns.items()}, complete)
    return Preparation(tuple(columns[name].fitted(guess, scale) for name, guess in guesses.items()), dict(reading))


def stores_sparse_features(preparation: Preparation) -> bool:
    """Whether features are stored sparse: many columns, and some of them of categories."""
    sparse = any(isinstance(column.encoder, Levels) for column in preparation.columns)
    return sparse and len(preparation.feature_names) >= SPARSE_FROM


class _Column:
    """A column of the nodes, its role, and where its numbers are."""

    def __init__(self, database: TableDatabase, name: str, role: Role | None, kind: str) -> None:
        self.database, self.name, self.kind = database, name, kind
        self.distinct: DistinctValues | None = None
        self.source = column_numbers_sql(name)
        if is_duckdb_number_type(kind) and role in FROM_NUMBERS:
            self.guess, self.missing = guess_streamed_number(database, name, self.source)
            if role is not None:
                self.guess = Guess(role, "as said")
            return
        self.distinct = DistinctValues.read(database, name)
        self.missing = self.distinct.missing_share()
        self.guess = guess_streamed_role(database, name, role, self.distinct)
        cells = self.distinct.cells
        codes = role is None and values.is_code_column(cells)
        numbers = values.column_numbers(cells) if values.column_flags(cells) is None and not codes else None
        if numbers is not None and role in FROM_NUMBERS:  # numbers that are written as texts
            self.source = create_mapped_cells(database, name, self.distinct.cells, numbers)
            guess, self.missing = guess_streamed_number(database, name, self.source)
            self.guess = guess if role is None else self.guess

    def fitted(self, guess: Guess, scale: Scale) -> PreparedColumn:
        """Return the way from the column to features."""
        encoder = None if guess.role in LEFT_OUT else self._encoder(guess, scale)
        if encoder is not None and not encoder.names:
            return PreparedColumn(self.name, guess.role, "no value occurs twice", self.missing, None)
        return PreparedColumn(self.name, guess.role, guess.reason, self.missing, encoder)

    def _encoder(self, guess: Guess, scale: Scale) -> Encoder:
        if guess.role in ("boolean", "count"):
            return Flags(self.name, self.missing > 0)
        if guess.role == "number":
            return fit_streamed_numbers(self.database, self.name, self.source, scale)
        cells, counts = cast(DistinctValues, self.distinct).cells, cast(DistinctValues, self.distinct).counts
        if guess.role == "date":
            read = values.column_times(cells, guess.options.get("format"))
            seconds, format = read or (cast(values.Floats, values.column_numbers(cells)), "timestamp")
            hours = bool((seconds[~np.isnan(seconds)] % values.DAY != 0).any())
            source = create_mapped_cells(self.database, self.name, cells, seconds / values.DAY)
            days = fit_streamed_numbers(self.database, f"{self.name} (days)", source, scale)
            parts = tuple(part for part in CALENDAR if part != "hour" or hours)
            return Dates(self.name, format, days, parts, values.fits_other_order(cells, format))
        pairs: dict[str, int] = {}
        texts = values.plain_whole_numbers(category_texts(cells))
        for text, count in zip(texts.to_pylist(), counts.tolist(), strict=True):
            pairs[text] = pairs.get(text, 0) + count
        return Levels.of_counts(self.name, pairs)


def fit_streamed_numbers(database: TableDatabase, name: str, source: str, scale: Scale) -> Numbers:
    """`Numbers.fit` of what `source` calls `number`."""
    absent = "(number IS NULL OR isnan(number))"
    clipped = f"greatest(least(number, {LARGEST!r}), {-LARGEST!r})"
    ((missing, quartiles, deviation),) = database.rows(
        f"SELECT count(*) FILTER (WHERE {absent}), "
        f"quantile_cont({clipped}, [0.25, 0.5, 0.75]) FILTER (WHERE NOT {absent}), "
        f"stddev_pop({clipped}) FILTER (WHERE NOT {absent}) FROM {source}"
    )
    low, median, high = quartiles or (0.0, 0.0, 0.0)
    spread = (high - low) / QUARTILES_OF_A_NORMAL or float(deviation or 0.0) or 1.0
    mean, std = 0.0, 1.0
    if scale != "none":
        filled = f"CASE WHEN {absent} THEN {median!r} ELSE {clipped} END"
        tamed = f"asinh(({filled} - {median!r}) / {spread!r})" if scale == "robust" else filled
        ((mean, std),) = database.rows(f"SELECT avg({tamed}), stddev_pop({tamed}) FROM {source}")
    return Numbers(name, scale, float(median), float(spread), float(mean or 0.0), float(std or 0.0) or 1.0, missing > 0)
