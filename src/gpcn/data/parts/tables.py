"""`PartData`: the rows of a graph that one worker has, and the tables they are kept in.

    links-out, links-in         node, neighbour, weight; sorted; `in` only where links have a direction
    relation-0-out, ...         the same for each type of links
    features                    a list per node, or node, column, value where sparse
    nodes                       label, id where there are ids, and per split 0 none, 1 train, 2 val, 3 test,
                                4 calibration; position in the graph where parts have its nodes in another order

Nodes and neighbours are numbered in the order of the parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from gpcn.core.errors import CheckpointError
from gpcn.core.types import IntVector
from gpcn.data.parts.files import column_array, count_part_rows, read_part_batches, read_part_table
from gpcn.data.parts.manifest import ADVICE, Manifest
from gpcn.graph import Split

Rows = tuple[sp.csr_array, sp.csr_array]
"""Links from the nodes of a part and links to them, `[nodes here, N]` each."""


@dataclass(frozen=True)
class PartData:
    """Rows `start` to `start + len(labels)` of a graph."""

    start: int
    links: Rows
    relations: Mapping[str, Rows]
    features: Any
    labels: IntVector
    splits: tuple[Split, ...]
    node_ids: Sequence[str] | None
    positions: IntVector | None = None

    def tables(self, directed: bool) -> dict[str, pa.Table]:
        """What is kept of it."""
        matrices = {"links": self.links} | {
            f"relation-{number}": rows for number, rows in enumerate(self.relations.values())
        }
        tables = {}
        for name, (outgoing, incoming) in matrices.items():
            tables[f"{name}-out"] = _entries(outgoing, self.start, ("node", "neighbour", "weight"))
            if directed:
                tables[f"{name}-in"] = _entries(incoming, self.start, ("node", "neighbour", "weight"))
        tables["features"] = feature_table(self.features, self.start)
        nodes: dict[str, Any] = {"label": self.labels}
        if self.node_ids is not None:
            nodes["id"] = pa.array(self.node_ids, pa.string())
        if self.positions is not None:
            nodes["position"] = self.positions
        for number, split in enumerate(self.splits):
            nodes[f"split_{number}"] = split.codes(self.labels.size).astype(np.int8)
        return {**tables, "nodes": pa.table(nodes)}

    @classmethod
    def read(cls, root: Path, manifest: Manifest, part: int) -> PartData:
        """Part `part` of the graph in `root`, every file checked."""
        folder = manifest.folder(root, part)
        try:
            return cls._read(folder, manifest, part)
        except (KeyError, ValueError, TypeError, IndexError, AttributeError, pa.ArrowException) as error:
            raise CheckpointError(f"{folder} is damaged: {_one_line(error)}; {ADVICE}") from error

    @classmethod
    def _read(cls, folder: Path, manifest: Manifest, part: int) -> PartData:
        digests = manifest.files[part]
        start, stop = manifest.offsets[part], manifest.offsets[part + 1]
        total, width = manifest.offsets[-1], manifest.graph.features

        def rows(name: str) -> Rows:
            outgoing = _read_matrix(folder, f"{name}-out", digests, (start, stop), total)
            if not manifest.directed:
                return outgoing, outgoing
            return outgoing, _read_matrix(folder, f"{name}-in", digests, (start, stop), total)

        nodes = read_part_table(folder, "nodes", digests)
        if manifest.sparse_features:
            matrix: Any = _read_matrix(folder, "features", digests, (start, stop), width, np.float32)
        else:
            features = read_part_table(folder, "features", digests)
            values = features.column("features").combine_chunks().flatten()
            matrix = values.to_numpy(zero_copy_only=False).reshape(features.num_rows, width)
        if nodes.num_rows != stop - start or matrix.shape[0] != stop - start:
            raise CheckpointError(f"{folder} has {nodes.num_rows} nodes; the manifest says {stop - start}")
        return cls(
            start=start,
            links=rows("links"),
            relations={name: rows(f"relation-{number}") for number, name in enumerate(manifest.relations)},
            features=matrix,
            labels=_whole_numbers(nodes, "label"),
            splits=tuple(
                Split.from_codes(_whole_numbers(nodes, f"split_{number}")) for number in range(manifest.splits)
            ),
            node_ids=nodes.column("id").to_pylist() if manifest.named_nodes else None,
            positions=None if manifest.order == "kept" else _whole_numbers(nodes, "position"),
        )


def _whole_numbers(table: pa.Table, name: str) -> IntVector:
    column = table.column(name)
    if column.null_count or not pa.types.is_integer(column.type):
        raise ValueError(
            f"its column {name} holds {column.type} with {column.null_count} empty; expected whole numbers"
        )
    return np.asarray(column_array(table, name), dtype=np.int64)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


def _entries(rows: sp.csr_array, start: int, names: tuple[str, str, str]) -> pa.Table:
    nodes = np.repeat(np.arange(start, start + rows.shape[0], dtype=np.int64), np.diff(rows.indptr))
    columns = (nodes, rows.indices.astype(np.int64), rows.data.astype(np.float32))
    return pa.table(dict(zip(names, columns, strict=True)))


def feature_table(features: Any, start: int) -> pa.Table:
    """Features of nodes from `start` on, as they are kept."""
    if sp.issparse(features):
        return _entries(features, start, ("node", "neighbour", "weight")).rename_columns(["node", "column", "value"])
    flat = pa.array(np.ascontiguousarray(features, dtype=np.float32).ravel())
    width = features.shape[1]
    if width == 0:
        return pa.table({"features": pa.array([[]] * features.shape[0], pa.list_(pa.float32()))})
    return pa.table({"features": pa.FixedSizeListArray.from_arrays(flat, width)})


def _read_matrix(
    folder: Path,
    name: str,
    digests: Mapping[str, str],
    bounds: tuple[int, int],
    width: int,
    dtype: Any = np.float64,
) -> sp.csr_array:
    """Rows `bounds[0]` to `bounds[1]` of a matrix, read a batch at a time into what is kept of them."""
    start, stop = bounds
    counts = np.zeros(stop - start, dtype=np.int64)
    columns: Any = np.empty(0, dtype=np.int32)
    values: Any = np.empty(0, dtype=dtype)
    for before, batch in read_part_batches(folder, name, digests):
        if before == 0:
            total = count_part_rows(folder, name)
            fits = max(total, width) <= np.iinfo(np.int32).max
            columns, values = np.empty(total, dtype=np.int32 if fits else np.int64), np.empty(total, dtype=dtype)
        if any(column.null_count for column in batch.columns):
            raise ValueError(f"its table {name} has empty cells")
        nodes, others, numbers = (batch.column(index).to_numpy(zero_copy_only=False) for index in range(3))
        if nodes.min() < start or nodes.max() >= stop or others.min() < 0 or others.max() >= width:
            raise CheckpointError(f"a part names nodes outside of {start} to {stop - 1}, or columns outside of {width}")
        counts += np.bincount(nodes - start, minlength=stop - start)
        columns[before : before + batch.num_rows] = others
        values[before : before + batch.num_rows] = numbers
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(columns.dtype)
    return sp.csr_array((values, columns, indptr), shape=(stop - start, width))
