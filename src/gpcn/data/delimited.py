"""CSV, TSV, Parquet and plain edge lists into Arrow tables, with errors that say where."""

from __future__ import annotations

import codecs
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from gpcn.errors import DataError

DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
EDGE_LISTS = (".txt", ".edges", ".edgelist", ".el")
SUFFIXES = (*DELIMITERS, ".parquet")
COMMENTS = (b"#", b"%")


def column_names(path: Path) -> list[str]:
    """The header of a table."""
    if path.suffix == ".parquet":
        return list(_parquet(path).schema_arrow.names)
    _check_text(path)
    with path.open("rb") as stream:
        line = stream.readline().decode("utf-8-sig").rstrip("\r\n")
    delimiter = _delimiter(path, line)
    header = pacsv.read_csv(
        pa.BufferReader((line + "\n").encode()),
        read_options=pacsv.ReadOptions(autogenerate_column_names=True),
        parse_options=pacsv.ParseOptions(delimiter=delimiter),
        convert_options=pacsv.ConvertOptions(strings_can_be_null=False),
    )
    names = [str(header.column(i)[0]).strip() for i in range(header.num_columns)]
    for name in names:
        if names.count(name) > 1:
            raise DataError(f"{path} has two columns called {name!r}; rename one")
    return names


def read_table(path: Path, *, text: Collection[str], only: Collection[str] | None = None) -> pa.Table:
    """A table with a header. Columns in `text` are kept to the letter as strings; `only` limits what is read."""
    if path.suffix == ".parquet":
        return _read_parquet(path, text, only)
    names = column_names(path)
    with path.open("rb") as stream:
        line = stream.readline().decode("utf-8-sig")
    wanted = [name for name in names if only is None or name in only]
    return _parse(
        path,
        pacsv.ReadOptions(column_names=names, skip_rows=1),
        pacsv.ParseOptions(delimiter=_delimiter(path, line), newlines_in_values=False),
        pacsv.ConvertOptions(
            include_columns=wanted, column_types=dict.fromkeys(text, pa.string()), strings_can_be_null=False
        ),
    )


def read_edge_list(path: Path) -> pa.Table:
    """A headerless list: source, target and perhaps a weight, between blanks, tabs or commas; # and % comment."""
    _check_text(path)
    skip, first = _first_data_line(path)
    delimiter = next((d for d in ("\t", ",", ";") if d in first), " ")
    width = len(first.split(delimiter))
    if width not in (2, 3):
        raise DataError(
            f"{path} has {width} columns in its first line; expected 2 or 3: source, target and perhaps a weight; "
            "for a table with a header, use .csv or .tsv"
        )
    names = ["source", "target", "weight"][:width]
    types = {"source": pa.string(), "target": pa.string(), "weight": pa.float64()}
    return _parse(
        path,
        pacsv.ReadOptions(column_names=names, skip_rows=skip),
        pacsv.ParseOptions(delimiter=delimiter),
        pacsv.ConvertOptions(column_types={name: types[name] for name in names}, strings_can_be_null=False),
    )


def _parse(path: Path, reading: Any, parsing: Any, converting: Any) -> pa.Table:
    try:
        table = pacsv.read_csv(path, read_options=reading, parse_options=parsing, convert_options=converting)
    except pa.ArrowInvalid as error:
        _explain_ragged(path, reading, parsing, converting)
        raise DataError(f"{path} cannot be read as a table: {_brief(error)}") from error
    except pa.ArrowException as error:
        raise DataError(f"{path} cannot be read as a table: {_brief(error)}") from error
    if table.num_rows == 0:
        raise DataError(f"{path} has a header but no rows; expected at least one")
    return table


def _explain_ragged(path: Path, reading: Any, parsing: Any, converting: Any) -> None:
    """Read once more, in order and skipping bad rows, to be able to say how many there are and which is first."""
    bad: list[Any] = []

    def note(row: Any) -> str:
        bad.append(row)
        return "skip"

    slow = pacsv.ReadOptions(column_names=reading.column_names, skip_rows=reading.skip_rows, use_threads=False)
    parsing.invalid_row_handler = note
    try:
        pacsv.read_csv(path, read_options=slow, parse_options=parsing, convert_options=converting)
    except pa.ArrowException:
        if not bad:
            return
    if bad:
        first = bad[0]
        where = f"line {first.number}" if first.number else f"the line {first.text[:60]!r}"
        raise DataError(
            f"{path}: {len(bad)} row(s) do not have {first.expected_columns} columns like the first, the first is "
            f"{where} with {first.actual_columns}; every row must have the same columns"
        )


def _read_parquet(path: Path, text: Collection[str], only: Collection[str] | None) -> pa.Table:
    schema = _parquet(path).schema_arrow
    wanted = [name for name in schema.names if only is None or name in only]
    try:
        table = pq.read_table(path, columns=wanted)
        for name in text:
            if name in wanted:
                place = table.column_names.index(name)
                table = table.set_column(place, name, table.column(name).cast(pa.string()).fill_null(""))
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path} cannot be read: {_brief(error)}") from error
    if table.num_rows == 0:
        raise DataError(f"{path} has no rows; expected at least one")
    return table


def _parquet(path: Path) -> Any:
    try:
        return pq.ParquetFile(path)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path} is not a readable Parquet file: {_brief(error)}") from error


def _check_text(path: Path) -> None:
    """UTF-8, not empty, no NUL bytes; the first offence is named by line."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    line, empty = 1, True
    with path.open("rb") as stream:
        while chunk := stream.read(1 << 24):
            if empty and chunk[:2] in (b"\xff\xfe", b"\xfe\xff"):
                raise DataError(f"{path} is UTF-16 text; expected UTF-8; save it again as UTF-8")
            empty = empty and not chunk.strip()
            if b"\0" in chunk:
                line += chunk[: chunk.index(b"\0")].count(b"\n")
                raise DataError(f"{path} holds a NUL byte in line {line}; expected a text file")
            try:
                decoder.decode(chunk)
            except UnicodeDecodeError as error:
                line += chunk[: error.start].count(b"\n")
                raise DataError(
                    f"{path} is not UTF-8 text: line {line} holds the byte 0x{error.object[error.start]:02x}; "
                    "save it again as UTF-8"
                ) from error
            line += chunk.count(b"\n")
    if empty:
        raise DataError(f"{path} is empty; expected a table")


def _first_data_line(path: Path) -> tuple[int, str]:
    with path.open("rb") as stream:
        for number, line in enumerate(stream):
            stripped = line.strip()
            if stripped and not stripped.startswith(COMMENTS):
                return number, stripped.decode("utf-8-sig")
    raise DataError(f"{path} holds only comments; expected lines of source and target")


def _delimiter(path: Path, header: str) -> str:
    usual = DELIMITERS.get(path.suffix, ",")
    if usual in header:
        return usual
    return next((other for other in (";", "\t", "|", ",") if other in header), usual)


def _brief(error: BaseException) -> str:
    return str(error).splitlines()[0][:300]
