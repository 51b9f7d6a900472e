"""CSV, TSV, Parquet and plain edge lists into Arrow tables, with errors that say where."""

from __future__ import annotations

import codecs
import contextlib
import csv
import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from gpcn.errors import DataError

DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
EDGE_LISTS = (".txt", ".edges", ".edgelist", ".el")
SUFFIXES = (*DELIMITERS, ".parquet")
UNNAMED = "Unnamed: {}"  # what pandas calls a column without a name
BLOCK = 1 << 24


@dataclass(frozen=True)
class Header:
    """The first line of a delimited file: column names, where the data starts, what separates fields."""

    names: tuple[str, ...]
    skip: int
    delimiter: str


def column_names(path: Path) -> list[str]:
    """The names of a table's columns."""
    names = list(_parquet(path).schema_arrow.names) if path.suffix.lower() == ".parquet" else list(_header(path).names)
    if not names:
        raise DataError(f"{path} has no columns; expected a table")
    if len(set(names)) < len(names):
        repeated = next(name for name, times in Counter(names).items() if times > 1)
        raise DataError(f"{path} has two columns called {repeated!r}; rename one")
    return names


def read_table(
    path: Path, *, text: Collection[str], only: Collection[str] | None = None, may_be_empty: bool = False
) -> pa.Table:
    """A table with a header. Columns in `text` are kept to the letter as strings; `only` limits what is read."""
    names = column_names(path)
    chosen = set(names if only is None else only)
    wanted = [name for name in names if name in chosen]
    if path.suffix.lower() == ".parquet":
        table = _read_parquet(path, text, wanted)
    else:
        header = _header(path)
        table = _parse(
            path,
            path,
            pacsv.ReadOptions(column_names=names, skip_rows=header.skip, block_size=BLOCK),
            pacsv.ParseOptions(delimiter=header.delimiter),
            pacsv.ConvertOptions(
                include_columns=wanted, column_types=dict.fromkeys(text, pa.string()), strings_can_be_null=False
            ),
        )
    if table.num_rows == 0 and not may_be_empty:
        raise DataError(f"{path} has a header but no rows; expected at least one")
    return table


def read_edge_list(path: Path) -> pa.Table:
    """A headerless list: source, target and perhaps a weight, between blanks, tabs or commas; # and % comment."""
    _check_text(path)
    content = path.read_bytes().removeprefix(codecs.BOM_UTF8).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    content = re.sub(rb"(?m)^[ \t]*[#%].*$", b"", content)
    first = next((line for line in content.split(b"\n", 10_000) if line.strip()), b"")
    delimiter = next((mark for mark in (b",", b";") if mark in first), b" ")
    if delimiter == b" ":
        content = re.sub(rb"(?m)^ | $", b"", re.sub(rb"[ \t]+", b" ", content))
        first = b" ".join(first.split())
    width = len(first.split(delimiter)) if first else 0
    if width not in (2, 3):
        raise DataError(
            f"{path} has {width} columns in its first line; expected 2 or 3: source, target and perhaps a weight; "
            "for a table with a header, use .csv or .tsv"
        )
    types = dict(list({"source": pa.string(), "target": pa.string(), "weight": pa.float64()}.items())[:width])
    return _parse(
        path,
        pa.BufferReader(content),
        pacsv.ReadOptions(column_names=list(types), block_size=BLOCK),
        pacsv.ParseOptions(delimiter=delimiter.decode()),
        pacsv.ConvertOptions(column_types=types, strings_can_be_null=False),
    )


def _header(path: Path) -> Header:
    _check_text(path)
    with path.open(encoding="utf-8-sig", newline="") as stream:
        skip, line = next((number, line) for number, line in enumerate(stream, start=1) if line.strip())
    delimiter = _delimiter(path, line)
    if line.count('"') % 2:
        raise DataError(f"{path} has an unclosed quote or a line break inside its header; put every name on one line")
    cells = next(csv.reader([line.rstrip("\r\n")], delimiter=delimiter))
    return Header(tuple(cell.strip() or UNNAMED.format(at) for at, cell in enumerate(cells)), skip, delimiter)


def _parse(path: Path, source: Any, reading: Any, parsing: Any, converting: Any) -> pa.Table:
    names = converting.include_columns or reading.column_names
    try:
        return pacsv.read_csv(source, read_options=reading, parse_options=parsing, convert_options=converting)
    except pa.ArrowInvalid as error:
        if "Empty CSV" in str(error) or "Could not skip initial" in str(error):
            return pa.table({name: pa.array([], converting.column_types.get(name, pa.null())) for name in names})
        _explain_ragged(path, source, reading, parsing, converting)
        raise DataError(f"{path} cannot be read as a table: {_brief(error)}") from error
    except pa.ArrowException as error:
        raise DataError(f"{path} cannot be read as a table: {_brief(error)}") from error


def _explain_ragged(path: Path, source: Any, reading: Any, parsing: Any, converting: Any) -> None:
    """Read once more, in order and skipping bad rows, to be able to say how many there are and which is first."""
    bad: list[Any] = []

    def note(row: Any) -> str:
        bad.append(row)
        return "skip"

    reading.use_threads = False
    parsing.invalid_row_handler = note
    if isinstance(source, pa.BufferReader):
        source.seek(0)
    with contextlib.suppress(pa.ArrowException):
        pacsv.read_csv(source, read_options=reading, parse_options=parsing, convert_options=converting)
    if bad:
        first = bad[0]
        where = f"line {first.number}" if first.number else f"the line {first.text[:60]!r}"
        raise DataError(
            f"{path}: {len(bad)} row(s) do not have {first.expected_columns} columns, the first is {where} with "
            f"{first.actual_columns}; every row must have as many as the header (look for an unclosed quote too)"
        )


def _read_parquet(path: Path, text: Collection[str], wanted: list[str]) -> pa.Table:
    try:
        table = pq.read_table(path, columns=wanted)
        for name in text:
            if name in wanted:
                place = table.column_names.index(name)
                table = table.set_column(place, name, table.column(name).cast(pa.string()).fill_null(""))
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path} cannot be read: {_brief(error)}") from error
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
        while True:
            chunk = stream.read(BLOCK)
            if empty and chunk[:2] in (b"\xff\xfe", b"\xfe\xff"):
                raise DataError(f"{path} is UTF-16 text; expected UTF-8; save it again as UTF-8")
            empty = empty and not chunk.strip()
            if b"\0" in chunk:
                line += chunk[: chunk.index(b"\0")].count(b"\n")
                raise DataError(f"{path} holds a NUL byte in line {line}; expected a text file")
            try:
                decoder.decode(chunk, final=not chunk)
            except UnicodeDecodeError as error:
                line += error.object[: error.start].count(b"\n")
                raise DataError(
                    f"{path} is not UTF-8 text: line {line} holds the byte 0x{error.object[error.start]:02x}; "
                    "save it again as UTF-8"
                ) from error
            if not chunk:
                break
            line += chunk.count(b"\n")
    if empty:
        raise DataError(f"{path} is empty; expected a table")


def _delimiter(path: Path, header: str) -> str:
    bare = re.sub(r'"[^"]*"', "", header)
    usual = DELIMITERS.get(path.suffix.lower(), ",")
    if usual in bare:
        return usual
    return next((other for other in (";", "\t", "|", ",") if other in bare), usual)


def _brief(error: BaseException) -> str:
    return str(error).splitlines()[0][:300]
