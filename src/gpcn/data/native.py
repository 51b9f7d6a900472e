"""The native format: one `.npz` of plain arrays that holds a whole `Graph`.

meta                    UTF-8 JSON: format, version, name, task, metric, label_names, feature_names, notes
adjacency.indptr, adjacency.indices, adjacency.data (absent where all weights are 1)
features | features.indptr, features.indices, features.data, features.shape
labels                  int64 [N], -1 unknown; of another task than classification, what that reads
splits                  uint8 [S, N]: 0 in no part, 1 train, 2 val, 3 test, 4 calibration
node_ids.text, node_ids.ends    UTF-8 bytes of all ids, and where each one ends
relations.K.indptr, .indices, .data    edges of the K-th type; meta names the types and holds the preparation of columns
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from msgspec import Struct

from gpcn.core.atomic import replacing
from gpcn.core.errors import DataError
from gpcn.data import packed_text
from gpcn.data.archives import Arrays, read_npz, require_array
from gpcn.graph import Graph, Split
from gpcn.preparation.preparation import Preparation
from gpcn.records.reading import decode, encode, parse

FORMAT = "gpcn-graph"
VERSION = 1


def write(graph: Graph, path: str | Path) -> None:
    """Write `graph` to `path`; a kill at any moment leaves the old file or the new one."""
    if Path(path).suffix != ".npz":
        raise DataError(f"cannot save to {path}; expected a name that ends in .npz")
    with replacing(Path(path)) as stream:
        _save(stream, _to_arrays(graph))


def read(path: Path) -> Graph:
    """Read a graph written by `write`."""
    return from_arrays(read_npz(path, str(path)), str(path))


def is_native(arrays: Arrays) -> bool:
    """Whether an archive claims to be of this format."""
    return "meta" in arrays and "adjacency.indptr" in arrays


class GraphMeta(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What of a graph is no array."""

    format: str
    version: int
    name: str = "graph"
    task: str = "classification"
    metric: str = "accuracy"
    label_names: tuple[str, ...] | None = None
    feature_names: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()
    relations: tuple[str, ...] = ()
    preparation: Preparation | None = None


def from_arrays(arrays: Arrays, name: str) -> Graph:
    """Return the graph in `arrays`, checked like any other."""
    meta = _meta(arrays, name)
    try:
        labels = arrays["labels"]
        size = (len(labels), len(labels))
        named = "node_ids.text" in arrays
        return Graph(
            adjacency=_matrix(arrays, "adjacency", size),
            relations={kind: _matrix(arrays, f"relations.{i}", size) for i, kind in enumerate(meta.relations)},
            features=_feature_matrix(arrays),
            labels=labels,
            splits=_splits(arrays, len(labels)),
            node_ids=packed_text.unpack_texts(arrays, packed_text.NODE_IDS) if named else None,
            name=meta.name,
            metric=meta.metric,
            task_name=meta.task,
            label_names=meta.label_names,
            feature_names=meta.feature_names,
            notes=meta.notes,
            preparation=meta.preparation,
        )
    except KeyError as missing:
        raise DataError(f"{name} lacks the array {missing}; expected a file written by gpcn convert") from missing
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise DataError(f"{name} is damaged: {error}") from error


def _to_arrays(graph: Graph) -> Arrays:
    meta = GraphMeta(
        format=FORMAT,
        version=VERSION,
        name=graph.name,
        metric=graph.metric,
        task=graph.task_name,
        label_names=None if graph.label_names is None else tuple(graph.label_names),
        feature_names=None if graph.feature_names is None else tuple(graph.feature_names),
        notes=graph.notes,
        relations=tuple(graph.relations),
        preparation=graph.preparation,
    )
    arrays: Arrays = {
        "meta": np.frombuffer(json.dumps(encode(meta)).encode(), dtype=np.uint8),
        "adjacency.indptr": graph.adjacency.indptr,
        "adjacency.indices": graph.adjacency.indices,
        "labels": graph.labels,
        "splits": np.array([split.codes(graph.num_nodes) for split in graph.splits], np.uint8).reshape(
            -1, graph.num_nodes
        ),
    }
    if graph.weighted:
        arrays["adjacency.data"] = graph.adjacency.data
    if isinstance(graph.features, np.ndarray):
        arrays["features"] = graph.features
    else:
        for part in ("indptr", "indices", "data"):
            arrays[f"features.{part}"] = getattr(graph.features, part)
        arrays["features.shape"] = np.array(graph.features.shape, dtype=np.int64)
    for number, matrix in enumerate(graph.relations.values()):
        for part in ("indptr", "indices", "data"):
            arrays[f"relations.{number}.{part}"] = getattr(matrix, part)
    if graph.node_ids is not None:
        arrays |= packed_text.pack_texts(graph.node_ids, packed_text.NODE_IDS)
    return arrays


def _save(stream: BinaryIO, arrays: Arrays) -> None:
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for key, array in arrays.items():
            member = zipfile.ZipInfo(f"{key}.npy", date_time=(1980, 1, 1, 0, 0, 0))  # same graph, same bytes
            with archive.open(member, "w", force_zip64=True) as target:
                np.lib.format.write_array(target, np.ascontiguousarray(array), allow_pickle=False)


def _meta(arrays: Arrays, name: str) -> GraphMeta:
    try:
        meta = decode(parse(require_array(arrays, "meta", "u", 1).tobytes()), GraphMeta)
    except (KeyError, ValueError) as error:
        raise DataError(
            f"{name} has no readable description ({error}); expected a file written by gpcn convert"
        ) from error
    if meta.format != FORMAT:
        raise DataError(f"{name} is not in the gpcn format; expected a file written by gpcn convert")
    if meta.version != VERSION:
        raise DataError(f"{name} has format version {meta.version}; this gpcn reads version {VERSION}; upgrade gpcn")
    return meta


def _matrix(arrays: Arrays, key: str, shape: tuple[int, ...]) -> sp.csr_array:
    indices, indptr = require_array(arrays, f"{key}.indices", "iu", 1), require_array(arrays, f"{key}.indptr", "iu", 1)
    data = np.ones(indices.size, np.float32)
    if f"{key}.data" in arrays:
        data = require_array(arrays, f"{key}.data", "f", 1)
    matrix = sp.csr_array((data, indices, indptr), shape=(int(shape[0]), int(shape[1])))
    matrix.check_format(full_check=True)
    return matrix


def _feature_matrix(arrays: Arrays) -> npt.NDArray[Any] | sp.csr_array:
    if "features" in arrays:
        return require_array(arrays, "features", "fiub", 2)
    shape = require_array(arrays, "features.shape", "iu", 1).tolist()
    if len(shape) != 2:
        raise ValueError(f"features.shape has {len(shape)} entries; expected 2")
    return _matrix(arrays, "features", tuple(shape))


def _splits(arrays: Arrays, nodes: int) -> tuple[Split, ...]:
    if "splits" not in arrays:
        return ()
    codes = require_array(arrays, "splits", "u", 2)
    if codes.shape[1] != nodes:
        raise ValueError(f"splits has shape {codes.shape}; expected [S, {nodes}]")
    return tuple(Split.from_codes(row) for row in codes)
