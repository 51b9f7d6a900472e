"""What may be wrong with a graph before any model sees it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from gpcn.core.types import IntVector, SparseMatrix
from gpcn.graph import Graph

TWIN_NEIGHBOURS = 2
ALARMING_LEAK = 0.10


@dataclass(frozen=True)
class Health:
    """Counts, and a sentence for each that matters."""

    isolated_nodes: int
    constant_features: int
    twin_nodes: int
    train_test_duplicates: tuple[int, ...]
    classes_missing_from_train: tuple[tuple[int, int], ...]
    warnings: tuple[str, ...]


def check(graph: Graph) -> Health:
    """Check for what spoils an evaluation: leaks, isolated nodes, absent classes, dead features."""
    twins = twin_groups(graph)
    sizes = np.bincount(twins)
    leaks = tuple(_leaked(twins, sizes, split.train, split.test) for split in graph.splits)
    isolated = int(np.count_nonzero((np.diff(graph.adjacency.indptr) == 0) & ~_has_incoming(graph)))
    constant = _constant_columns(graph)
    missing = tuple(
        (number, int(absent))
        for number, split in enumerate(graph.splits)
        for absent in np.setdiff1d(graph.target.strata[graph.labelled], graph.target.strata[split.train])
    )
    return Health(
        isolated_nodes=isolated,
        constant_features=constant,
        twin_nodes=int(sizes[sizes > 1].sum()),
        train_test_duplicates=leaks,
        classes_missing_from_train=missing,
        warnings=tuple(_warnings(graph, leaks, isolated, constant, missing)),
    )


def twin_groups(graph: Graph) -> IntVector:
    """A group number per node; nodes with identical links (at least two, to the same nodes) share theirs.

    This is the duplication found in chameleon and squirrel: to any model that reads the rows of the adjacency,
    twins in train and test are the same node. Nodes with fewer links are groups of their own, for two leaves
    of one hub are no duplicates.
    """
    hashes = _row_hashes(graph.adjacency)
    few = np.diff(graph.adjacency.indptr) < TWIN_NEIGHBOURS
    hashes[few, 0] = np.flatnonzero(few)
    hashes[few, 1] = 0
    return np.unique(hashes, axis=0, return_inverse=True)[1].ravel().astype(np.int64)


def _row_hashes(matrix: SparseMatrix) -> npt.NDArray[np.uint64]:
    """`[N, 2]`: two independent 64-bit sums over a row's (column, value) pairs; equal rows, equal hashes."""
    rng = np.random.default_rng(20240)
    codes = rng.integers(1, 2**63, size=(matrix.shape[1], 2), dtype=np.uint64)
    values = matrix.data.astype(np.float32).view(np.uint32).astype(np.uint64) | np.uint64(1)
    hashes = np.empty((matrix.shape[0], 2), dtype=np.uint64)
    ends = matrix.indptr.astype(np.int64)
    for part in range(2):
        running = np.zeros(matrix.nnz + 1, dtype=np.uint64)
        np.cumsum(codes[matrix.indices, part] * values, out=running[1:])  # wraps around, so differences are exact
        hashes[:, part] = running[ends[1:]] - running[ends[:-1]]
    return hashes


def _leaked(twins: IntVector, sizes: IntVector, train: IntVector, test: IntVector) -> int:
    in_train = np.zeros(sizes.size, dtype=bool)
    in_train[twins[train]] = True
    return int(np.count_nonzero(in_train[twins[test]]))


def _has_incoming(graph: Graph) -> npt.NDArray[np.bool_]:
    incoming = np.zeros(graph.num_nodes, dtype=bool)
    incoming[graph.adjacency.indices] = True
    return incoming


def _constant_columns(graph: Graph) -> int:
    features = graph.features
    if graph.num_features == 0:
        return 0
    if sp.issparse(features):
        low, high = features.min(axis=0).toarray(), features.max(axis=0).toarray()
        return int(np.count_nonzero(low == high))
    return int(np.count_nonzero(features.min(axis=0) == features.max(axis=0)))


def _warnings(
    graph: Graph, leaks: tuple[int, ...], isolated: int, constant: int, missing: tuple[tuple[int, int], ...]
) -> list[str]:
    warnings = []
    shares = [leak / max(1, split.test.size) for leak, split in zip(leaks, graph.splits, strict=True)]
    if shares and np.mean(shares) >= ALARMING_LEAK:
        warnings.append(
            f"{np.mean(shares):.0%} of the test nodes have a duplicate (a node with exactly the same links) in train: "
            "scores will look better than they are" + _filtered_hint(graph.name)
        )
    if isolated:
        warnings.append(f"{isolated:,} node(s) have no links at all: only their features can classify them")
    if missing:
        split, absent = missing[0]
        name = graph.target.stratum_names[absent] if graph.label_names else absent
        warnings.append(
            f"{len(missing)} time(s) a class is missing from a training set, first class {name!r} in split {split}"
        )
    if constant:
        warnings.append(f"{constant:,} of {graph.num_features:,} feature(s) are constant and carry no signal")
    if graph.num_features == 0:
        warnings.append("there are no features: only models that learn from links (LINK) can do anything")
    if np.unique(graph.target.strata[graph.labelled]).size == 1:
        warnings.append("all labelled nodes are of one class: there is nothing to learn")
    return warnings


def _filtered_hint(name: str) -> str:
    return f"; {name}-filtered is without them" if name in ("chameleon", "squirrel") else ""
