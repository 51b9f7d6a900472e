"""A graph as a folder that any tool can open: `edges.csv`, `nodes.csv` and, for gpcn, `graph.json`.

`graph.json` holds what tables cannot say (name, metric, the order of the classes, which columns are which), so that
reading the folder again gives the same graph. While the tables of an older graph are being replaced it says so, and a
folder whose writer was killed just then is refused, not read as a mixture of two graphs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
from msgspec import Struct

from gpcn.core.atomic import replacing
from gpcn.core.errors import DataError
from gpcn.core.types import UNKNOWN
from gpcn.data.tables.assembly import GraphOutline
from gpcn.data.tables.columns import IDS, LABELS, SPLIT_NAME, UNNAMED, Columns
from gpcn.data.tables.delimited import SUFFIXES
from gpcn.graph import Graph
from gpcn.preparation.preparation import Preparation
from gpcn.records.reading import decode, encode, parse
from gpcn.tasks.metrics import metric_names

FORMAT, UNFINISHED = "gpcn-tables", "gpcn-tables-unfinished"
CELLS_AT_ONCE = 4_000_000
MOST_COLUMNS = 50_000  # that any tool opens as a table


def write_graph_tables(graph: Graph, folder: Path) -> None:
    """Write all three files, or none; an undirected edge is listed in both directions."""
    _check_folder(folder)
    ids = np.array(graph.node_ids or [str(number) for number in range(graph.num_nodes)], dtype=object)
    for identity in ids:
        if identity != identity.strip() or not identity or "\0" in identity:
            raise DataError(
                f"the node id {identity!r} is empty or padded, which CSV does not keep; write a .npz instead"
            )
    if graph.num_features > MOST_COLUMNS:
        raise DataError(
            f"{graph.name} has {graph.num_features:,} features, which as a table would be as many columns; expected at "
            f"most {MOST_COLUMNS:,}, so write a .npz instead"
        )
    titles = feature_column_titles(graph)
    rows_at_once = max(1, min(4096, CELLS_AT_ONCE // (graph.num_features + 1)))
    with replacing(folder / "graph.json") as last:  # appears when both tables are there
        last.write(TableDescription.of(graph).to_text())
        with replacing(folder / "edges.csv") as edges, replacing(folder / "nodes.csv") as nodes:
            pacsv.write_csv(_edge_rows(graph, ids), edges)
            with pacsv.CSVWriter(nodes, _node_rows(graph, ids, titles, slice(0, 0)).schema) as writer:
                for at in range(0, graph.num_nodes, rows_at_once):
                    writer.write_table(_node_rows(graph, ids, titles, slice(at, at + rows_at_once)))
            for stream in (edges, nodes):
                stream.flush()
                os.fsync(stream.fileno())
            with replacing(folder / "graph.json") as marker:
                marker.write(TableDescription(format=UNFINISHED).to_text())


class TableDescription(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What tables cannot say of their graph.

    Args:
        format: `FORMAT`, or `UNFINISHED` while the tables are being replaced.
        classes: the names of the classes, in order.
        features: the names of the features, where the tables hold them as they are.
        preparation: what made the features.
    """

    format: str
    name: str = ""
    metric: str = ""
    classes: tuple[str, ...] = ()
    features: tuple[str, ...] | None = None
    preparation: Preparation | None = None

    @classmethod
    def of(cls, graph: Graph) -> TableDescription:
        """Return that of a graph that is written."""
        return cls(
            format=FORMAT,
            name=graph.name,
            metric=graph.metric,
            classes=tuple(_class_names(graph)),
            features=tuple(graph.feature_names or feature_column_titles(graph)),
            preparation=graph.preparation,
        )

    def to_text(self) -> bytes:
        """Return the content of `graph.json`."""
        return (json.dumps(encode(self), indent=1) + "\n").encode()


def read_table_description(folder: Path, columns: Columns, outline: GraphOutline) -> tuple[Columns, GraphOutline]:
    """Return both completed by the folder's `graph.json`, where there is one."""
    path = folder / "graph.json"
    if not path.is_file():
        return columns, outline
    try:
        about = decode(parse(path.read_bytes()), TableDescription)
    except ValueError as error:
        raise DataError(f"{path} is not readable ({error}); delete it to read the tables by themselves") from error
    if about.format == UNFINISHED:
        raise DataError(
            f"{folder} holds parts of two graphs, for whoever wrote it was stopped in between; write it again, or "
            "delete graph.json to read the tables as they are"
        )
    if about.format != FORMAT or about.metric not in metric_names():
        raise DataError(f"{path} does not describe gpcn tables; delete it to read the tables by themselves")
    if columns.label is None:
        columns = replace(columns, classes=about.classes)
    outline = replace(outline, name=about.name, metric=about.metric)
    if about.features is None:
        return columns, outline
    outline = replace(outline, feature_names=about.features, preparation=about.preparation)
    return replace(columns, structure="none"), outline


def feature_column_titles(graph: Graph) -> list[str]:
    """Column names for the features; one that would be taken for an id, a label or a split gets a prefix."""
    taken = {"source", "target", *IDS, *LABELS}
    names = graph.feature_names or [f"feature_{number}" for number in range(graph.num_features)]
    titles: dict[str, None] = {}  # in order, and quick to ask whether a name is taken
    for index, name in enumerate(names):
        clean = " ".join(name.split())
        unsafe = not clean or clean.lower() in taken or SPLIT_NAME.fullmatch(clean) or UNNAMED.fullmatch(clean)
        title = f"feature_{index} {clean}".strip() if unsafe or clean in titles else clean
        while title in titles:
            title += "_"
        titles[title] = None
    return list(titles)


def _edge_rows(graph: Graph, ids: np.ndarray) -> pa.Table:
    parts = []
    for name, matrix in graph.relations.items() or [("", graph.adjacency)]:
        entries = matrix.tocoo()
        edges = {"source": pa.array(ids[entries.row], pa.string()), "target": pa.array(ids[entries.col], pa.string())}
        if graph.weighted:
            edges["weight"] = entries.data
        if graph.relations:
            edges["type"] = pa.array([name] * entries.nnz, pa.string())
        parts.append(pa.table(edges))
    return pa.concat_tables(parts)


def _check_folder(folder: Path) -> None:
    for stem in ("edges", "nodes"):
        for suffix in SUFFIXES:
            other = folder / f"{stem}{suffix}"
            if other.is_dir() or (suffix != ".csv" and other.exists()):
                raise DataError(f"{folder} already holds {other.name}; choose another folder or remove it")


def _class_names(graph: Graph) -> Sequence[str]:
    return graph.label_names or [str(number) for number in range(graph.num_classes)]


def _node_rows(graph: Graph, ids: np.ndarray, titles: list[str], rows: slice) -> pa.Table:
    names = _class_names(graph)
    columns = {
        "id": pa.array(ids[rows], pa.string()),
        "label": pa.array([None if y == UNKNOWN else names[y] for y in graph.labels[rows]], pa.string()),
    }
    for number, split in enumerate(graph.splits):
        columns[f"split_{number}"] = pa.array(split.names(graph.num_nodes)[rows], pa.string())
    part = graph.features[rows]
    dense = part if isinstance(part, np.ndarray) else part.toarray()
    for title, values in zip(titles, dense.T, strict=True):
        columns[title] = pa.array(np.ascontiguousarray(values))
    return pa.table(columns)
