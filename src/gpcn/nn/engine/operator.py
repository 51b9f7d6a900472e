"""`SparseOperator`: a sparse matrix that multiplies dense ones, fast in both directions and differentiably.

It pairs a matrix with its transpose (one object where the matrix is symmetric), of whatever kind they are. Gradients
flow to the dense factor only; the matrix is data.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from gpcn.core.errors import ConfigError, DataError
from gpcn.nn.engine.autograd_function import Function
from gpcn.nn.engine.matrix import CsrMatrix, Matrix, check_product_type, to_scipy


class SparseOperator:
    """A constant sparse matrix `[rows, columns]` for products with dense matrices.

    `from_scipy` and `from_torch` make one of a matrix whose entries are all here.

    Args:
        matrix: for products.
        transposed: its transpose, for their gradients.
    """

    def __init__(self, matrix: Matrix, transposed: Matrix) -> None:
        if not isinstance(matrix, Matrix) or not isinstance(transposed, Matrix):
            raise ConfigError(
                f"a SparseOperator is a pair of matrices, not {type(matrix).__name__} and {type(transposed).__name__}; "
                "SparseOperator.from_torch and from_scipy make one of a sparse tensor or matrix"
            )
        self.matrix, self.transposed = matrix, transposed
        self._order: Tensor | None = None

    @classmethod
    def from_scipy(cls, matrix: Any, *, dtype: torch.dtype = torch.float32) -> SparseOperator:
        """Return the operator of a SciPy matrix; a symmetric one is stored once."""
        csr = sp.csr_array(matrix)
        csr.sum_duplicates()
        stored = CsrMatrix.from_scipy(csr, dtype)
        if csr.shape[0] == csr.shape[1] and not (csr != csr.T).nnz:
            return cls(stored, stored)
        return cls(stored, CsrMatrix.from_scipy(csr.T, dtype))

    @classmethod
    def from_torch(cls, matrix: Tensor) -> SparseOperator:
        """Return the operator of a sparse tensor of any layout, of its type and on its device."""
        check_product_type(matrix.dtype, matrix.device)
        return cls.from_scipy(to_scipy(matrix), dtype=matrix.dtype).to(device=matrix.device)

    @property
    def shape(self) -> tuple[int, int]:
        """`[rows, columns]`."""
        return self.matrix.shape

    @property
    def dtype(self) -> torch.dtype:
        """The type of the entries."""
        return self.matrix.dtype

    @property
    def device(self) -> torch.device:
        """The device of the entries."""
        return self.matrix.device

    @property
    def nnz(self) -> int:
        """The number of entries stored."""
        return self.matrix.nnz

    @property
    def symmetric(self) -> bool:
        """Whether matrix and transpose are stored as one."""
        return self.matrix is self.transposed

    @property
    def T(self) -> SparseOperator:  # noqa: N802
        """The transpose, sharing all storage."""
        return SparseOperator(self.transposed, self.matrix)

    @property
    def csr(self) -> CsrMatrix:
        """The matrix, where all its entries are here."""
        return _with_entries(self.matrix)

    def to(self, device: torch.device | str | None = None, dtype: torch.dtype | None = None) -> SparseOperator:
        """Return the same operator elsewhere or of another type; itself where nothing changes."""
        target, kind = torch.device(device) if device is not None else self.device, dtype or self.dtype
        if target == self.device and kind == self.dtype:
            return self
        moved = self.csr.to(target, kind)
        return SparseOperator(moved, moved if self.symmetric else _with_entries(self.transposed).to(target, kind))

    def with_values(self, values: Tensor) -> SparseOperator:
        """Return other entries at the same places, as dropout on sparse features needs it."""
        return self.with_stored_values(values, values[self.transpose_order()])

    def with_stored_values(self, values: Tensor, transposed: Tensor) -> SparseOperator:
        """Return the same with the entries of the transpose in its own order, too; neither is copied."""
        return SparseOperator(self.csr.with_values(values), _with_entries(self.transposed).with_values(transposed))

    def transpose_order(self) -> Tensor:
        """Return `order` with `transposed.values == matrix.values[order]`."""
        if self._order is None:
            matrix = self.csr.to_scipy()
            numbered = sp.csr_array((np.arange(self.nnz), matrix.indices, matrix.indptr), shape=self.shape)
            self._order = torch.from_numpy(sp.csr_array(numbered.T).data).long().to(self.device)
        return self._order

    def __matmul__(self, dense: Tensor) -> Tensor:
        """`self @ dense`; differentiable in `dense`, also under `torch.func.vmap`."""
        if dense.shape[-2] != self.shape[1]:
            raise DataError(
                f"an operator of shape {tuple(self.shape)} cannot multiply a matrix with {dense.shape[-2]} rows"
            )
        product: Tensor = _Product.apply(dense, self)
        return product

    def to_dense(self) -> Tensor:
        """Return the matrix with all its zeros."""
        return self.csr.to_dense()

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"SparseOperator({rows:,} x {columns:,}, {self.nnz:,} entries, {self.dtype}, {self.device})"


def _with_entries(matrix: Matrix) -> CsrMatrix:
    if not isinstance(matrix, CsrMatrix):
        raise ConfigError(f"{type(matrix).__name__} only multiplies; its entries are not all here")
    return matrix


class _Product(Function):
    """`A @ x`; its gradient is `Aᵀ @ g`."""

    @staticmethod
    def forward(x: Tensor, operator: SparseOperator) -> Tensor:
        return operator.matrix.product(x)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.operator = inputs[1]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, None]:
        return ctx.operator.T @ grads[0], None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], x: Tensor, operator: SparseOperator) -> tuple[Tensor, int]:
        """Replicas stand side by side as columns, so that one product serves all."""
        if in_dims[0] is None:
            return operator @ x, None  # type: ignore[return-value]
        x = x.movedim(in_dims[0], -2)  # [rows, replicas, width]
        flat = operator @ x.reshape(x.shape[0], -1)
        return flat.reshape(-1, *x.shape[1:]), 1
