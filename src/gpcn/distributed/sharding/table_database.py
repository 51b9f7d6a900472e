"""Tables of edges and nodes that need not fit into memory: joined and sorted by DuckDB, which spills to disk."""

from __future__ import annotations

import glob
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from gpcn.core.errors import ConfigError, DataError, Option
from gpcn.core.extras import require_library
from gpcn.data.tables.delimited import DELIMITERS, table_file_ending


def quoted_name(name: str) -> str:
    """The name of a column, in SQL."""
    return '"' + name.replace('"', '""') + '"'


def text_literal(text: str) -> str:
    """A text, in SQL."""
    return "'" + text.replace("'", "''") + "'"


def matching_files(pattern: str, what: str) -> list[Path]:
    """The files that a path or a glob names, all of one kind, in the order of their names."""
    paths = sorted(Path(name) for name in glob.glob(pattern, recursive=True))  # noqa: PTH207  (a pattern may begin anywhere)
    if not paths:
        raise DataError(f"there is no file {pattern} of {what}; check the path")
    kinds = {_kind(path) for path in paths}
    if len(kinds) > 1:
        raise DataError(f"{pattern} names CSV and Parquet files; expected {what} of one kind")
    return paths


class TableDatabase:
    """A DuckDB database in a file of its own, which may use so much memory and no more.

    Args:
        file: where it lies; what is spilled lies beside it.
        memory: such as `4GB`.
    """

    def __init__(self, file: Path, memory: str) -> None:
        duckdb = require_library("duckdb", "cutting tables into parts")
        if re.fullmatch(r"\d+(\.\d+)?\s*[KMGT]i?B", memory) is None:
            raise ConfigError(f"{Option('memory')} is {memory!r}; expected a size such as 4GB or 500MB")
        self._error = duckdb.Error
        file.parent.mkdir(parents=True, exist_ok=True)
        with self.errors():
            self._connection = duckdb.connect(str(file))
            self.run(f"SET memory_limit = {text_literal(memory)}")
            self.run(f"SET temp_directory = {text_literal(str(file.with_suffix('.spilled')))}")
            self.run("SET enable_progress_bar = false")

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Say in one sentence what DuckDB cannot do."""
        try:
            yield
        except self._error as error:
            reason = str(error).strip().splitlines()[0]
            raise DataError(
                f"the tables cannot be read: {reason:.300}; correct them, or raise {Option('memory')}"
            ) from error

    def run(self, sql: str, *values: Any) -> Any:
        """Execute `sql`."""
        with self.errors():
            return self._connection.execute(sql, list(values))

    def table(self, sql: str) -> pa.Table:
        """The rows of a query."""
        with self.errors():
            return self._connection.sql(sql).to_arrow_table()

    def create(self, name: str, content: pa.Table) -> None:
        """Keep `content` as a table of that name."""
        with self.errors():
            self._connection.register("gpcn_content", content)
            self._connection.execute(f"CREATE OR REPLACE TABLE {quoted_name(name)} AS SELECT * FROM gpcn_content")
            self._connection.unregister("gpcn_content")

    def append(self, name: str, batches: Iterable[pa.Table]) -> None:
        """Keep `batches` together as a table of that name: all of them, or none."""
        self.run("BEGIN")
        try:
            for number, batch in enumerate(batches):
                with self.errors():
                    self._connection.register("gpcn_batch", batch)
                    how = "INSERT INTO {}" if number else "CREATE OR REPLACE TABLE {} AS"
                    self._connection.execute(f"{how.format(quoted_name(name))} SELECT * FROM gpcn_batch")
                    self._connection.unregister("gpcn_batch")
        except BaseException:
            self.run("ROLLBACK")
            raise
        self.run("COMMIT")

    def rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """The rows of a query that gives few."""
        with self.errors():
            return list(self._connection.execute(sql, list(values)).fetchall())

    def columns(self, source: str) -> dict[str, str]:
        """The columns of a table or scan, with their types."""
        return {str(row[0]): str(row[1]) for row in self.rows(f"DESCRIBE SELECT * FROM {source}")}

    def has(self, name: str) -> bool:
        """Whether there is a table of that name."""
        return bool(self.rows("SELECT 1 FROM information_schema.tables WHERE table_name = ?", name))

    def close(self) -> None:
        """Leave it on disk."""
        self._connection.close()


def _kind(path: Path) -> str:
    ending = table_file_ending(path)
    if ending not in (*DELIMITERS, ".parquet"):
        expected = ", ".join((*DELIMITERS, ".parquet"))
        raise DataError(f"{path} has an unknown ending; expected {expected}; CSV may be compressed, such as .csv.gz")
    return "parquet" if ending == ".parquet" else "csv"
