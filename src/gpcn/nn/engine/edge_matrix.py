"""A sparse matrix as plain tensors, for programs that must not know this package (`nn.exporting`)."""

from __future__ import annotations

from torch import Tensor

from gpcn.nn.engine.matrix import Matrix, store
from gpcn.nn.engine.operator import SparseOperator


class EdgeMatrix(Matrix):
    """A matrix with the entry `values[e]` at `(index[0, e], index[1, e])`.

    Args:
        index: `[2, E]`.
        values: `[E]`.
        shape: `[rows, columns]`.
    """

    def __init__(self, index: Tensor, values: Tensor, shape: tuple[int, int]) -> None:
        self.index, self.values, self.shape = index, values, shape
        self.dtype, self.device, self.nnz = values.dtype, values.device, values.shape[0]

    def product(self, dense: Tensor, out: Tensor | None = None, add: bool = False) -> Tensor:
        """Return `self @ dense`, from a row of `dense` per entry."""
        products = self.values.unsqueeze(1) * dense[self.index[1]]  # [E, width]
        return store(dense.new_zeros(self.shape[0], dense.shape[1]).index_add(0, self.index[0], products), out, add)


def edge_operator(index: Tensor, values: Tensor, nodes: int) -> SparseOperator:
    """Return an operator `[nodes, nodes]` of such matrices."""
    shape = (nodes, nodes)
    return SparseOperator(EdgeMatrix(index, values, shape), EdgeMatrix(index.flip(0), values, shape))
