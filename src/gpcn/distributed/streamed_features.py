"""How columns of numbers become features, fitted by DuckDB in two passes over a column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpcn.distributed.table_database import TableDatabase, quoted
from gpcn.errors import DataError
from gpcn.preparation.preparation import Preparation, PreparedColumn
from gpcn.preparation.scalars import LARGEST, QUARTILES_OF_A_NORMAL, Numbers, Scale

NUMERIC = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
FLOATING = ("FLOAT", "DOUBLE", "DECIMAL")


def check_numbers(types: Mapping[str, str], names: tuple[str, ...]) -> None:
    """Refuse columns that are not numbers."""
    others = [name for name in names if types[name].split("(")[0] not in (*NUMERIC, *FLOATING)]
    if others:
        raise DataError(
            f"column {others[0]!r} holds {types[others[0]]} values, and only numbers are prepared while tables are "
            f"streamed; leave it out with --drop {others[0]}, or leave --memory out if the graph fits into memory"
        )


def fit_preparation(
    database: TableDatabase, table: str, names: tuple[str, ...], scale: Scale, reading: Mapping[str, Any]
) -> Preparation:
    """What makes features of the columns `names` of `table`, as `Preparation.fit` does from memory."""
    columns = [PreparedColumn(name, "number", "a number", *_fit(database, table, name, scale)) for name in names]
    return Preparation(tuple(columns), dict(reading))


def _fit(database: TableDatabase, table: str, name: str, scale: Scale) -> tuple[float, Numbers]:
    number = f"{quoted(name)}::DOUBLE"
    absent = f"({number} IS NULL OR isnan({number}))"
    clipped = f"greatest(least({number}, {LARGEST!r}), {-LARGEST!r})"
    sql = (
        f"SELECT count(*), count(*) FILTER (WHERE {absent}), count(*) FILTER (WHERE isinf({number})), "
        f"quantile_cont({clipped}, [0.25, 0.5, 0.75]) FILTER (WHERE NOT {absent}), "
        f"stddev_pop({clipped}) FILTER (WHERE NOT {absent}) FROM {table}"
    )
    ((rows, missing, infinite, quartiles, deviation),) = database.rows(sql)
    if infinite:
        raise DataError(f"column {name!r} holds {infinite} infinite number(s); correct it or leave the column out")
    low, median, high = quartiles or (0.0, 0.0, 0.0)
    spread = (high - low) / QUARTILES_OF_A_NORMAL or float(deviation or 0.0) or 1.0
    mean, std = 0.0, 1.0
    if scale != "none":
        filled = f"CASE WHEN {absent} THEN {median!r} ELSE {clipped} END"
        tamed = f"asinh(({filled} - {median!r}) / {spread!r})" if scale == "robust" else filled
        ((mean, std),) = database.rows(f"SELECT avg({tamed}), stddev_pop({tamed}) FROM {table}")
    numbers = Numbers(
        name, scale, float(median), float(spread), float(mean or 0.0), float(std or 0.0) or 1.0, missing > 0
    )
    return missing / max(1, rows), numbers
