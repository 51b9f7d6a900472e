"""`PartAdjacency`: the links of one worker's nodes, and every operator made from them so far."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import scipy.sparse as sp
import torch

from gpcn.core.errors import ConfigError
from gpcn.distributed.halo import Offsets, RowBlocks
from gpcn.distributed.torch_worker_group import TorchWorkerGroup
from gpcn.nn.engine.adjacency import (
    Adjacency,
    Direction,
    WantedOperator,
    check_direction,
    links_of_type,
    normalization_scales,
)
from gpcn.nn.engine.operator import SparseOperator

Rows = tuple[sp.csr_array, sp.csr_array]
"""Links from the nodes here and links to them, each `[nodes here, N]` with global columns."""


class PartAdjacency(Adjacency):
    """Like `Adjacency`, of which it has the rows of the nodes here; operators are made and used by all together.

    Args:
        links: of the nodes here, from them and to them; one matrix twice where links have no direction.
        relations: the same for each type of links.
        workers: who has the rest.
        offsets: who has which nodes.
        direction: how links are read where a model does not say.
    """

    def __init__(
        self,
        links: Rows,
        relations: Mapping[str, Rows],
        workers: TorchWorkerGroup,
        offsets: Offsets,
        *,
        direction: Direction = "out",
    ) -> None:
        self.rows, self.typed_rows = links, dict(relations)
        self.workers, self.offsets = workers, offsets
        self.direction = check_direction(direction)
        self._operators: dict[object, SparseOperator] = {}

    @property
    def num_nodes(self) -> int:
        """Nodes here."""
        return int(self.rows[0].shape[0])

    def _make(self, wanted: WantedOperator, dtype: torch.dtype) -> SparseOperator:
        if wanted.hops != 1:
            raise ConfigError(
                "nodes two steps apart are not linked over several workers; use a model that reads one step"
            )
        forward, backward = _read(links_of_type(wanted.relation, self.rows, self.typed_rows), wanted.direction)
        symmetric = forward is backward
        if wanted.self_loops:
            loops = self._loops()
            forward = sp.csr_array(forward + loops)
            backward = forward if symmetric else sp.csr_array(backward + loops)
        blocks = RowBlocks.of(forward, self.workers, self.offsets)
        turned = blocks if symmetric else RowBlocks.of(backward, self.workers, self.offsets)
        del forward, backward  # as large as what is made of them
        left, right = normalization_scales(wanted.normalization, blocks.sums, turned.sums)
        matrix = transposed = blocks.scaled(left, right).matrix(dtype)
        if not symmetric or left is not right:
            transposed = turned.scaled(right, left).matrix(dtype)
        return SparseOperator(matrix, transposed)

    def _loops(self) -> sp.csr_array:
        nodes, start = self.num_nodes, int(self.offsets[self.workers.rank])
        kind = self.rows[0].indices.dtype
        parts = (np.ones(nodes), np.arange(start, start + nodes, dtype=kind), np.arange(nodes + 1, dtype=kind))
        return sp.csr_array(parts, shape=(nodes, int(self.offsets[-1])))

    def __repr__(self) -> str:
        return f"PartAdjacency({self.num_nodes:,} of {self.offsets[-1]:,} nodes, {self.rows[0].nnz:,} links)"


def _read(rows: Rows, direction: Direction) -> Rows:
    outgoing, incoming = rows
    if direction == "out" or outgoing is incoming:
        return outgoing, incoming
    if direction == "in":
        return incoming, outgoing
    both = sp.csr_array(outgoing.maximum(incoming))
    return both, both
