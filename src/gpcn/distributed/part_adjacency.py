"""`PartAdjacency`: the links of one worker's nodes, and every operator made from them so far."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch

from gpcn.distributed.halo import Offsets, RowBlocks
from gpcn.distributed.torch_worker_group import TorchWorkerGroup
from gpcn.errors import ConfigError
from gpcn.nn.engine.adjacency import Adjacency, Direction, Normalization, check_direction
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

    def operator(
        self,
        normalization: Normalization = "symmetric",
        *,
        self_loops: bool = True,
        direction: Direction | None = None,
        relation: str | None = None,
        hops: int = 1,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> SparseOperator:
        """As `Adjacency.operator`; nodes two steps away may be on any worker and are not offered."""
        if hops != 1:
            raise ConfigError(
                "nodes two steps apart are not linked over several workers; use a model that reads one step"
            )
        reading = check_direction(direction or self.direction)
        key = (normalization, self_loops, reading, relation, dtype)
        if key not in self._operators:
            self._operators[key] = self._make(normalization, self_loops, reading, relation, dtype)
        return self._operators[key]

    def _make(
        self,
        normalization: Normalization,
        self_loops: bool,
        reading: Direction,
        relation: str | None,
        dtype: torch.dtype,
    ) -> SparseOperator:
        forward, backward = _read(self._rows_of(relation), reading)
        symmetric = forward is backward
        if self_loops:
            loops = self._loops()
            forward = sp.csr_array(forward + loops)
            backward = forward if symmetric else sp.csr_array(backward + loops)
        blocks = RowBlocks.of(forward, self.workers, self.offsets)
        turned = blocks if symmetric else RowBlocks.of(backward, self.workers, self.offsets)
        del forward, backward  # as large as what is made of them
        left, right = _scales(normalization, blocks, turned)
        matrix = blocks.scaled(left, right).matrix(dtype)
        transposed = matrix
        if not symmetric or left is not right:
            transposed = turned.scaled(right, left).matrix(dtype)
        return SparseOperator(matrix, transposed)

    def _rows_of(self, relation: str | None) -> Rows:
        if relation is None:
            return self.rows
        if relation not in self.typed_rows:
            types = ", ".join(self.typed_rows) or "none"
            raise ConfigError(f"there are no links of type {relation!r}; the types of this graph: {types}")
        return self.typed_rows[relation]

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


Scale = npt.NDArray[np.float64] | None


def _scales(normalization: Normalization, blocks: RowBlocks, turned: RowBlocks) -> tuple[Scale, Scale]:
    """What rows and columns of the nodes here are multiplied with."""
    if normalization == "none":
        return None, None
    if normalization == "symmetric":
        scale = _inverse(np.sqrt(blocks.sums()))
        return scale, scale
    if normalization == "row":
        return _inverse(blocks.sums()), None
    if normalization == "column":
        return None, _inverse(turned.sums())
    raise ConfigError(f"normalization {normalization!r} is unknown; expected symmetric, row, column or none")


def _inverse(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)
