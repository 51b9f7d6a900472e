"""Tables of edges and nodes in a database: which column is what, nodes numbered, links between numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from gpcn.data.tables.assembly import PARTS
from gpcn.data.tables.columns import Columns
from gpcn.data.tables.edge_ends import SourceTable
from gpcn.data.tables.node_labels import read_label_column
from gpcn.distributed.sharding.streamed_columns import is_duckdb_number_type
from gpcn.distributed.sharding.table_database import TableDatabase, quoted_name, scan_sql, text_literal
from gpcn.errors import DataError
from gpcn.utils.types import ROLES, UNKNOWN

INTEGERS = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}
"""Types of ids that are joined as numbers, which is faster than as text; they are written as text in one way only."""
IN_MEMORY = "leave --memory out if the graph fits into memory"


@dataclass(frozen=True)
class Tables:
    """Files of edges and of nodes, what their columns hold, and what the graph is called."""

    edges: Sequence[Path]
    nodes: Sequence[Path]
    columns: Columns
    name: str


def resolve_columns(database: TableDatabase, tables: Tables) -> Columns:
    """Which column is what, and whether all of it can be streamed."""
    edge_types, node_types = (database.columns(scan_sql(paths)) for paths in (tables.edges, tables.nodes))
    columns = tables.columns.in_edges(list(edge_types), str(tables.edges[0]))
    columns = columns.in_nodes(list(node_types), str(tables.nodes[0]))
    dropped = {name for name, role in columns.roles.items() if role == "drop"}
    columns = replace(columns, features=tuple(name for name in columns.features or () if name not in dropped))
    if columns.structure != "none":
        raise DataError(
            f"features from links are not made while tables are streamed; add --structure none, or {IN_MEMORY}"
        )
    if columns.type is not None:
        raise DataError(f"types of edges (column {columns.type!r}) are not read while tables are streamed; {IN_MEMORY}")
    if columns.unknown == "add":
        raise DataError(f"--unknown add is not done while tables are streamed; use --unknown drop, or {IN_MEMORY}")
    if columns.label is None or not columns.splits:
        what = (
            "a column of labels (--label)"
            if columns.label is None
            else "a column that says train, val or test (--split)"
        )
        raise DataError(f"{tables.nodes[0]} needs {what} to be streamed; add it, or {IN_MEMORY}")
    return columns


def join_tables(database: TableDatabase, tables: Tables, columns: Columns) -> None:
    """The tables `nodes`, numbered, and `links` between numbers, sorted; what is there already is kept."""
    if database.has("links"):
        return
    texts = [str(columns.id), str(columns.label), *(columns.splits or ())]
    chosen = ", ".join(
        [f"{quoted_name(texts[0])}::VARCHAR AS gpcn_id", *map(quoted_name, (*texts[1:], *(columns.features or ())))]
    )
    types = database.columns(scan_sql(tables.nodes))  # of CSV files; what is no number is read as it is written
    texts += [name for name in columns.features or () if not is_duckdb_number_type(types[name])]
    nodes = scan_sql(tables.nodes, texts)
    database.run(
        f"CREATE OR REPLACE TABLE nodes AS SELECT row_number() OVER () - 1 AS gpcn_node, {chosen} FROM {nodes}"
    )
    twice = database.rows("SELECT gpcn_id FROM nodes GROUP BY gpcn_id HAVING count(*) > 1 OR gpcn_id IS NULL LIMIT 1")
    if twice:
        raise DataError(
            f"{tables.nodes[0]}: the id {twice[0][0]!r} is there more than once, or missing; expected one row each"
        )
    source, target = quoted_name(str(columns.source)), quoted_name(str(columns.target))
    weight = "1" if columns.weight is None else f"e.{quoted_name(columns.weight)}"
    edges = scan_sql(tables.edges, [str(columns.source), str(columns.target)])
    ids = ((nodes, columns.id), (edges, columns.source), (edges, columns.target))
    key = "BIGINT" if {database.columns(table)[str(name)] for table, name in ids} <= INTEGERS else "VARCHAR"
    pairs = (
        f"SELECT s.gpcn_node AS source, t.gpcn_node AS target, {weight}::DOUBLE AS weight FROM {edges} AS e "
        f"LEFT JOIN nodes AS s ON e.{source}::{key} = s.gpcn_id::{key} "
        f"LEFT JOIN nodes AS t ON e.{target}::{key} = t.gpcn_id::{key}"
    )
    database.run(f"CREATE OR REPLACE TABLE pairs AS {pairs}")
    _check_pairs(database, tables, columns)
    merged = "sum(weight)" if columns.weight is not None else "1.0"
    links = (
        f"SELECT source, target, {merged} AS weight FROM pairs "
        "WHERE source IS NOT NULL AND target IS NOT NULL GROUP BY source, target"
    )
    if columns.undirected:
        database.run(f"CREATE OR REPLACE TABLE once AS {links}")
        both = "SELECT source, target, weight FROM once UNION ALL SELECT target, source, weight FROM once"
        links = f"SELECT source, target, max(weight) AS weight FROM ({both}) GROUP BY source, target"
    database.run(f"CREATE OR REPLACE TABLE links AS {links} ORDER BY source, target")
    for name in ("pairs", "once"):
        database.run(f"DROP TABLE IF EXISTS {name}")


def _check_pairs(database: TableDatabase, tables: Tables, columns: Columns) -> None:
    ((strangers, bad),) = database.rows(
        "SELECT count(*) FILTER (WHERE source IS NULL OR target IS NULL), "
        "count(*) FILTER (WHERE weight IS NULL OR NOT (weight > 0) OR isinf(weight)) FROM pairs"
    )
    if strangers and columns.unknown == "error":
        raise DataError(
            f"{tables.edges[0]}: {strangers:,} edge(s) have an end that is not among the nodes; leave them out with "
            "--unknown drop"
        )
    if bad:
        raise DataError(f"{tables.edges[0]}: {bad:,} weight(s) are not positive; expected numbers above 0")


def read_table_classes(database: TableDatabase, columns: Columns) -> tuple[list[str], Any]:
    """The names of the classes and how many nodes each has; the table `classes` numbers what the column holds."""
    label = quoted_name(str(columns.label))
    cells = database.rows(f"SELECT coalesce({label}::VARCHAR, ''), count(*) FROM nodes GROUP BY 1 ORDER BY 1")
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
    """What the rows of each node hold."""
    nodes = int(database.rows("SELECT count(*) FROM nodes")[0][0])
    counts = np.zeros(nodes, dtype=np.int64)
    for end in ("source", "target") if directed else ("source",):
        table = database.table(f"SELECT {end} AS node, count(*) AS links FROM links GROUP BY {end}")
        counts[table.column("node").to_numpy()] += table.column("links").to_numpy()
    return counts


def check_streamed_splits(database: TableDatabase, columns: Columns) -> None:
    """Refuse splits with an unknown word, an empty role, or nodes without a label."""
    label = quoted_name(str(columns.label))
    for column in columns.splits or ():
        words = [word for synonyms in PARTS.values() for word in synonyms]
        allowed = ", ".join(map(text_literal, [*words, "", "none", "na", "n/a", "nan", "null"]))
        cell = f"lower(trim(coalesce({quoted_name(column)}::VARCHAR, '')))"
        strange = database.rows(f"SELECT {cell} FROM nodes WHERE {cell} NOT IN ({allowed}) LIMIT 1")
        if strange:
            raise DataError(f"split column {column!r} holds {strange[0][0]!r}; expected train, val, test or nothing")
        counts = dict(database.rows(f"SELECT {split_role_sql(column)}, count(*) FROM nodes GROUP BY 1"))
        for code, role in enumerate(ROLES, start=1):
            if not counts.get(code):
                raise DataError(f"split column {column!r} has no {role} node; expected some of train, val and test")
        ((unlabelled,),) = database.rows(
            f"SELECT count(*) FROM nodes LEFT JOIN classes AS c ON coalesce({label}::VARCHAR, '') = c.cell "
            f"WHERE {split_role_sql(column)} > 0 AND coalesce(c.number, -1) < 0"
        )
        if unlabelled:
            raise DataError(f"split column {column!r} names {unlabelled:,} node(s) without a label; label them, or not")


def split_role_sql(column: str) -> str:
    """The role of a node in a split, in SQL: 0 none, 1 train, 2 val, 3 test."""
    cell = f"lower(trim(coalesce({quoted_name(column)}::VARCHAR, '')))"
    cases = " ".join(
        f"WHEN {cell} IN ({', '.join(map(text_literal, words))}) THEN {code}"
        for code, words in enumerate(PARTS.values(), start=1)
    )
    return f"(CASE {cases} ELSE 0 END)::TINYINT"
