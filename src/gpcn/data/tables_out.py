"""A graph as a folder that any tool can open: `edges.csv` and `nodes.csv`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from gpcn.atomic import replacing
from gpcn.graph import ROLES, UNKNOWN, Graph

ROWS_AT_ONCE = 4096


def write_tables(graph: Graph, folder: Path) -> None:
    """Write both tables; reading the folder again gives the same graph (each undirected edge is listed twice)."""
    ids = np.array(graph.node_ids or [str(number) for number in range(graph.num_nodes)], dtype=object)
    entries = graph.adjacency.tocoo()
    columns = {"source": ids[entries.row], "target": ids[entries.col]}
    if graph.weighted:
        columns["weight"] = entries.data
    with replacing(folder / "edges.csv") as stream:
        pacsv.write_csv(pa.table(columns), stream)
    with replacing(folder / "nodes.csv") as stream:
        pieces = _node_pieces(graph, ids)
        with pacsv.CSVWriter(stream, pieces[0].schema) as writer:
            for piece in pieces:
                writer.write_table(piece)


def _node_pieces(graph: Graph, ids: np.ndarray) -> list[pa.Table]:
    return [_node_rows(graph, ids, slice(at, at + ROWS_AT_ONCE)) for at in range(0, graph.num_nodes, ROWS_AT_ONCE)]


def _node_rows(graph: Graph, ids: np.ndarray, rows: slice) -> pa.Table:
    names = graph.label_names or [str(number) for number in range(graph.num_classes)]
    columns = {
        "id": pa.array(ids[rows], pa.string()),
        "label": pa.array([None if y == UNKNOWN else names[y] for y in graph.labels[rows]], pa.string()),
    }
    for number, split in enumerate(graph.splits):
        words = np.full(graph.num_nodes, None, dtype=object)
        for role in ROLES:
            words[getattr(split, role)] = role
        columns[f"split_{number}"] = pa.array(words[rows], pa.string())
    part = graph.features[rows]
    dense = part if isinstance(part, np.ndarray) else part.toarray()
    titles = graph.feature_names or [f"feature_{number}" for number in range(graph.num_features)]
    for title, values in zip(titles, dense.T, strict=True):
        columns[title] = pa.array(np.ascontiguousarray(values))
    return pa.table(columns)
