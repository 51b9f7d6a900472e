"""Tables of edges and nodes in a database: which column is what, nodes numbered, links between numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from gpcn.core.errors import DataError, Option
from gpcn.core.types import UNKNOWN
from gpcn.data.tables.assembly import PARTS
from gpcn.data.tables.columns import Columns
from gpcn.data.tables.edge_columns import ROUNDING
from gpcn.data.tables.edge_ends import SourceTable, refuse_two_kinds
from gpcn.data.tables.node_labels import read_label_column
from gpcn.distributed.sharding.stored_tables import shared_column_names, store_tables
from gpcn.distributed.sharding.table_database import TableDatabase, quoted_name, text_literal
from gpcn.preparation.values import MISSING

KNOWN = "FROM pairs WHERE source IS NOT NULL AND target IS NOT NULL"
IN_MEMORY = f"leave {Option('memory')} out if the graph fits into memory"


@dataclass(frozen=True)
class Tables:
    """Files of edges and of nodes, what their columns hold, and what the graph is called."""

    edges: Sequence[Path]
    nodes: Sequence[Path]
    columns: Columns
    name: str


def resolve_columns(tables: Tables) -> Columns:
    """Return the role of each column, after refusing what cannot be streamed."""
    columns = tables.columns.in_edges(shared_column_names(tables.edges), str(tables.edges[0]))
    columns = columns.in_nodes(shared_column_names(tables.nodes), str(tables.nodes[0]))
    dropped = {name for name, role in columns.roles.items() if role == "drop"}
    columns = replace(columns, features=tuple(name for name in columns.features or () if name not in dropped))
    if columns.structure != "none":
        raise DataError(
            f"features from links are not made while tables are streamed; add {Option('structure', 'none')}, or "
            f"{IN_MEMORY}"
        )
    if columns.type is not None:
        raise DataError(f"types of edges (column {columns.type!r}) are not read while tables are streamed; {IN_MEMORY}")
    if columns.unknown == "add":
        add, drop = Option("unknown", "add"), Option("unknown", "drop")
        raise DataError(f"{add} is not done while tables are streamed; use {drop}, or {IN_MEMORY}")
    if columns.label is None or not columns.splits:
        what = (
            f"a column of labels ({Option('label')})"
            if columns.label is None
            else f"a column that says train, val or test ({Option('split')})"
        )
        raise DataError(f"{tables.nodes[0]} needs {what} to be streamed; add it, or {IN_MEMORY}")
    return columns


def join_tables(database: TableDatabase, tables: Tables, columns: Columns) -> None:
    """The tables `nodes`, numbered, `links` between numbers, sorted, and `notes`; what is there already is kept."""
    if database.has("links"):
        return
    identity, label = str(columns.id), str(columns.label)
    texts, features = [identity, label, *(columns.splits or ())], columns.features or ()
    store_tables(database, "rows", tables.nodes, text=texts, others=features, literal=columns.literal_columns)
    chosen = ", ".join(map(quoted_name, [*texts[1:], *features]))
    database.run(
        f"CREATE OR REPLACE TABLE nodes AS SELECT gpcn_row AS gpcn_node, {quoted_name(identity)} AS gpcn_id, {chosen} "
        "FROM rows ORDER BY gpcn_row"
    )
    _check_streamed_ids(database, tables.nodes[0])
    if not database.rows("SELECT 1 FROM nodes WHERE NOT regexp_full_match(gpcn_id, '\\d+') LIMIT 1"):
        refuse_two_kinds(str(tables.edges[0]), str(tables.nodes[0]), columns)
    source, target = quoted_name(str(columns.source)), quoted_name(str(columns.target))
    weights = [columns.weight] if columns.weight else []
    store_tables(database, "rows", tables.edges, text=[str(columns.source), str(columns.target)], others=weights)
    key = _id_type(database, source, target)
    weight = f"TRY_CAST(e.{quoted_name(columns.weight)} AS DOUBLE)" if columns.weight else "1::DOUBLE"
    pairs = (
        f"SELECT s.gpcn_node AS source, t.gpcn_node AS target, {weight} AS weight FROM rows AS e "
        f"LEFT JOIN nodes AS s ON e.{source}::{key} = s.gpcn_id::{key} "
        f"LEFT JOIN nodes AS t ON e.{target}::{key} = t.gpcn_id::{key}"
    )
    database.run(f"CREATE OR REPLACE TABLE pairs AS {pairs}")
    database.create("notes", pa.table({"text": pa.array(_check_pairs(database, tables, columns), pa.string())}))
    links = (_undirected_links if columns.undirected else _directed_links)(database, columns)
    database.run(f"CREATE OR REPLACE TABLE links AS {links} ORDER BY source, target")
    for name in ("rows", "pairs", "once"):
        database.run(f"DROP TABLE IF EXISTS {name}")


def _directed_links(database: TableDatabase, columns: Columns) -> str:
    merged = "1.0" if columns.weight is None else "sum(weight)"
    return f"SELECT source, target, {merged} AS weight {KNOWN} GROUP BY source, target"


def _undirected_links(database: TableDatabase, columns: Columns) -> str:
    """Both directions of every edge, by the rule of `edge_columns.list_both_directions` and `undirected_adjacency`."""
    sums = ", ".join(
        f"coalesce(sum(weight) FILTER (WHERE source {order} target), 0) AS {name}"
        for name, order in (("forward", "<="), ("backward", ">"))
    )
    database.run(
        f"CREATE OR REPLACE TABLE once AS SELECT least(source, target) AS a, greatest(source, target) AS b, {sums} "
        f"{KNOWN} GROUP BY 1, 2"
    )
    same = f"abs(forward - backward) <= {ROUNDING} * greatest(forward, backward)"
    ((listed_twice,),) = database.rows(f"SELECT bool_and({same}) FROM once WHERE a < b")
    total = "greatest(forward, backward)" if listed_twice else "forward + backward"
    weight = "1.0" if columns.weight is None else total
    ends = ("a AS source, b AS target", "b, a")
    return " UNION ALL ".join(f"SELECT {pair}, {weight} AS weight FROM once" for pair in ends) + " WHERE a < b"


def _check_streamed_ids(database: TableDatabase, path: Path) -> None:
    empty = database.rows("SELECT gpcn_node FROM nodes WHERE gpcn_id = '' LIMIT 1")
    if empty:
        raise DataError(f"{path}: row {empty[0][0] + 1} has no id; expected an id for every node")
    twice = database.rows("SELECT gpcn_id FROM nodes GROUP BY gpcn_id HAVING count(*) > 1 LIMIT 1")
    if twice:
        raise DataError(f"{path}: the id {twice[0][0]!r} is there more than once; expected one row each")


def _id_type(database: TableDatabase, source: str, target: str) -> str:
    """The type as which ids are joined: numbers, which is faster, where all are written in the only way of numbers."""
    plain = " AND ".join(
        f"(SELECT coalesce(bool_and(regexp_full_match({column}, '0|[1-9][0-9]{{0,17}}')), true) FROM {table})"
        for column, table in (("gpcn_id", "nodes"), (source, "rows"), (target, "rows"))
    )
    return "BIGINT" if database.rows(f"SELECT {plain}")[0][0] else "VARCHAR"


def _check_pairs(database: TableDatabase, tables: Tables, columns: Columns) -> list[str]:
    """Refuse ends that are no nodes, and weights that are none; notes on edges that were dropped or merged."""
    ((strangers, bad),) = database.rows(
        "SELECT count(*) FILTER (WHERE source IS NULL OR target IS NULL), "
        "count(*) FILTER (WHERE weight IS NULL OR NOT (weight > 0) OR isinf(weight)) FROM pairs"
    )
    if strangers and columns.unknown == "error":
        raise DataError(
            f"{tables.edges[0]}: {strangers:,} edge(s) have an end that is not among the nodes; leave them out with "
            f"{Option('unknown', 'drop')}"
        )
    if bad:
        raise DataError(f"{tables.edges[0]}: {bad:,} weight(s) are not positive; expected numbers above 0")
    ((kept, different),) = database.rows(
        f"SELECT (SELECT count(*) {KNOWN}), (SELECT count(*) FROM (SELECT DISTINCT source, target {KNOWN}))"
    )
    how = "summed" if columns.weight else "counted once"
    return [
        *([f"{strangers:,} edge(s) with an end that is not among the nodes were dropped"] if strangers else []),
        *([f"{kept - different:,} edge(s) listed more than once were {how}"] if kept > different else []),
    ]


def read_table_classes(database: TableDatabase, columns: Columns) -> tuple[list[str], Any]:
    """The names of the classes and how many nodes each has; the table `classes` numbers what the column holds."""
    label = quoted_name(str(columns.label))
    cells = database.rows(f"SELECT {label}, count(*) FROM nodes GROUP BY 1 ORDER BY 1")
    table = SourceTable(pa.table({str(columns.label): [cell for cell, _ in cells]}), "the tables of nodes")
    numbers, names = read_label_column(table, columns, sum(count for _, count in cells), True, [])
    database.run("CREATE OR REPLACE TABLE classes (cell VARCHAR, number BIGINT)")
    counts = np.zeros(len(names or ()), dtype=np.int64)
    for (cell, count), number in zip(cells, numbers.tolist(), strict=True):
        database.run("INSERT INTO classes VALUES (?, ?)", cell, number)
        if number != UNKNOWN:
            counts[number] += count
    return list(names or ()), counts


def streamed_links_are_directed(database: TableDatabase) -> bool:
    """Whether some link lacks its mirror image of the same weight.

    Links differ from each other, so they are their own mirror images if the sums of their hashes are the same; of
    64 bits each, which errs once in 10^19 tables. A join of all links with themselves would spill them to disk.
    """
    ends = ("source, target", "target, source")
    sums = ", ".join(f"sum(hash(hash({pair}, weight))::HUGEINT)" for pair in ends)
    ((forward, backward),) = database.rows(f"SELECT {sums} FROM links")
    return bool(forward != backward)


def count_link_entries(database: TableDatabase, directed: bool) -> Any:
    """Return the number of entries in the rows of each node."""
    nodes = int(database.rows("SELECT count(*) FROM nodes")[0][0])
    counts = np.zeros(nodes, dtype=np.int64)
    for end in ("source", "target") if directed else ("source",):
        table = database.table(f"SELECT {end} AS node, count(*) AS links FROM links GROUP BY {end}")
        counts[table.column("node").to_numpy()] += table.column("links").to_numpy()
    return counts


def check_streamed_splits(database: TableDatabase, columns: Columns) -> None:
    """Refuse splits with an unknown word, or nodes without a label."""
    label = quoted_name(str(columns.label))
    for column in columns.splits or ():
        words = [word for synonyms in PARTS.values() for word in synonyms]
        allowed = ", ".join(map(text_literal, [*words, *sorted(MISSING)]))
        cell = f"lower({quoted_name(column)})"
        strange = database.rows(f"SELECT {cell} FROM nodes WHERE {cell} NOT IN ({allowed}) LIMIT 1")
        if strange:
            raise DataError(
                f"split column {column!r} holds {strange[0][0]!r}; expected train, val, test, calibration or nothing"
            )
        ((unlabelled,),) = database.rows(
            f"SELECT count(*) FROM nodes LEFT JOIN classes AS c ON {label} = c.cell "
            f"WHERE {split_role_sql(column)} > 0 AND coalesce(c.number, -1) < 0"
        )
        if unlabelled:
            raise DataError(f"split column {column!r} names {unlabelled:,} node(s) without a label; label them, or not")


def split_role_sql(column: str) -> str:
    """The role of a node in a split, in SQL: 0 none, 1 train, 2 val, 3 test, 4 calibration."""
    cell = f"lower({quoted_name(column)})"
    cases = " ".join(
        f"WHEN {cell} IN ({', '.join(map(text_literal, words))}) THEN {code}"
        for code, words in enumerate(PARTS.values(), start=1)
    )
    return f"(CASE {cases} ELSE 0 END)::TINYINT"
