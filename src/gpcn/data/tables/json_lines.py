"""One JSON object per line, as an Arrow table whose ids are texts, to the letter."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Collection
from typing import Any

import pyarrow as pa
import pyarrow.json as pajson

BLOCK = 1 << 24
WHOLE_FLOAT = re.compile(r"(-?\d+)\.0+")


def read_objects(open_file: Callable[[], Any], text: Collection[str]) -> pa.Table:
    """Return one row per object; the columns `text` are what the file says, as texts.

    Arrow takes texts such as `2024-01-31` for times and whole numbers of twenty digits for floating ones. Columns of
    text are therefore read as such, and where Arrow finds numbers that it cannot hold, once more by Python.
    """
    table = _read(open_file, {})
    kinds = {field.name: field.type for field in table.schema if field.name.strip() in text}
    dated = {name: pa.string() for name, kind in kinds.items() if pa.types.is_temporal(kind)}
    rounded = [name for name, kind in kinds.items() if pa.types.is_floating(kind)]
    if dated:
        table = _read(open_file, dated)
    exact = _exact_texts(open_file, rounded) if rounded else {}
    for name, cells in exact.items():
        table = table.set_column(table.column_names.index(name), name, pa.array(cells, pa.string()))
    return table


def _read(open_file: Callable[[], Any], types: dict[str, Any]) -> pa.Table:
    return pajson.read_json(
        open_file(),
        read_options=pajson.ReadOptions(block_size=BLOCK),
        parse_options=pajson.ParseOptions(explicit_schema=pa.schema(types) if types else None),
    )


def _exact_texts(open_file: Callable[[], Any], names: Collection[str]) -> dict[str, list[str | None]]:
    """Return the cells of columns of numbers as they are written; `3.0` as `3`, as when a table came from floats."""
    cells: dict[str, list[str | None]] = {name: [] for name in names}
    with io.TextIOWrapper(open_file(), encoding="utf-8-sig") as stream:
        for line in filter(str.strip, stream):
            row = json.loads(line, parse_int=str, parse_float=_plain)
            for name, column in cells.items():
                column.append(row.get(name))
    return cells


def _plain(number: str) -> str:
    match = WHOLE_FLOAT.fullmatch(number)
    return match[1] if match else number
