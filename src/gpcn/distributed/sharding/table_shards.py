"""Tables of edges and nodes, cut into parts without ever having all of them in memory.

Nodes are numbered in the order of their table. A database beside the parts holds what was joined and sorted, so that a
call that was killed goes on; it is taken away when all parts are there.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from gpcn.core.types import IntVector
from gpcn.data.graph_record import GraphRecord, GraphSource
from gpcn.data.parts.files import seal_part, write_part_table
from gpcn.data.parts.manifest import Manifest
from gpcn.data.parts.tables import feature_table
from gpcn.data.tables.columns import Columns
from gpcn.distributed.halo import Offsets
from gpcn.distributed.sharding.balance import balanced_offsets
from gpcn.distributed.sharding.joined_tables import (
    Tables,
    check_streamed_splits,
    count_link_entries,
    join_tables,
    read_table_classes,
    resolve_columns,
    split_role_sql,
    streamed_links_are_directed,
)
from gpcn.distributed.sharding.part_storage import Progress, part_storage
from gpcn.distributed.sharding.streamed_features import fit_streamed_preparation, stores_sparse_features
from gpcn.distributed.sharding.table_database import TableDatabase, quoted_name, text_literal
from gpcn.preparation.preparation import Preparation
from gpcn.tasks.metric_choice import default_metric, positive_class
from gpcn.tasks.metrics import find_metric


def shard_tables(
    tables: Tables,
    out: str | Path,
    parts: int,
    *,
    memory: str = "4GB",
    source: GraphSource | None = None,
    metric: str | None = None,
    progress: Progress | None = None,
    log: Callable[[str], None] = lambda text: None,
    note: Callable[[str], None] = lambda text: None,
) -> Manifest:
    """Write the graph of `tables` into the folder `out` in `parts`; the same call again writes what is missing.

    Args:
        tables: what to read; features are columns of numbers, booleans, categories and dates.
        out: a folder, also of an object store, such as `s3://bucket/parts`.
        parts: how many workers it is for.
        memory: what DuckDB may use; beside it there are 24 bytes per node, and the features of one part.
        source: where the tables are, for prediction later.
        metric: how predictions are judged (default: as the classes are shared out).
        progress: called after every part.
        log: called with a sentence per step.
        note: called with what a reader of the graph should know.
    """
    storage, owner = part_storage(out), _owner(tables, parts)
    with storage.opened():
        database = _opened(storage.folder / ".tables" / f"{owner[:16]}.duckdb", memory)
        try:
            columns = resolve_columns(tables)
            done = "are joined already" if database.has("links") else "are joined now"
            log(f"{len(tables.edges)} table(s) of edges and {len(tables.nodes)} of nodes {done}")
            join_tables(database, tables, columns)
            streamed = _StreamedGraph.of(database, columns, parts, owner)
            digests = storage.write_parts(parts, owner, streamed.write_part, progress, log)
            manifest = streamed.manifest(tables.name, metric, source, digests)
            for (text,) in database.rows("SELECT text FROM notes"):
                note(text)
        finally:
            database.close()
        shutil.rmtree(storage.folder / ".tables")
        storage.finish(manifest)
    return manifest


def _opened(file: Path, memory: str) -> TableDatabase:
    for other in file.parent.glob("*"):
        if other.name.split(".")[0] != file.stem:
            shutil.rmtree(other) if other.is_dir() else other.unlink()
    return TableDatabase(file, memory)


def _owner(tables: Tables, parts: int) -> str:
    files = [
        [str(path.resolve()), path.stat().st_size, path.stat().st_mtime_ns] for path in (*tables.edges, *tables.nodes)
    ]
    return hashlib.sha256(json.dumps([files, asdict(tables.columns), tables.name, parts]).encode()).hexdigest()


@dataclass(frozen=True)
class _StreamedGraph:
    """A graph whose nodes and links are in a database.

    Args:
        database: with the tables that `join_tables` makes.
        columns: which column is what.
        owner: whose parts are written.
        label_names: of the classes.
        label_counts: how many nodes each class has.
        preparation: from columns to features.
        directed: whether links have a direction.
        offsets: part `p` has nodes `offsets[p]` to `offsets[p + 1]`.
    """

    database: TableDatabase
    columns: Columns
    owner: str
    label_names: list[str]
    label_counts: IntVector
    preparation: Preparation
    directed: bool
    offsets: Offsets

    @classmethod
    def of(cls, database: TableDatabase, columns: Columns, parts: int, owner: str) -> _StreamedGraph:
        label_names, counts = read_table_classes(database, columns)
        check_streamed_splits(database, columns)
        preparation = fit_streamed_preparation(
            database, columns.features or (), columns.roles, columns.scale, asdict(columns) | {"classes": label_names}
        )
        directed = not columns.undirected and streamed_links_are_directed(database)
        offsets = balanced_offsets(count_link_entries(database, directed), parts)
        return cls(database, columns, owner, label_names, counts, preparation, directed, offsets)

    @property
    def sparse(self) -> bool:
        return stores_sparse_features(self.preparation)

    def manifest(
        self, name: str, metric: str | None, source: GraphSource | None, digests: tuple[dict[str, str], ...]
    ) -> Manifest:
        labels = np.repeat(np.arange(self.label_counts.size), self.label_counts)
        feature_names = self.preparation.feature_names
        record = GraphRecord(
            name=name,
            metric=find_metric(metric or default_metric(labels, self.label_names)[0]).name,
            fingerprint=hashlib.sha256(json.dumps(digests, sort_keys=True).encode()).hexdigest(),
            nodes=int(self.offsets[-1]),
            features=len(feature_names),
            classes=len(self.label_names),
            positive=positive_class(labels, len(self.label_names)),
            label_names=tuple(self.label_names),
            feature_names=tuple(feature_names),
            directed=self.directed,
            relations=(),
            preparation=self.preparation,
            source=source,
        )
        return Manifest(
            graph=record,
            links=int(self.database.rows("SELECT count(*) FROM links")[0][0]),
            sparse_features=self.sparse,
            splits=len(self.columns.splits or ()),
            named_nodes=True,
            offsets=tuple(self.offsets.tolist()),
            files=digests,
        )

    def write_part(self, folder: Path, number: int) -> dict[str, str]:
        start, stop = int(self.offsets[number]), int(self.offsets[number + 1])
        ends = {"links-out": ("source", "target")} | ({"links-in": ("target", "source")} if self.directed else {})
        for name, (node, neighbour) in ends.items():
            _copy(
                self.database,
                f"SELECT {node} AS node, {neighbour} AS neighbour, weight::FLOAT AS weight FROM links "
                f"WHERE {node} >= {start} AND {node} < {stop} ORDER BY 1, 2",
                folder / f"{name}.parquet",
            )
        label, here = quoted_name(str(self.columns.label)), f"gpcn_node >= {start} AND gpcn_node < {stop}"
        splits = self.columns.splits or ()
        roles = "".join(f", {split_role_sql(column)} AS split_{number}" for number, column in enumerate(splits))
        _copy(
            self.database,
            f"SELECT coalesce(c.number, -1) AS label, gpcn_id AS id{roles} FROM nodes LEFT JOIN classes AS c "
            f"ON {label} = c.cell WHERE {here} ORDER BY gpcn_node",
            folder / "nodes.parquet",
        )
        used = [column.name for column in self.preparation.columns if column.encoder is not None]
        listed = "".join(f", {quoted_name(name)}" for name in used)
        table = self.database.table(f"SELECT gpcn_node{listed} FROM nodes WHERE {here} ORDER BY gpcn_node")
        features, _ = self.preparation.transform({name: table.column(name) for name in used}, stop - start)
        if sp.issparse(features) != self.sparse:
            features = sp.csr_array(features) if self.sparse else sp.csr_array(features).toarray()
        write_part_table(folder / "features.parquet", feature_table(features, start))
        return seal_part(folder, [f"{name}.parquet" for name in (*ends, "nodes", "features")], self.owner)


def _copy(database: TableDatabase, sql: str, file: Path) -> None:
    """The rows of a query as a Parquet file that appears whole."""
    file.parent.mkdir(parents=True, exist_ok=True)
    written = file.with_name(f".{file.name}.tmp")
    database.run(f"COPY ({sql}) TO {text_literal(str(written))} (FORMAT parquet, COMPRESSION zstd)")
    with written.open("rb") as content:
        os.fsync(content.fileno())
    os.replace(written, file)
