"""Tables of users put into a database, batch by batch, by the rules by which they are read into memory."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from gpcn.core.errors import DataError
from gpcn.data.tables.cell_types import CellForm
from gpcn.data.tables.delimited import stream_table, table_column_names
from gpcn.distributed.sharding.table_database import TableDatabase
from gpcn.preparation import values


def shared_column_names(paths: Sequence[Path]) -> list[str]:
    """Return the columns of tables that are one table in several files."""
    first, *others = ((path, table_column_names(path, bounded=False)) for path in paths)
    for path, names in others:
        if set(names) != set(first[1]):
            odd = sorted(set(names) ^ set(first[1]))[0]
            raise DataError(f"{path} and {first[0]} have different columns, such as {odd!r}; expected the same in all")
    return first[1]


def store_tables(
    database: TableDatabase,
    name: str,
    paths: Sequence[Path],
    *,
    text: Collection[str],
    others: Collection[str],
    literal: Collection[str] = (),
) -> None:
    """Keep the rows of `paths`, counted in `gpcn_row`, as a table called `name`.

    Args:
        database: where to.
        name: of the table there.
        paths: the files, in order.
        text: columns of ids and words, kept as texts without blanks around them.
        others: columns whose cells decide together what they are: numbers or texts; of Parquet, what the file says.
        literal: those of `others` that stay as they are.
    """
    forms = _forms(paths, [column for column in others if column not in literal])
    database.append(name, _batches(paths, text, {column: forms.get(column) for column in others}))


def _forms(paths: Sequence[Path], names: Collection[str]) -> dict[str, CellForm | None]:
    """The forms of columns of texts; `None` where a file says what they are."""
    forms: dict[str, CellForm | None] = dict.fromkeys(names, CellForm())
    for path in paths:
        for batch in stream_table(path, names):
            for name in names:
                form, cells = forms[name], _plain(batch.column(name))
                if form is None or not values.is_text_type(cells.type):
                    forms[name] = None
                elif form.numbers:  # one word makes the column text, whatever comes after
                    forms[name] = form.joined_with(CellForm.of(cells))
    return forms


def _batches(paths: Sequence[Path], text: Collection[str], forms: dict[str, CellForm | None]) -> Iterator[pa.Table]:
    rows = 0
    for path in paths:
        for batch in stream_table(path, {*text, *forms}):
            columns: dict[str, Any] = {"gpcn_row": pa.array(range(rows, rows + batch.num_rows), pa.int64())}
            for name in text:
                columns[name] = _texts(path, name, batch.column(name))
            for name, form in forms.items():
                cells = _plain(batch.column(name))
                columns[name] = cells if form is None else form.typed(cells)
            rows += batch.num_rows
            yield pa.table(columns)
    if not rows:
        words = {name: pa.array([], pa.string()) for name in (*text, *forms)}
        yield pa.table({"gpcn_row": pa.array([], pa.int64()), **words})


def _texts(path: Path, name: str, cells: Any) -> Any:
    try:
        return values.column_texts(cells)
    except DataError as error:
        raise DataError(f"{path}, column {name!r}: {error}") from error


def _plain(cells: Any) -> Any:
    """Cells of a type that the database has."""
    if values.is_text_type(cells.type) or pa.types.is_null(cells.type):
        return cells.cast(pa.string())
    if pa.types.is_float16(cells.type) or pa.types.is_decimal(cells.type):
        return cells.cast(pa.float64(), safe=False)
    return cells
