"""A graph with its nodes in another order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import scipy.sparse as sp

from gpcn.core.types import IntVector
from gpcn.graph import Graph, Split


def reordered_graph(graph: Graph, positions: IntVector | None) -> Graph:
    """`graph` with its node `positions[i]` as the `i`-th."""
    if positions is None:
        return graph
    return replace(
        graph,
        adjacency=_permuted(graph.adjacency, positions),
        relations={name: _permuted(matrix, positions) for name, matrix in graph.relations.items()},
        features=graph.features[positions],
        labels=graph.labels[positions],
        splits=tuple(Split.from_codes(split.codes(graph.num_nodes)[positions]) for split in graph.splits),
        node_ids=None if graph.node_ids is None else [graph.node_ids[position] for position in positions],
    )


def _permuted(matrix: Any, positions: IntVector) -> sp.csr_array:
    rows = sp.csr_array(matrix)[positions][:, positions]
    rows.sort_indices()
    return rows
