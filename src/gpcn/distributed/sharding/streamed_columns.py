"""The content of a streamed column: its different values with how often each occurs, and the role that they suggest.

Roles are guessed by the rules of `gpcn.preparation.roles`, of a column that is never in memory as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from gpcn.core.errors import DataError, Option
from gpcn.core.types import IntVector
from gpcn.distributed.sharding.table_database import TableDatabase, quoted_name, text_literal
from gpcn.preparation import roles, values
from gpcn.preparation.misfits import MisfitError
from gpcn.preparation.roles import FEW, ID_NAME, SAMPLE, Guess, Role
from gpcn.preparation.text_encoders import category_texts

MOST = 1_000_000  # different values of a column that is no number
WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
FLOATING = ("FLOAT", "DOUBLE", "DECIMAL")
UNSTREAMED = ("tags", "text")


def is_duckdb_number_type(kind: str) -> bool:
    """Whether a type of DuckDB holds numbers."""
    return kind.split("(", maxsplit=1)[0] in (*WHOLE, *FLOATING)


@dataclass(frozen=True)
class DistinctValues:
    """The different `cells` of a column in the order in which they come, missing ones too, and how often each does."""

    cells: Any
    counts: IntVector

    @classmethod
    def read(cls, database: TableDatabase, name: str) -> DistinctValues:
        """Those of column `name` of the nodes; too many are refused."""
        many = f"SELECT count(*) FROM (SELECT DISTINCT {quoted_name(name)} FROM nodes LIMIT {MOST + 1})"
        if database.rows(many)[0][0] > MOST:
            raise DataError(
                f"column {name!r} has more than {MOST:,} different values, too many for a category or a date of "
                f"streamed tables; leave it out with {Option('drop', name)}"
            )
        table = database.table(
            f"SELECT {quoted_name(name)} AS cell, count(*) AS rows FROM nodes GROUP BY 1 ORDER BY min(gpcn_node)"
        )
        return cls(table.column("cell").combine_chunks(), table.column("rows").to_numpy())

    def missing_share(self) -> float:
        """The share of rows without a value."""
        absent = self.cells.is_null()
        if not (values.is_number_type(self.cells.type) or values.is_date_type(self.cells.type)):
            absent = pc.equal(category_texts(self.cells), "")
        return float(self.counts[absent.to_numpy(zero_copy_only=False)].sum() / max(1, self.counts.sum()))


def guess_streamed_role(database: TableDatabase, name: str, role: Role | None, distinct: DistinctValues) -> Guess:
    """The role of a column, said or guessed; one that is not made of streamed columns is refused."""
    try:
        guess = (
            roles.declared_role(role, distinct.cells, name) if role is not None else _guess(database, name, distinct)
        )
    except MisfitError as error:
        raise DataError(
            f"column {name!r} holds {error.cell!r}; expected {error.expected}; correct it, or say what the column "
            f"holds with {Option('category', name)} or {Option('drop', name)}"
        ) from error
    except DataError as error:
        raise DataError(f"column {name!r}: {error}") from error
    if guess.role in UNSTREAMED:
        raise DataError(
            f"column {name!r} holds {guess.role}, which is not prepared while tables are streamed; leave it out with "
            f"{Option('drop', name)}, say that it is a category with {Option('category', name)}, or leave "
            f"{Option('memory')} out if the graph fits"
        )
    return guess


def _guess(database: TableDatabase, name: str, distinct: DistinctValues) -> Guess:
    cells = distinct.cells
    plain = values.is_text_type(cells.type) and values.column_flags(cells) is None
    quantities = values.column_numbers(cells) is not None or values.column_times(cells) is not None
    if not plain or (quantities and not values.is_code_column(cells)):
        return roles.guess_role(name, cells)  # decided by which values there are, not by how many
    texts = category_texts(cells)
    present = pc.not_equal(texts, "")
    where = present.to_numpy(zero_copy_only=False)
    unlike = [text for text in cells.filter(pc.invert(present)).to_pylist() if text is not None]
    listed = f" AND {quoted_name(name)} NOT IN ({', '.join(map(text_literal, unlike))})" if unlike else ""
    first = database.table(
        f"SELECT {quoted_name(name)} AS cell FROM nodes WHERE {quoted_name(name)} IS NOT NULL{listed} "
        f"ORDER BY gpcn_node LIMIT {SAMPLE}"
    )
    sample = category_texts(first.column("cell"))
    total, rows = int(distinct.counts[where].sum()), int(distinct.counts.sum())
    return roles.text_role(pc.unique(texts.filter(present)), total, rows, sample, texts)


def guess_streamed_number(database: TableDatabase, name: str, source: str) -> tuple[Guess, float]:
    """The role of a column of numbers, and its share of missing ones; `source` has `gpcn_node` and `number`."""
    present = "FILTER (number IS NOT NULL AND NOT isnan(number))"
    ((rows, count, infinite, low, high, flags, whole, nonzero),) = database.rows(
        f"SELECT count(*), count(*) {present}, count(*) FILTER (isinf(number)), min(number) {present}, "
        f"max(number) {present}, bool_and(number IN (0, 1)) {present}, bool_and(number = floor(number)) {present}, "
        f"count(*) FILTER (number <> 0 AND NOT isnan(number)) FROM {source}"
    )
    if infinite:
        raise DataError(f"column {name!r} holds {infinite} infinite number(s); correct it or leave the column out")
    guess = Guess("number")
    if not count:
        guess = Guess("constant", "every value is missing")
    elif count == rows and low == high:
        guess = Guess("constant", "every value is the same")
    elif flags:
        guess = Guess("boolean")
    elif whole:
        counts = Guess("count") if low >= 0 and nonzero <= 0.2 * rows else guess
        guess = (_identity(database, name, source, rows) if count == rows and rows > FEW else None) or counts
    return guess, (rows - count) / max(1, rows)


def _identity(database: TableDatabase, name: str, source: str, rows: int) -> Guess | None:
    """Whether whole numbers, none of them missing, are ids."""
    step = "number - lag(number) OVER (ORDER BY gpcn_node)"
    if database.rows(f"SELECT bool_and(step = 1) FROM (SELECT {step} AS step FROM {source})")[0][0]:
        return Guess("id", "it only counts the rows")
    if ID_NAME.search(name) and database.rows(f"SELECT count(DISTINCT number) FROM {source}")[0][0] == rows:
        return Guess("id", "a different number in every row, and named like an id")
    return None


def create_mapped_cells(database: TableDatabase, name: str, cells: Any, numbers: values.Floats) -> str:
    """A source with the number of every node's cell: `numbers[i]` where it is `cells[i]`."""
    numbers_in_use = {
        int(table[0].rsplit("_", 1)[1])
        for table in database.rows(
            "SELECT table_name FROM information_schema.tables WHERE table_name LIKE 'gpcn_numbers_%'"
        )
    }
    mapping = f"gpcn_numbers_{max(numbers_in_use, default=-1) + 1}"
    database.create(mapping, pa.table({"cell": cells, "number": pa.array(numbers, from_pandas=True)}))
    return (
        f"(SELECT gpcn_node, m.number FROM nodes LEFT JOIN {mapping} AS m "
        f"ON nodes.{quoted_name(name)} IS NOT DISTINCT FROM m.cell)"
    )


def column_numbers_sql(name: str) -> str:
    """A source of a column of numbers."""
    return f"(SELECT gpcn_node, {quoted_name(name)}::DOUBLE AS number FROM nodes)"
