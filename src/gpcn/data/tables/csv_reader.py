"""Delimited text into Arrow tables, and a sentence that says where for text that is no table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv

from gpcn.core import machine_memory
from gpcn.core.errors import DataError

LARGEST_BLOCK = (1 << 31) - 1  # the longest row; Arrow counts its bytes in 32 bits


@dataclass(frozen=True)
class CsvReader:
    """How Arrow reads a delimited text.

    Args:
        path: the file, for errors.
        source: opens its bytes, unpacked.
        reading: names of columns, where rows begin, and how much is read at once.
        parsing: what separates fields.
        converting: columns that are wanted, and their types.
    """

    path: Path
    source: Callable[[], Any]
    reading: pacsv.ReadOptions
    parsing: pacsv.ParseOptions
    converting: pacsv.ConvertOptions

    def table(self) -> pa.Table:
        """Return all of it; a text without rows is a table without rows."""
        try:
            return pacsv.read_csv(self.source(), self.reading, self.parsing, self.converting)
        except pa.ArrowException as error:
            if _is_without_rows(error):
                types = self.converting.column_types
                return pa.table({name: pa.array([], kind) for name, kind in types.items()})
            if "straddl" in str(error) and self.reading.block_size < LARGEST_BLOCK:
                self.reading.block_size = LARGEST_BLOCK
                return self.table()
            raise self._refusal(error) from error

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Return it in batches, where it need not fit into memory."""
        try:
            with pacsv.open_csv(self.source(), self.reading, self.parsing, self.converting) as batches:
                yield from batches
        except pa.ArrowException as error:
            if not _is_without_rows(error):
                raise self._refusal(error) from error

    def _refusal(self, error: Exception) -> DataError:
        """Return the sentence for what Arrow refused: how many rows are too short or too long, and the first."""
        if "straddl" in str(error):
            size = machine_memory.readable_bytes(self.reading.block_size)
            return DataError(
                f"{self.path} holds a row of more than {size}, too long to be read; look for an unclosed quote, or "
                "shorten it"
            )
        bad: list[Any] = []

        def note(row: Any) -> str:
            bad.append(row)
            return "skip"

        self.reading.use_threads = False
        self.parsing.invalid_row_handler = note
        with (
            suppress(pa.ArrowException),
            pacsv.open_csv(self.source(), self.reading, self.parsing, self.converting) as batches,
        ):
            for _ in batches:
                pass
        if not bad:
            return DataError(f"{self.path} cannot be read as a table: {brief_reason(error)}")
        first = bad[0]
        where = f"line {first.number}" if first.number else f"the line {first.text[:60]!r}"
        return DataError(
            f"{self.path}: {len(bad)} row(s) do not have {first.expected_columns} columns, the first is {where} with "
            f"{first.actual_columns}; every row must have as many as the header (look for an unclosed quote too)"
        )


def brief_reason(error: BaseException) -> str:
    """Return the first line of what a library says."""
    return (str(error).splitlines() or [type(error).__name__])[0][:300]


def _is_without_rows(error: pa.ArrowException) -> bool:
    return "Empty CSV" in str(error) or "Could not skip initial" in str(error)
