"""Who is linked to whom: the ids of the nodes, and the two ends of every edge among them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from gpcn.core.errors import DataError, Option
from gpcn.core.types import IntVector
from gpcn.data.tables.columns import Columns
from gpcn.preparation import values

MOST_STRANGE = 0.5  # of an end of edges; where more are not among the nodes, it may hold nodes of another kind


@dataclass(frozen=True)
class SourceTable:
    """An Arrow table, the file it came from, and where its first row stands there as an editor counts (0: in none)."""

    data: pa.Table
    where: str
    first_line: int = 0

    def at(self, row: int) -> str:
        """A row, for people."""
        return f"line {row + self.first_line}" if self.first_line else f"row {row + 1}"


@dataclass(frozen=True)
class Ends:
    """The nodes' ids, the ends of the edges among them `[2, E]`, and which rows of the table of edges these are."""

    ids: Any
    edges: IntVector
    rows: npt.NDArray[np.int64] | None = None

    def of(self, column: Any) -> Any:
        """The values of a column of edges for the edges that are kept."""
        return column if self.rows is None else column.take(pa.array(self.rows))


def read_ends(
    edges: SourceTable, nodes: SourceTable | None, columns: Columns, notes: list[str]
) -> tuple[Ends, SourceTable | None]:
    """The ends, and the table of nodes, which has more rows where nodes that only edges name are to be added."""
    source, target = (_ids(edges, str(column)) for column in (columns.source, columns.target))
    if columns.unknown != "drop":
        _check_ends(edges, {str(columns.source): source, str(columns.target): target})
    if nodes is None:
        ids = pc.unique(pa.concat_arrays([source, target]))
        ids = ids.filter(pc.not_equal(ids, ""))
    else:
        ids = _ids(nodes, str(columns.id))
        _check_ids(nodes, ids, str(columns.id))
        if pc.all(pc.match_substring_regex(ids, r"^\d+$")).as_py():
            refuse_two_kinds(edges.where, nodes.where, columns)
    positions = [pc.index_in(side, value_set=ids) for side in (source, target)]
    unknown = pc.or_(pc.is_null(positions[0]), pc.is_null(positions[1])).to_numpy(zero_copy_only=False)
    if not unknown.any():
        return Ends(ids, np.stack([np.asarray(side.to_numpy(), dtype=np.int64) for side in positions])), nodes
    rows = np.flatnonzero(unknown)
    strangers = pc.unique(
        pa.concat_arrays([side.filter(pc.is_null(at)) for side, at in zip((source, target), positions, strict=True)])
    )
    first = next(
        side[int(rows[0])].as_py()
        for side, at in zip((source, target), positions, strict=True)
        if not at[int(rows[0])].is_valid
    )
    if columns.unknown == "add" and nodes is not None:
        notes.append(
            f"{len(strangers):,} node(s) that only edges name, such as {first!r}, were added without any value"
        )
        wider = SourceTable(_with_rows(nodes.data, str(columns.id), strangers), nodes.where, nodes.first_line)
        return read_ends(edges, wider, columns, notes)
    if columns.unknown == "drop":
        kept = np.flatnonzero(~unknown)
        notes.append(f"{rows.size:,} edge(s) with an end that is not among the nodes, such as {first!r}, were dropped")
        sides = [np.asarray(side.take(pa.array(kept)).to_numpy(), dtype=np.int64) for side in positions]
        return Ends(ids, np.stack(sides) if kept.size else np.empty((2, 0), np.int64), kept), nodes
    raise DataError(
        f"{edges.where}: {rows.size:,} edge(s) name {len(strangers):,} node(s) that are not among the nodes, the first "
        f"is {first!r} in {edges.at(int(rows[0]))}{_lone_end(positions, columns)}; add the nodes, or use "
        f"{Option('unknown', 'drop')} or {Option('unknown', 'add')}"
    )


def _lone_end(positions: list[Any], columns: Columns) -> str:
    """A clause about an end that hardly names any of the nodes, where the other names nothing else."""
    strange = [side.null_count / len(side) for side in positions]
    for name, here, there in zip((columns.source, columns.target), strange, strange[::-1], strict=True):
        if here > MOST_STRANGE and not there:
            return f", all in column {name!r}, which may hold nodes of another kind"
    return ""


def edge_header_note(edges: SourceTable, columns: Columns) -> str:
    """A note where the two first columns were taken for the ends of edges; refused where their names are nodes."""
    words = [str(columns.source), str(columns.target)]
    ids = pa.concat_arrays([_ids(edges, word) for word in words]) if edges.data.num_rows else pa.array([], pa.string())
    if all(pc.any(pc.equal(ids, word)).as_py() for word in words):
        raise DataError(
            f"{edges.where} has no header: its first line, {words[0]!r} and {words[1]!r}, names two nodes of other "
            "lines; add a line of column names, or call the file .edges"
        )
    return (
        f"edges go from column {words[0]!r} to column {words[1]!r}, the first two, for no name tells; if these are two "
        "nodes, add a line of column names"
    )


def _ids(table: SourceTable, column: str) -> Any:
    try:
        return values.column_texts(table.data.column(column))
    except DataError as error:
        raise DataError(f"{table.where}, column {column!r}: {error}") from error


def _with_rows(table: pa.Table, identity: str, ids: Any) -> pa.Table:
    """More rows, of which nothing but the id is known."""
    columns = {
        field.name: ids.cast(pa.string()) if field.name == identity else pa.nulls(len(ids), field.type)
        for field in table.schema
    }
    texts = table.set_column(table.column_names.index(identity), identity, table.column(identity).cast(pa.string()))
    return pa.concat_tables([texts, pa.table(columns)])


def _check_ends(edges: SourceTable, ends: Mapping[str, Any]) -> None:
    """Refuse edges without a source or target."""
    empty = {column: pc.equal(ids, "").to_numpy(zero_copy_only=False) for column, ids in ends.items()}
    rows = np.flatnonzero(np.logical_or.reduce(list(empty.values())))
    if rows.size:
        column = next(name for name, missing in empty.items() if missing[rows[0]])
        raise DataError(
            f"{edges.where}: {rows.size:,} edge(s) have an empty end, the first in {edges.at(int(rows[0]))}, column "
            f"{column!r}; expected two nodes, so fill them in, or use {Option('unknown', 'drop')} to leave these "
            "edges out"
        )


def refuse_two_kinds(edges: str, nodes: str, columns: Columns) -> None:
    """Refuse ends whose names tell of two kinds of nodes, of nodes whose ids are all numbers: each would name both."""
    other = columns.end_of_another_kind()
    if other is not None:
        raise DataError(
            f"{edges}: column {other!r} seems to name another kind of node than {columns.id!r} of {nodes}, so that "
            f"its numbers would be taken for theirs; expected ends of one kind; if they are, rename {other!r}, for "
            f"instance to 'other_{columns.id}'"
        )


def _check_ids(nodes: SourceTable, ids: Any, column: str) -> None:
    empty = np.flatnonzero(pc.equal(ids, "").to_numpy(zero_copy_only=False))
    if empty.size:
        raise DataError(
            f"{nodes.where}: {empty.size} node(s) have no id in column {column!r}, the first is in "
            f"{nodes.at(int(empty[0]))}; expected an id for every node"
        )
    if pc.count_distinct(ids).as_py() < len(ids):
        counts = pc.value_counts(ids)
        repeated = counts.filter(pc.greater(counts.field("counts"), 1))
        raise DataError(
            f"{nodes.where}: {len(repeated)} node id(s) occur more than once in column {column!r}, the first is "
            f"{repeated[0]['values'].as_py()!r}; expected each node once"
        )
