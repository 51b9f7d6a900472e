"""A sparse matrix as plain tensors, for programs that must not know this package (`nn.exporting`)."""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor

from gpcn.nn.engine.operator import EntryMatrix, SparseOperator


class EdgeMatrix(EntryMatrix):
    """`[rows, columns]` with the entry `values[e]` at `(index[0, e], index[1, e])`; it only multiplies.

    Args:
        index: `[2, E]`.
        values: `[E]`.
        shape: of the matrix.
    """

    def __init__(self, index: Tensor, values: Tensor, shape: tuple[int, int]) -> None:
        self.index, self.entries, self.shape = index, values, shape

    @property
    def dtype(self) -> torch.dtype:
        """The type of the entries."""
        return self.entries.dtype

    @property
    def device(self) -> torch.device:
        """Where the entries are."""
        return self.entries.device

    def __matmul__(self, dense: Tensor) -> Tensor:
        """`[columns, width]` to `[rows, width]`."""
        products = self.entries.unsqueeze(1) * dense[self.index[1]]  # [E, width]
        return dense.new_zeros(self.shape[0], dense.shape[1]).index_add(0, self.index[0], products)


def edge_operator(index: Tensor, values: Tensor, nodes: int) -> SparseOperator:
    """An operator `[nodes, nodes]` with such a matrix."""
    operator = object.__new__(SparseOperator)
    operator.matrix = cast(Any, EdgeMatrix(index, values, (nodes, nodes)))
    operator.transposed = cast(Any, EdgeMatrix(index.flip(0), values, (nodes, nodes)))
    operator.nnz = values.shape[0]
    return operator
