"""CSV, TSV, JSON lines, Parquet and plain edge lists into Arrow tables, with errors that say where.

Text may be compressed: `.csv.gz`, `.jsonl.zst` and the like.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from gpcn.core import machine_memory
from gpcn.core.errors import DataError, Option
from gpcn.core.input_files import require_regular_file
from gpcn.data.tables.cell_types import typed_cells
from gpcn.data.tables.csv_reader import CsvReader, brief_reason
from gpcn.data.tables.json_lines import read_objects

DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
EDGE_LISTS = (".txt", ".edges", ".edgelist", ".el")
JSON_LINES = (".jsonl", ".ndjson")
COMPRESSED = (".gz", ".zst", ".bz2")
SUFFIXES = (*DELIMITERS, *JSON_LINES, ".parquet")
ENDINGS = (*SUFFIXES, *(f"{plain}{packed}" for plain in (*DELIMITERS, *JSON_LINES) for packed in COMPRESSED))
BLOCK = 1 << 24  # bytes at once
UNNAMED = "Unnamed: {}"  # what pandas calls a column without a name
COPIES, LINE_BYTES = 2, 64  # what a text and a row of it take at the least while they become a graph
SMALLER = f"read fewer rows, or cut the tables into parts with {Option('memory', command='shard')}"


@dataclass(frozen=True)
class Header:
    """The first line of a delimited file: column names, where the data starts, what separates fields.

    `quoted`: whether there are quotes anywhere, within which rows may go on in the next line.
    """

    names: tuple[str, ...]
    skip: int
    delimiter: str
    quoted: bool


def table_file_ending(path: Path) -> str:
    """What kind of file it is, whether compressed or not."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    return suffixes[-2] if len(suffixes) > 1 and suffixes[-1] in COMPRESSED else (suffixes[-1] if suffixes else "")


def table_file_stem(path: Path) -> str:
    """The name without its endings."""
    return (
        path.name.removesuffix(path.suffix) if table_file_ending(path) == path.suffix.lower() else Path(path.stem).stem
    )


def table_column_names(path: Path, *, bounded: bool = True) -> list[str]:
    """The names of a table's columns. `bounded`: all of the table must fit into memory."""
    require_regular_file(path)
    if table_file_ending(path) == ".parquet":
        names = _named(_parquet(path).schema_arrow.names)
    elif table_file_ending(path) in JSON_LINES:
        names = _read_json_lines(path, ()).column_names
    else:
        names = list(_header(path, bounded=bounded).names)
    if not names:
        raise DataError(f"{path} has no columns; expected a table")
    if len(set(names)) < len(names):
        repeated = next(name for name, times in Counter(names).items() if times > 1)
        raise DataError(f"{path} has two columns called {repeated!r}; rename one")
    return names


def first_data_line(path: Path) -> int:
    """The line of a file in which its first row stands, as an editor counts; 0 where rows are not lines."""
    if table_file_ending(path) in JSON_LINES:
        return 1
    return 0 if table_file_ending(path) == ".parquet" else _header(path).skip + 1


def read_table(
    path: Path,
    *,
    text: Collection[str],
    literal: Collection[str] = (),
    only: Collection[str] | None = None,
    may_be_empty: bool = False,
) -> pa.Table:
    """A table with a header; `only` limits what is read.

    Columns in `text` are read as texts, whatever they hold; those in `literal` stay what the file says, and a CSV says
    text. Cells of others decide together whether they are numbers.
    """
    names = table_column_names(path)
    chosen = set(names if only is None else only)
    wanted = [name for name in names if name in chosen]
    if table_file_ending(path) == ".parquet":
        table = _as_text(path, _read_parquet(path, wanted), text)
    elif table_file_ending(path) in JSON_LINES:
        table = _as_text(path, _read_json_lines(path, text).select(wanted), text)
    else:
        cells = _csv_reader(path, _header(path), wanted).table()
        as_written = {*text, *literal}
        columns = {name: cells.column(name) for name in wanted}
        table = pa.table({name: cell if name in as_written else typed_cells(cell) for name, cell in columns.items()})
    if table.num_rows == 0 and not may_be_empty:
        raise DataError(f"{path} has a header but no rows; expected at least one")
    return table


def stream_table(path: Path, only: Collection[str]) -> Iterator[pa.RecordBatch]:
    """The columns `only` of a table that need not fit into memory, in batches; of a CSV all cells are texts."""
    wanted = [name for name in table_column_names(path, bounded=False) if name in set(only)]
    if table_file_ending(path) == ".parquet":
        for batch in _parquet(path).iter_batches():
            yield pa.RecordBatch.from_arrays(batch.columns, names=_named(batch.schema.names)).select(wanted)
        return
    yield from _csv_reader(path, _header(path, bounded=False), wanted).batches()


def read_edge_list(path: Path) -> pa.Table:
    """A headerless list: source, target and perhaps a weight, between blanks, tabs or commas; # and % comment."""
    _check_text(path)
    content = _open(path).read().removeprefix(codecs.BOM_UTF8).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
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
    return CsvReader(
        path,
        partial(pa.BufferReader, content),
        pacsv.ReadOptions(column_names=list(types), block_size=BLOCK),
        pacsv.ParseOptions(delimiter=delimiter.decode()),
        pacsv.ConvertOptions(column_types=types, strings_can_be_null=False),
    ).table()


def _header(path: Path, *, bounded: bool = True) -> Header:
    quoted = _check_text(path, bounded=bounded)
    with io.TextIOWrapper(_open(path), encoding="utf-8-sig", newline="") as stream:
        lines = enumerate(iter(partial(stream.readline, BLOCK), ""), start=1)
        skip, line = next(((number, line) for number, line in lines if line.strip()), (0, ""))
    if not line:
        raise DataError(f"{path} is empty: it has blanks and control characters alone; expected a table")
    delimiter = _delimiter(path, line)
    if len(line) == BLOCK:
        raise DataError(f"{path} has a first line of more than {BLOCK:,} letters; expected the names of its columns")
    if line.count('"') % 2:
        raise DataError(f"{path} has an unclosed quote or a line break inside its header; put every name on one line")
    try:
        cells = next(csv.reader([line.rstrip("\r\n")], delimiter=delimiter))
    except csv.Error as error:
        raise DataError(
            f"{path} has a header that cannot be read ({error}); expected short names of columns"
        ) from error
    return Header(tuple(_named(cells)), skip, delimiter, quoted)


def _named(cells: Iterable[str]) -> list[str]:
    """Names of columns without blanks around them; one without a name is called as pandas would."""
    return [cell.strip() or UNNAMED.format(at) for at, cell in enumerate(cells)]


def _open(path: Path) -> Any:
    """The bytes of a file, unpacked where it is compressed."""
    require_regular_file(path)
    packed = path.suffix.lower() if path.suffix.lower() in COMPRESSED else None
    try:
        return pa.input_stream(str(path), compression=packed and {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}[packed])
    except pa.ArrowException as error:
        raise DataError(f"{path} cannot be opened: {brief_reason(error)}") from error


def _csv_reader(path: Path, header: Header, wanted: list[str]) -> CsvReader:
    """Return what reads the columns `wanted`, every cell as text."""
    return CsvReader(
        path,
        partial(_open, path),
        pacsv.ReadOptions(column_names=header.names, skip_rows=header.skip, block_size=BLOCK),
        pacsv.ParseOptions(delimiter=header.delimiter, newlines_in_values=header.quoted),
        pacsv.ConvertOptions(
            include_columns=wanted, column_types=dict.fromkeys(wanted, pa.string()), strings_can_be_null=False
        ),
    )


def _read_parquet(path: Path, wanted: list[str]) -> pa.Table:
    try:
        names = list(_parquet(path).schema_arrow.names)
        if names == _named(names) and not any("." in name for name in wanted):  # Arrow reads a.b as b inside a
            return pq.read_table(path, columns=wanted)
        return pq.read_table(path).rename_columns(_named(names)).select(wanted)
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise DataError(f"{path} cannot be read: {brief_reason(error)}") from error


def _read_json_lines(path: Path, text: Collection[str]) -> pa.Table:
    _check_text(path)
    try:
        table = read_objects(partial(_open, path), text)
        return table.rename_columns(_named(table.column_names))
    except (pa.ArrowException, RecursionError, ValueError) as error:
        raise DataError(f"{path} cannot be read as one JSON object per line: {brief_reason(error)}") from error


def _as_text(path: Path, table: pa.Table, text: Collection[str]) -> pa.Table:
    """The columns in `text` as strings."""
    try:
        for name in text:
            if name in table.column_names:
                column = table.column(name).cast(pa.string()).fill_null("")
                table = table.set_column(table.column_names.index(name), name, column)
    except pa.ArrowException as error:
        raise DataError(f"{path} cannot be read: {brief_reason(error)}") from error
    return table


def _parquet(path: Path) -> Any:
    require_regular_file(path)
    try:
        return pq.ParquetFile(path)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DataError(f"{path} is not a readable Parquet file: {brief_reason(error)}") from error


def _check_text(path: Path, *, bounded: bool = True) -> bool:
    """UTF-8, not empty, no NUL bytes; the first offence is named by line. Whether there are quotes.

    `bounded`: all of it must fit into memory.
    """
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    line, empty, quoted, size = 1, True, False, 0
    with _open(path) as stream:
        while True:
            try:
                chunk = stream.read(BLOCK)
            except OSError as error:
                raise DataError(f"{path} cannot be unpacked: {brief_reason(error)}") from error
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
            quoted = quoted or b'"' in chunk
            size += len(chunk)
            if bounded:
                so_far = f"{path}, of which {machine_memory.readable_bytes(size)} are read,"
                machine_memory.require_memory(float(COPIES * size + LINE_BYTES * line), so_far, SMALLER)
    if empty:
        raise DataError(f"{path} is empty; expected a table")
    return quoted


def _delimiter(path: Path, header: str) -> str:
    bare = re.sub(r'"[^"]*"', "", header)
    usual = DELIMITERS.get(table_file_ending(path), ",")
    if usual in bare:
        return usual
    return next((other for other in (";", "\t", "|", ",") if other in bare), usual)
