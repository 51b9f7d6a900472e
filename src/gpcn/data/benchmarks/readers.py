"""The raw formats of the public benchmarks: verified bytes in, a `Graph` out.

Every reader takes the files of one dataset, as `{path: content}`, and returns its graph; the catalog adds name and
metric. Two conventions hold for all: a feature matrix with few non-zeros becomes sparse
(`compact_features`), and where the file lists an undirected edge once, both directions are stored.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from gpcn.core.errors import DataError
from gpcn.core.types import IntVector
from gpcn.data.archives import read_npz
from gpcn.data.benchmarks import pickles
from gpcn.data.tables.feature_storage import compact_features
from gpcn.graph import Graph, Split
from gpcn.graph.validation import edges_to_adjacency

Files: TypeAlias = Mapping[str, bytes]
Reader: TypeAlias = Callable[[Files], Graph]


def read_heterophilous(files: Files, *, directed: bool = False) -> Graph:
    """heterophilous-graphs (Platonov et al.): one `.npz` with edges, features, labels and masks `[S, N]`."""
    ((path, content),) = files.items()
    return heterophilous_graph(read_npz(content, path), path, directed=directed)


def heterophilous_graph(arrays: Mapping[str, npt.NDArray[Any]], path: str, *, directed: bool) -> Graph:
    """The same from arrays already read; users' own archives may have this layout too."""
    needed = ("edges", "node_features", "node_labels")
    for key in needed:
        if key not in arrays:
            raise DataError(f"{path} lacks the array {key!r}; it holds {', '.join(sorted(arrays))}")
    if arrays["node_labels"].ndim != 1:
        raise DataError(f"{path}: node_labels has shape {arrays['node_labels'].shape}; expected [N], one per node")
    edges, nodes = arrays["edges"], len(arrays["node_labels"])
    if edges.ndim != 2 or edges.shape[1] != 2:
        raise DataError(f"{path}: edges has shape {edges.shape}; expected [E, 2]")
    if arrays["node_features"].ndim != 2 or arrays["node_features"].dtype.kind not in "fiub":
        raise DataError(f"{path}: node_features is no table of numbers; expected [{nodes}, q]")
    masks = [arrays[key] for key in ("train_masks", "val_masks", "test_masks") if key in arrays]
    shapes = {mask.shape for mask in masks}
    if masks and (len(masks) < 3 or len(shapes) > 1 or masks[0].ndim != 2 or masks[0].shape[1] != nodes):
        raise DataError(f"{path}: the masks have shapes {sorted(shapes)}; expected three of [S, {nodes}]")
    splits = tuple(Split.from_masks(*rows) for rows in zip(*masks, strict=True)) if masks else ()
    return Graph(
        adjacency=_adjacency(edges.T, nodes, directed=directed),
        features=compact_features(arrays["node_features"]),
        labels=arrays["node_labels"],
        splits=splits,
    )


def read_geom_gcn(files: Files, *, feature_indices: int | None = None) -> Graph:
    """geom-gcn: tab-separated nodes (id, features, label) and directed edges, ten `.npz` splits.

    `feature_indices` is the number of features where the column lists the indices of the ones (film);
    otherwise it holds the 0/1 vector itself.
    """
    rows = sorted((int(node), words, int(label)) for node, words, label in _lines(files, "out1_node_feature_label.txt"))
    if [row[0] for row in rows] != list(range(len(rows))):
        raise DataError("geom-gcn: the node ids are not 0..N-1")
    labels = np.array([row[2] for row in rows], dtype=np.int64)
    if feature_indices is None:
        features: Any = np.array([np.fromstring(row[1], np.float32, sep=",") for row in rows])
    else:
        features = _from_index_lists([[int(i) for i in row[1].split(",") if i] for row in rows], feature_indices)
    edges = np.array([(int(a), int(b)) for a, b in _lines(files, "out1_graph_edges.txt")], dtype=np.int64)
    return Graph(
        adjacency=_adjacency(edges.T, labels.size, directed=True),
        features=compact_features(features),
        labels=labels,
        splits=_geom_gcn_splits(files),
    )


def read_planetoid(files: Files) -> Graph:
    """Planetoid's `ind.*` pickles (cora, citeseer, pubmed) with geom-gcn's splits.

    Test nodes are stored apart and shuffled; `test.index` puts them back. Citeseer lacks 15 of them: as in the
    benchmark they get no links, no features and class 0.
    """
    part = {path.rsplit(".", 1)[-1]: (path, content) for path, content in files.items() if "/ind." in path}
    load = {
        key: pickles.load_restricted_pickle(part[key][1], part[key][0]) for key in ("allx", "tx", "ally", "ty", "graph")
    }
    test = np.array(part["index"][1].split(), dtype=np.int64)
    total = int(test.max()) + 1
    stored_in_order = len(load["ally"])
    words, classes = load["allx"].to_csr(), load["ally"].shape[1]
    restore = sp.csr_array((np.ones(test.size, np.float32), (test, np.arange(test.size))), shape=(total, test.size))
    lift = sp.eye_array(total, stored_in_order, format="csr", dtype=np.float32)
    features = lift @ words + restore @ load["tx"].to_csr()
    one_hot = np.zeros((total, classes))
    one_hot[:stored_in_order] = load["ally"]
    one_hot[test] = load["ty"]
    pairs = [(node, other) for node, others in load["graph"].items() for other in others]
    return Graph(
        adjacency=_adjacency(np.array(pairs, dtype=np.int64).T, total, directed=False),
        features=compact_features(features),
        labels=one_hot.argmax(axis=1),
        splits=_geom_gcn_splits(files),
    )


def read_twitch(files: Files, *, vocabulary: int = 3170) -> Graph:
    """MUSAE Twitch: mutual friendships, games as features (unused ones dropped), mature language as label."""
    content = {path.rsplit("_", 1)[-1]: (path, data) for path, data in files.items()}
    target = list(csv.DictReader(io.StringIO(content["target.csv"][1].decode())))
    labels = np.empty(len(target), dtype=np.int64)
    labels[[int(row["new_id"]) for row in target]] = [row["mature"] == "True" for row in target]
    games = json.loads(content["features.json"][1])
    features = _from_index_lists([games.get(str(node), []) for node in range(labels.size)], vocabulary)
    used = np.flatnonzero(features.sum(axis=0))
    edges = np.loadtxt(io.BytesIO(content["edges.csv"][1]), delimiter=",", skiprows=1, dtype=np.int64)
    return Graph(
        adjacency=_adjacency(edges.T, labels.size, directed=False),
        features=compact_features(features[:, used]),
        labels=labels,
        splits=_linkx_splits(files),
    )


def read_deezer(files: Files, *, vocabulary: int = 31241) -> Graph:
    """Deezer Europe as its authors publish it: mutual friendships, liked artists as features, gender as label."""
    content = {path.rsplit("_", 1)[-1]: data for path, data in files.items()}
    target = np.loadtxt(io.BytesIO(content["target.csv"]), delimiter=",", skiprows=1, dtype=np.int64)
    labels = np.empty(len(target), dtype=np.int64)
    labels[target[:, 0]] = target[:, 1]
    artists = json.loads(content["features.json"])
    edges = np.loadtxt(io.BytesIO(content["edges.csv"]), delimiter=",", skiprows=1, dtype=np.int64)
    return Graph(
        adjacency=_adjacency(edges.T, labels.size, directed=False),
        features=compact_features(
            _from_index_lists([artists.get(str(node), []) for node in range(labels.size)], vocabulary)
        ),
        labels=labels,
        splits=_linkx_splits(files),
    )


def read_facebook100(files: Files) -> Graph:
    """Facebook 100: gender (0 missing) is the label; the other six attributes are one-hot, missing included."""
    mat = _mat(files)
    info = np.asarray(mat["local_info"]).astype(np.int64)
    blocks = [_one_hot(info[:, column]) for column in (0, 2, 3, 4, 5, 6)]
    return Graph(
        adjacency=_binary(mat["A"]),
        features=compact_features(sp.hstack(blocks, format="csr")),
        labels=info[:, 1] - 1,
        splits=_linkx_splits(files),
    )


def read_linkx_matrix(files: Files, *, adjacency: str = "A", features: str = "features") -> Graph:
    """LINKX `.mat` files with a sparse adjacency (deezer-europe: `A`, yelp-chi: `homo`)."""
    mat = _mat(files)
    matrix = mat[features]
    return Graph(
        adjacency=_undirected(_binary(mat[adjacency])),
        features=compact_features(matrix if sp.issparse(matrix) else np.asarray(matrix)),
        labels=np.asarray(mat["label"]).astype(np.int64).ravel(),
        splits=_linkx_splits(files),
    )


def read_linkx_edges(files: Files) -> Graph:
    """LINKX `.mat` files with an edge index (genius)."""
    mat = _mat(files)
    labels = np.asarray(mat["label"]).astype(np.int64).ravel()
    return Graph(
        adjacency=_adjacency(np.asarray(mat["edge_index"]), labels.size, directed=False),
        features=compact_features(np.asarray(mat["node_feat"])),
        labels=labels,
        splits=_linkx_splits(files),
    )


def _adjacency(edge_index: npt.NDArray[Any], nodes: int, *, directed: bool) -> sp.csr_array:
    matrix = edges_to_adjacency(edge_index, nodes)
    return matrix if directed else _undirected(matrix)


def _undirected(matrix: sp.csr_array) -> sp.csr_array:
    return sp.csr_array(matrix.maximum(matrix.T))


def _binary(matrix: Any) -> sp.csr_array:
    binary = sp.csr_array(matrix, dtype=np.float32)
    binary.eliminate_zeros()
    binary.data[:] = 1
    return binary


def _lines(files: Files, ending: str) -> Iterator[list[str]]:
    content = next(content for path, content in files.items() if path.endswith(ending))
    return (line.split("\t") for line in content.decode().splitlines()[1:] if line)


def _from_index_lists(lists: list[list[int]], width: int) -> sp.csr_array:
    rows = np.repeat(np.arange(len(lists)), [len(row) for row in lists])
    columns = np.array([column for row in lists for column in row], dtype=np.int64)
    matrix = sp.csr_array((np.ones(columns.size, np.float32), (rows, columns)), shape=(len(lists), width))
    matrix.data[:] = 1
    return matrix


def _one_hot(values: IntVector) -> sp.csr_array:
    """One column per value; a column of just two values needs only one, as in the benchmark."""
    kinds, column = np.unique(values, return_inverse=True)
    full = sp.csr_array(
        (np.ones(values.size, np.float32), (np.arange(values.size), column)), shape=(values.size, kinds.size)
    )
    return full[:, [1]] if kinds.size == 2 else full


def _mat(files: Files) -> dict[str, Any]:
    from scipy.io import loadmat  # its import takes as long as reading a small graph

    path, content = next((path, content) for path, content in files.items() if path.endswith(".mat"))
    try:
        return dict(loadmat(io.BytesIO(content)))
    except (ValueError, TypeError, NotImplementedError, OSError) as error:
        raise DataError(f"{path} is not a readable MATLAB file: {error}") from error


def _geom_gcn_splits(files: Files) -> tuple[Split, ...]:
    archives = [read_npz(content, path) for path, content in sorted(files.items()) if path.endswith(".npz")]
    return tuple(Split.from_masks(*(masks[f"{role}_mask"] for role in ("train", "val", "test"))) for masks in archives)


def _linkx_splits(files: Files) -> tuple[Split, ...]:
    """`*-splits.npy`: one dict of node lists per split; absent for the graphs without official splits."""
    for path, content in files.items():
        if path.endswith("-splits.npy"):
            dicts = pickles.load_object_array(content, path)
            return tuple(
                Split(train=np.array(d["train"]), val=np.array(d["valid"]), test=np.array(d["test"])) for d in dicts
            )
    return ()
