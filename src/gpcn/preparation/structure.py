"""What the links alone say of a node: degrees, reciprocity, PageRank, core number, clustering, degrees around it.

Linear in the number of edges, but for clustering, which igraph computes by counting triangles.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

Structure: TypeAlias = Literal["none", "degrees", "full"]
Floats: TypeAlias = npt.NDArray[np.float64]
DAMPING, ITERATIONS = 0.85, 50


def degree_features(ends: npt.NDArray[np.int64], nodes: int, *, directed: bool) -> dict[str, Floats]:
    """Logarithms of how many edges leave and reach each node, from a list of edges `[2, E]`, repeated ones counted."""
    leaving, reaching = (np.log1p(np.bincount(side, minlength=nodes).astype(np.float64)) for side in ends)
    if directed:
        return {"links: log out-degree": leaving, "links: log in-degree": reaching}
    both = np.bincount(ends.ravel(), minlength=nodes)
    return {"links: log degree": np.log1p(both.astype(np.float64))}


def degree_features_by_type(matrices: dict[str, sp.csr_array], column: str, *, directed: bool) -> dict[str, Floats]:
    """Logarithms of how many neighbours each node has by each type of edge."""
    columns: dict[str, Floats] = {}
    for name, matrix in matrices.items():
        side = "out-degree" if directed else "degree"
        columns[f"links: log {side} by {column}={name}"] = np.log1p(np.diff(matrix.indptr).astype(np.float64))
        if directed:
            reaching = np.bincount(matrix.indices, minlength=matrix.shape[0]).astype(np.float64)
            columns[f"links: log in-degree by {column}={name}"] = np.log1p(reaching)
    return columns


def link_structure_features(adjacency: sp.csr_array, *, directed: bool) -> dict[str, Floats]:
    """Everything but the plain degrees."""
    pattern = sp.csr_array((np.ones(adjacency.nnz), adjacency.indices, adjacency.indptr), shape=adjacency.shape)
    symmetric = pattern.maximum(pattern.T)
    degree = np.asarray(symmetric.sum(axis=1)).ravel()
    columns: dict[str, Floats] = {}
    if adjacency.nnz and bool(np.any(adjacency.data != 1)):
        columns["links: log weight out"] = np.log1p(np.asarray(adjacency.sum(axis=1), dtype=np.float64).ravel())
        if directed:
            columns["links: log weight in"] = np.log1p(np.asarray(adjacency.sum(axis=0), dtype=np.float64).ravel())
    if directed:
        mutual = np.asarray(pattern.multiply(pattern.T).sum(axis=1), dtype=np.float64).ravel()
        columns["links: share reciprocated"] = _ratio(mutual, np.diff(pattern.indptr).astype(np.float64))
    around = _ratio(symmetric @ degree, degree)
    columns["links: log mean degree of neighbours"] = np.log1p(around)
    columns["links: log pagerank"] = np.log(pagerank(pattern) * adjacency.shape[0])
    cores, clustering = _triangles(symmetric)
    columns["links: log core number"] = np.log1p(cores)
    columns["links: clustering"] = clustering
    return columns


def pagerank(pattern: sp.csr_array) -> Floats:
    """The stationary distribution of a walk along the links that jumps anywhere with probability 0.15."""
    nodes = pattern.shape[0]
    leaving = np.diff(pattern.indptr).astype(np.float64)
    spread = sp.csr_array(pattern.T)
    scale = _ratio(np.ones(nodes), leaving)
    rank = np.full(nodes, 1 / nodes)
    for _ in range(ITERATIONS):
        stuck = rank[leaving == 0].sum()
        rank = DAMPING * (spread @ (rank * scale) + stuck / nodes) + (1 - DAMPING) / nodes
    return np.asarray(rank / rank.sum())


def _triangles(symmetric: sp.csr_array) -> tuple[Floats, Floats]:
    import igraph  # type: ignore[import-untyped]

    upper = sp.triu(symmetric, k=1).tocoo()
    ends = np.stack([upper.row, upper.col], axis=1)
    graph = igraph.Graph(n=symmetric.shape[0], edges=ends, directed=False)
    clustering = graph.transitivity_local_undirected(mode="zero")
    return np.asarray(graph.coreness(), dtype=np.float64), np.asarray(clustering, dtype=np.float64)


def _ratio(part: Floats, whole: Floats) -> Floats:
    return np.divide(part, whole, out=np.zeros_like(part, dtype=np.float64), where=whole > 0)
