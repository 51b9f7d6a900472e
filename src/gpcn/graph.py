"""`Graph` and `Split`: what flows through everything, validated at birth and then left alone."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from gpcn.errors import DataError

Metric: TypeAlias = Literal["accuracy", "roc_auc"]
IntVector: TypeAlias = npt.NDArray[np.int64]
FloatMatrix: TypeAlias = npt.NDArray[np.float32]
SparseMatrix: TypeAlias = sp.csr_array
UNKNOWN = -1
ROLES = ("train", "val", "test")


@dataclass(frozen=True, eq=False, kw_only=True)
class Split:
    """Which nodes train, which choose among models (`val`), which are only ever reported (`test`).

    Each is a sorted vector of node positions; the three are disjoint and none is empty.
    """

    train: IntVector
    val: IntVector
    test: IntVector

    def __post_init__(self) -> None:
        for role in ROLES:
            object.__setattr__(self, role, _positions(getattr(self, role), role))
        for first, second in (("train", "val"), ("train", "test"), ("val", "test")):
            shared = np.intersect1d(getattr(self, first), getattr(self, second), assume_unique=True)
            if shared.size:
                raise DataError(
                    f"a split puts {shared.size} node(s) in both {first} and {second}, the first is node "
                    f"{shared[0]}; the parts must not overlap"
                )

    @classmethod
    def from_masks(cls, train: npt.ArrayLike, val: npt.ArrayLike, test: npt.ArrayLike) -> Split:
        """From three boolean vectors of length N."""
        masks = (np.asarray(mask).astype(bool) for mask in (train, val, test))
        return cls(**dict(zip(ROLES, (np.flatnonzero(mask) for mask in masks), strict=True)))

    def mask(self, role: str, num_nodes: int) -> npt.NDArray[np.bool_]:
        """One part as a boolean vector."""
        mask = np.zeros(num_nodes, dtype=bool)
        mask[getattr(self, role)] = True
        return mask

    def equals(self, other: Split) -> bool:
        """The same nodes in the same parts."""
        return all(np.array_equal(getattr(self, role), getattr(other, role)) for role in ROLES)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Graph:
    """An attributed graph for node classification.

    Args:
        adjacency: `[N, N]`; entry `(i, j)` is the weight of the edge from node `i` to node `j`. Anything SciPy
            can make a CSR of. Directed stays directed; explicit zeros are dropped; weights must be positive.
        features: `[N, q]`, a dense array or a SciPy sparse matrix; sparse stays sparse.
        labels: `[N]`, class numbers from 0, with -1 for unknown.
        splits: any number of `Split`s over labelled nodes.
        name: what to call the graph in tables and reports.
        metric: how predictions are judged, `accuracy` or `roc_auc`.
        node_ids: the users' own names of the nodes, unique; positions stand for names where omitted.
        label_names: the name of each class.
        feature_names: the name of each feature column.
        notes: what a reader had to decide on the way here, for people to read.
    """

    adjacency: SparseMatrix
    features: FloatMatrix | SparseMatrix
    labels: IntVector
    splits: tuple[Split, ...] = ()
    name: str = "graph"
    metric: Metric = "accuracy"
    node_ids: Sequence[str] | None = None
    label_names: Sequence[str] | None = None
    feature_names: Sequence[str] | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        put = object.__setattr__
        for names in ("node_ids", "label_names", "feature_names"):
            given = getattr(self, names)
            put(self, names, None if given is None else tuple(str(item) for item in given))
        put(self, "adjacency", _adjacency(self.adjacency))
        put(self, "features", _features(self.features, self))
        put(self, "labels", _labels(self.labels, self))
        put(self, "splits", tuple(self.splits))
        put(self, "notes", tuple(self.notes))
        _check_names(self)
        _check_splits(self)
        if self.metric not in ("accuracy", "roc_auc"):
            raise DataError(f"metric {self.metric!r} is unknown; expected accuracy or roc_auc")

    @classmethod
    def from_edges(
        cls,
        edge_index: npt.ArrayLike,
        *,
        num_nodes: int,
        weights: npt.ArrayLike | None = None,
        **fields: Any,
    ) -> Graph:
        """From `edge_index` `[2, E]`. An edge listed twice counts once, or sums its `weights` where given."""
        return cls(adjacency=edges_to_adjacency(edge_index, num_nodes, weights), **fields)

    @property
    def num_nodes(self) -> int:
        """`N`."""
        return int(self.adjacency.shape[0])

    @property
    def num_features(self) -> int:
        """`q`."""
        return int(self.features.shape[1])

    @cached_property
    def num_classes(self) -> int:
        """`C`: how many names the classes have, else the largest label plus one."""
        if self.label_names is not None:
            return len(self.label_names)
        return int(self.labels.max(initial=UNKNOWN)) + 1

    @cached_property
    def directed(self) -> bool:
        """Whether some edge lacks its mirror image (of the same weight)."""
        return bool((self.adjacency != self.adjacency.T).nnz)

    @cached_property
    def num_edges(self) -> int:
        """Edges as people count them: in an undirected graph a pair counts once."""
        stored = int(self.adjacency.nnz)
        return stored if self.directed else (stored + int(np.count_nonzero(self.adjacency.diagonal()))) // 2

    @cached_property
    def weighted(self) -> bool:
        """Whether any edge has a weight other than 1."""
        return bool(np.any(self.adjacency.data != 1))

    @property
    def has_sparse_features(self) -> bool:
        """Whether the features are stored sparse."""
        return bool(sp.issparse(self.features))

    @property
    def edge_index(self) -> IntVector:
        """`[2, E]`, sources above targets."""
        entries = self.adjacency.tocoo()
        return np.stack([entries.row, entries.col]).astype(np.int64)

    @property
    def labelled(self) -> IntVector:
        """The positions of the nodes whose label is known."""
        return np.flatnonzero(self.labels != UNKNOWN)

    def symmetrized(self) -> Graph:
        """Every edge in both directions; where both exist with different weights, the larger."""
        return replace(self, adjacency=self.adjacency.maximum(self.adjacency.T))

    def with_self_loops(self) -> Graph:
        """Every node linked to itself with weight 1, where it is not yet."""
        missing = (self.adjacency.diagonal() == 0).astype(np.float32)
        return replace(self, adjacency=self.adjacency + sp.diags_array(missing, format="csr"))

    def without_self_loops(self) -> Graph:
        """No node linked to itself."""
        entries = self.adjacency.tocoo()
        keep = entries.row != entries.col
        kept = (entries.data[keep], (entries.row[keep], entries.col[keep]))
        return replace(self, adjacency=sp.csr_array(kept, shape=entries.shape))

    def with_row_normalized_features(self) -> Graph:
        """Each node's features divided by the sum of their absolute values; all-zero rows stay zero."""
        sums = np.asarray(abs(self.features).sum(axis=1), dtype=np.float64).ravel()
        scale = np.divide(1.0, sums, out=np.zeros_like(sums), where=sums > 0)
        if sp.issparse(self.features):
            return replace(self, features=sp.diags_array(scale) @ self.features)
        return replace(self, features=self.features * scale[:, None])

    def fingerprint(self) -> str:
        """A sha256 of all that a model can see (edges, features, labels, splits), whatever it is called."""
        digest = hashlib.sha256()
        parts: list[npt.NDArray[Any]] = [self.adjacency.indptr, self.adjacency.indices, self.adjacency.data]
        if isinstance(self.features, np.ndarray):
            parts.append(self.features)
        else:
            parts += [self.features.indptr, self.features.indices, self.features.data]
        parts.append(self.labels)
        parts += [getattr(split, role) for split in self.splits for role in ROLES]
        for part in parts:
            plain = np.ascontiguousarray(part.astype(np.int64) if part.dtype.kind == "i" else part)
            digest.update(f"{plain.dtype.str}{plain.shape}".encode())
            digest.update(plain.tobytes())
        return digest.hexdigest()

    def equals(self, other: Graph) -> bool:
        """The same edges, features (in the same storage), labels, splits and metric; names aside."""
        return self.metric == other.metric and self.fingerprint() == other.fingerprint()

    def __repr__(self) -> str:
        kind = "directed" if self.directed else "undirected"
        return (
            f"Graph({self.name!r}: {self.num_nodes:,} nodes, {self.num_edges:,} {kind} edges, "
            f"{self.num_features:,} {'sparse' if self.has_sparse_features else 'dense'} features, "
            f"{self.num_classes} classes, {len(self.splits)} splits)"
        )


def edges_to_adjacency(edge_index: npt.ArrayLike, num_nodes: int, weights: npt.ArrayLike | None = None) -> SparseMatrix:
    """`[2, E]` endpoints to an `[N, N]` CSR, endpoints checked; repeated edges merge (weights add up)."""
    ends = np.asarray(edge_index)
    if ends.ndim != 2 or ends.shape[0] != 2:
        raise DataError(f"edge_index has shape {ends.shape}; expected [2, E]: sources above targets")
    if ends.size and ends.dtype.kind not in "iu":
        raise DataError(f"edge_index holds {ends.dtype} values; expected whole numbers")
    ends = ends.astype(np.int64, copy=False)
    wrong = np.flatnonzero(((ends < 0) | (ends >= num_nodes)).any(axis=0))
    if wrong.size:
        source, target = ends[:, wrong[0]]
        raise DataError(
            f"{wrong.size} edge(s) have an endpoint outside 0..{num_nodes - 1}, the first is edge "
            f"{wrong[0]}: {source} -> {target}; nodes are numbered from 0"
        )
    values = np.ones(ends.shape[1], np.float32) if weights is None else np.asarray(weights, np.float32).ravel()
    if values.size != ends.shape[1]:
        raise DataError(f"there are {values.size} weights for {ends.shape[1]} edges; expected one each")
    matrix = sp.csr_array((values, (ends[0], ends[1])), shape=(num_nodes, num_nodes))
    if weights is None:
        matrix.data[:] = 1
    return matrix


def _adjacency(given: object) -> SparseMatrix:
    try:
        matrix = sp.csr_array(given, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise DataError(f"the adjacency cannot be read as a sparse matrix: {error}") from error
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise DataError(f"the adjacency has shape {matrix.shape}; expected N by N")
    if matrix.shape[0] == 0:
        raise DataError("the graph has no nodes; expected at least one")
    matrix = _canonical(matrix)
    bad = np.flatnonzero(~np.isfinite(matrix.data) | (matrix.data < 0))
    if bad.size:
        row = int(np.searchsorted(matrix.indptr, bad[0], side="right")) - 1
        raise DataError(
            f"{bad.size} edge weight(s) are not positive numbers, the first is {matrix.data[bad[0]]} on edge "
            f"{row} -> {matrix.indices[bad[0]]}; weights must be finite and above 0"
        )
    return _small_indices(matrix)


def _features(given: Any, graph: Graph) -> FloatMatrix | SparseMatrix:
    nodes = graph.num_nodes
    try:
        with np.errstate(over="ignore"):
            matrix = sp.csr_array(given, dtype=np.float32) if sp.issparse(given) else np.asarray(given, np.float32)
    except (TypeError, ValueError) as error:
        raise DataError(f"the features are not a table of numbers: {error}") from error
    if matrix.ndim != 2 or matrix.shape[0] != nodes:
        raise DataError(f"the features have shape {matrix.shape}; expected {nodes} rows, one per node")
    if isinstance(matrix, sp.csr_array):
        matrix = _small_indices(_canonical(matrix))
        values = matrix.data
    else:
        matrix = np.ascontiguousarray(matrix)
        values = matrix.reshape(-1)
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        row, column = _position(matrix, int(bad[0]))
        who = f" (node {graph.node_ids[row]!r})" if graph.node_ids and row < len(graph.node_ids) else ""
        named = graph.feature_names is not None and column < len(graph.feature_names)
        what = f" {graph.feature_names[column]!r}" if named and graph.feature_names else f" {column}"
        raise DataError(
            f"{bad.size} feature value(s) are missing or not finite, the first is {values[bad[0]]} in row "
            f"{row}{who}, column{what}; fill them in or leave the column out"
        )
    return matrix


def _position(matrix: FloatMatrix | SparseMatrix, entry: int) -> tuple[int, int]:
    if isinstance(matrix, np.ndarray):
        row, column = divmod(entry, matrix.shape[1])
        return int(row), int(column)
    return int(np.searchsorted(matrix.indptr, entry, side="right")) - 1, int(matrix.indices[entry])


def _labels(given: object, graph: Graph) -> IntVector:
    labels = np.asarray(given)
    if labels.shape != (graph.num_nodes,):
        raise DataError(f"the labels have shape {labels.shape}; expected {graph.num_nodes}, one per node")
    if labels.dtype.kind not in "iub":
        raise DataError(f"the labels hold {labels.dtype} values; expected class numbers from 0, -1 for unknown")
    labels = labels.astype(np.int64)
    if labels.min() < UNKNOWN:
        raise DataError(f"a label is {labels.min()}; expected class numbers from 0, and -1 for unknown")
    classes = graph.num_nodes if graph.label_names is None else len(graph.label_names)
    if labels.max() >= classes:
        raise DataError(f"a label is {labels.max()}, but there are only {classes} classes to name")
    return labels


def _check_names(graph: Graph) -> None:
    expected = {
        "node_ids": graph.num_nodes,
        "label_names": graph.num_classes,
        "feature_names": graph.num_features,
    }
    for field, size in expected.items():
        names = getattr(graph, field)
        if names is None:
            continue
        if len(names) != size:
            raise DataError(f"{field} has {len(names)} entries; expected {size}")
        if len(set(names)) != size:
            raise DataError(f"{field} repeats {_first_repeated(names)!r}; each must be different")


def _check_splits(graph: Graph) -> None:
    for number, split in enumerate(graph.splits):
        for role in ROLES:
            part: IntVector = getattr(split, role)
            if part[-1] >= graph.num_nodes:
                raise DataError(
                    f"split {number} puts node {part[-1]} in {role}, but nodes go from 0 to {graph.num_nodes - 1}"
                )
            unlabelled = part[graph.labels[part] == UNKNOWN]
            if unlabelled.size:
                raise DataError(
                    f"split {number} puts {unlabelled.size} node(s) without a label in {role}, the first is node "
                    f"{unlabelled[0]}; leave nodes to be predicted out of the splits"
                )


def _positions(given: object, role: str) -> IntVector:
    part = np.asarray(given)
    if part.size == 0:
        raise DataError(f"a split has no {role} nodes; expected at least one each to train, val and test")
    if part.ndim != 1 or part.dtype.kind not in "iu":
        raise DataError(f"a split's {role} part is {part.dtype} of shape {part.shape}; expected node positions")
    ordered = np.unique(part.astype(np.int64))
    if ordered.size != part.size:
        raise DataError(f"a split names a node twice in {role}; expected each node once")
    if ordered[0] < 0:
        raise DataError(f"a split names node {ordered[0]} in {role}; nodes are numbered from 0")
    return ordered


def _first_repeated(names: Iterable[str]) -> str:
    seen: set[str] = set()
    return next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]


def _canonical(matrix: SparseMatrix) -> SparseMatrix:
    """Sorted, without repeated entries or stored zeros; the giver's own arrays are never changed."""
    if matrix.has_canonical_format and matrix.data.all():
        return matrix
    matrix = matrix.copy()
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def _small_indices(matrix: SparseMatrix) -> SparseMatrix:
    largest = np.iinfo(np.int32).max
    if matrix.indices.dtype != np.int32 and matrix.nnz <= largest and max(matrix.shape) <= largest:
        parts = (matrix.data, matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32))
        return sp.csr_array(parts, shape=matrix.shape)
    return matrix
