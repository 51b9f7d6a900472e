"""In which order nodes are cut into parts: as they are, or so that few links lead from one part to another (METIS)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from gpcn.core.errors import ConfigError, Option
from gpcn.core.extras import require_library
from gpcn.distributed.halo import Offsets
from gpcn.distributed.sharding.balance import balanced_offsets, check_parts, fill_empty_parts
from gpcn.graph import Graph

Order = Literal["kept", "metis"]
LARGEST = 2**31 - 1  # METIS counts links with 32 bits


@dataclass(frozen=True)
class PartOrder:
    """Node `positions[i]` of a graph is the `i`-th one of its parts; `None` where all stay where they are.

    Args:
        name: what tells this order from others.
        positions: `[N]`, rising within a part.
        offsets: part `p` has the nodes `offsets[p]` to `offsets[p + 1]` in this order.
        crossing: the share of links between parts.
        crossing_kept: the same without another order.
    """

    name: str
    positions: npt.NDArray[np.int64] | None
    offsets: Offsets
    crossing: float
    crossing_kept: float


def part_order(graph: Graph, parts: int, order: str) -> PartOrder:
    """Return the order and ranges by which the nodes of `graph` are cut into `parts`."""
    if order not in get_args(Order):
        raise ConfigError(f"{Option('order')} is {order!r}; expected {' or '.join(get_args(Order))}")
    entries = np.diff(graph.adjacency.indptr).astype(np.int64)
    if graph.directed:
        entries = entries + np.bincount(graph.adjacency.indices, minlength=graph.num_nodes)
    offsets = balanced_offsets(entries, parts)
    membership = np.repeat(np.arange(parts), np.diff(offsets))
    kept = _crossing(graph.adjacency, membership)
    if order == "kept":
        return PartOrder("kept", None, offsets, kept, kept)
    membership = _metis(graph, parts, entries)
    positions = np.argsort(membership, kind="stable").astype(np.int64)
    sizes = np.bincount(membership, minlength=parts)
    offsets = fill_empty_parts(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))
    for start, stop in pairwise(offsets):  # where a part was empty it has others' nodes now
        positions[start:stop].sort()
    membership[positions] = np.repeat(np.arange(parts), np.diff(offsets))
    digest = hashlib.sha256(positions.tobytes() + offsets.tobytes()).hexdigest()[:16]
    return PartOrder(f"metis-{digest}", positions, offsets, _crossing(graph.adjacency, membership), kept)


def _metis(graph: Graph, parts: int, entries: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The part of every node; parts have about equally many entries."""
    pymetis = require_library("pymetis", Option("order", "metis"))
    check_parts(parts, graph.num_nodes)
    links = sp.csr_array(graph.adjacency, copy=True)
    links.data = np.ones_like(links.data)
    links = sp.csr_array(links + links.T) if graph.directed else links
    links.setdiag(0)
    links.eliminate_zeros()
    if links.nnz > LARGEST:
        raise ConfigError(
            f"{Option('order', 'metis')} takes at most {LARGEST:,} links, and this graph has {links.nnz:,}; leave it "
            "out"
        )
    if parts == 1 or not links.nnz:
        return np.repeat(np.arange(parts), np.diff(balanced_offsets(entries, parts)))
    adjacency = pymetis.CSRAdjacency(adj_starts=links.indptr, adjacent=links.indices)
    _, membership = pymetis.part_graph(parts, adjacency=adjacency, vweights=entries + 1)
    return np.asarray(membership, dtype=np.int64)


def _crossing(links: Any, membership: npt.NDArray[np.int64]) -> float:
    """The share of links between parts."""
    entries = sp.coo_array(links)
    return float((membership[entries.row] != membership[entries.col]).mean()) if entries.nnz else 0.0
