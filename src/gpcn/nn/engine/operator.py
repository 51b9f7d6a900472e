"""`SparseOperator`: a sparse matrix that multiplies dense ones, fast in both directions and differentiably.

It holds CSR and the CSR of its transpose (the same tensors where the matrix is symmetric), with 32-bit indices where
they fit, because that is what the fast kernels want. Gradients flow to the dense factor only; the matrix is data.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from gpcn.errors import ConfigError, DataError
from gpcn.nn.engine.autograd_function import Function
from gpcn.utils.tensors import as_array


class SparseOperator:
    """A constant sparse matrix `[rows, columns]` for products with dense matrices.

    Args:
        matrix: its CSR tensor.
        transposed: the CSR tensor of its transpose; computed where omitted.
    """

    def __init__(self, matrix: Tensor, transposed: Tensor | None = None) -> None:
        if matrix.layout != torch.sparse_csr:
            raise ConfigError(f"a SparseOperator holds a CSR tensor, not {matrix.layout}; see from_torch")
        self.matrix = matrix
        self.transposed = _transpose(matrix) if transposed is None else transposed
        self.nnz = int(matrix.values().numel())  # known here, for it cannot be asked under torch.func

    @classmethod
    def from_scipy(cls, matrix: Any, *, dtype: torch.dtype = torch.float32) -> SparseOperator:
        """From a SciPy matrix; a symmetric one is stored once."""
        csr = sp.csr_array(matrix)
        csr.sum_duplicates()
        stored = csr_tensor(csr, dtype)
        if csr.shape[0] == csr.shape[1] and not (csr != csr.T).nnz:
            return cls(stored, stored)
        return cls(stored, csr_tensor(sp.csr_array(csr.T), dtype))

    @classmethod
    def from_torch(cls, matrix: Tensor) -> SparseOperator:
        """From a sparse tensor of any layout, keeping type and device."""
        check_product_type(matrix.dtype, matrix.device)
        return cls.from_scipy(to_scipy(matrix), dtype=matrix.dtype).to(device=matrix.device)

    @property
    def shape(self) -> torch.Size:
        """`[rows, columns]`."""
        return self.matrix.shape

    @property
    def dtype(self) -> torch.dtype:
        """The type of the entries."""
        return self.matrix.dtype

    @property
    def device(self) -> torch.device:
        """Where the entries are."""
        return self.matrix.device

    @property
    def symmetric(self) -> bool:
        """Whether matrix and transpose are stored as one."""
        return self.matrix is self.transposed

    @property
    def T(self) -> SparseOperator:  # noqa: N802
        """The transpose, sharing all storage."""
        turned = object.__new__(SparseOperator)
        turned.matrix, turned.transposed, turned.nnz = self.transposed, self.matrix, self.nnz
        return turned

    def to(self, device: torch.device | str | None = None, dtype: torch.dtype | None = None) -> SparseOperator:
        """The same operator elsewhere or of another type; itself where nothing changes."""
        target, kind = torch.device(device) if device is not None else self.device, dtype or self.dtype
        if target == self.device and kind == self.dtype:
            return self
        with _quiet():
            moved = self.matrix.to(device=target, dtype=kind)
            return SparseOperator(moved, moved if self.symmetric else self.transposed.to(device=target, dtype=kind))

    def with_values(self, values: Tensor) -> SparseOperator:
        """The same places with other entries, as dropout on sparse features needs it."""
        return self.with_stored_values(values, values[self.transpose_order()])

    def with_stored_values(self, values: Tensor, transposed: Tensor) -> SparseOperator:
        """The same with the entries of the transpose in its own order, too; neither is copied."""
        return SparseOperator(_with_values(self.matrix, values), _with_values(self.transposed, transposed))

    def __matmul__(self, dense: Tensor) -> Tensor:
        """`self @ dense`; differentiable in `dense`, also under `torch.func.vmap`."""
        if dense.shape[-2] != self.shape[1]:
            raise DataError(
                f"an operator of shape {tuple(self.shape)} cannot multiply a matrix with {dense.shape[-2]} rows"
            )
        product: Tensor = _Product.apply(dense, self)
        return product

    def to_dense(self) -> Tensor:
        """The matrix with all its zeros."""
        return self.matrix.to_dense()

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"SparseOperator({rows:,} x {columns:,}, {self.nnz:,} entries, {self.dtype}, {self.device})"

    def transpose_order(self) -> Tensor:
        """`order` with `transposed.values() == matrix.values()[order]`."""
        if not hasattr(self, "_order"):
            with _quiet():
                numbers = torch.arange(self.nnz, dtype=torch.float64)
                numbered = _with_values(self.matrix.cpu(), numbers)
                self._order = _transpose(numbered).values().long().to(self.device)
        return self._order


class _Product(Function):
    """`A @ x`; its gradient is `Aᵀ @ g`."""

    @staticmethod
    def forward(x: Tensor, operator: SparseOperator) -> Tensor:
        return multiply_sparse(operator.matrix, x)

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


class EntryMatrix:
    """What may stand in an operator instead of a CSR tensor, where only `@` is needed (`nn.engine.edge_matrix`)."""

    def __matmul__(self, dense: Tensor) -> Tensor:
        """`self @ dense`."""
        raise NotImplementedError


def multiply_sparse(matrix: Tensor, dense: Tensor, out: Tensor | None = None) -> Tensor:
    """`matrix @ dense` without autograd, in `out` where it is given (on the CPU).

    On the CPU `@` first fills the result with zeros and copies it; writing straight into it is faster.
    """
    if isinstance(matrix, EntryMatrix):
        return matrix @ dense if out is None else out.copy_(matrix @ dense)
    if matrix.device.type == "meta":
        return dense.new_empty(matrix.shape[0], dense.shape[1])
    if matrix.device.type != "cpu":
        return matrix @ dense
    result = dense.new_empty(matrix.shape[0], dense.shape[1]) if out is None else out
    return torch.addmm(result, matrix, dense, beta=0, out=result)


def multiply_add_sparse_(target: Tensor, matrix: Tensor, dense: Tensor) -> Tensor:
    """`target += matrix @ dense` without autograd; on the CPU in one pass."""
    if isinstance(matrix, EntryMatrix) or matrix.device.type != "cpu":
        return target.add_(multiply_sparse(matrix, dense))
    return torch.addmm(target, matrix, dense, beta=1, out=target)


def to_scipy(matrix: Tensor) -> sp.csr_array:
    """A sparse tensor as a SciPy matrix."""
    check_constant(matrix, "a sparse tensor")
    with _quiet():
        entries = matrix.detach().cpu().to_sparse(layout=torch.sparse_coo).coalesce()
    values, (rows, columns) = as_array(entries.values()), entries.indices().numpy()
    return sp.csr_array((values, (rows, columns)), shape=tuple(matrix.shape))


def check_constant(entries: Tensor, what: str) -> None:
    """Refuse entries of a sparse matrix that wait for a gradient: they would get none, without a word."""
    if entries.requires_grad and torch.is_grad_enabled():
        raise ConfigError(
            f"{what} has requires_grad=True, but gradients flow to dense matrices only, never to the entries of a "
            "sparse one; pass its .detach()"
        )


def check_product_type(dtype: torch.dtype, device: torch.device | str) -> None:
    """Refuse types of which PyTorch makes no product of a sparse and a dense matrix."""
    if dtype in (torch.float16, torch.bfloat16) and torch.device(device).type == "cpu":
        raise ConfigError(
            f"a sparse matrix is wanted in {dtype}, of which the CPU makes no products; expected 32 or 64 bits, as "
            ".float() makes of features and of a model"
        )


def csr_tensor(csr: sp.csr_array, dtype: torch.dtype) -> Tensor:
    """A SciPy matrix as a CSR tensor, with 32-bit indices where they fit."""
    fits = csr.nnz <= np.iinfo(np.int32).max and max(csr.shape) <= np.iinfo(np.int32).max
    kind = np.int32 if fits else np.int64
    with _quiet():
        return torch.sparse_csr_tensor(
            torch.tensor(csr.indptr.astype(kind)),
            torch.tensor(csr.indices.astype(kind)),
            torch.tensor(csr.data).to(dtype),
            size=csr.shape,
            check_invariants=True,
        )


def _transpose(matrix: Tensor) -> Tensor:
    values = as_array(matrix.values())
    parts = (values, matrix.col_indices().cpu().numpy(), matrix.crow_indices().cpu().numpy())
    turned = sp.csr_array(sp.csr_array(parts, shape=tuple(matrix.shape)).T)
    return csr_tensor(turned, matrix.dtype).to(matrix.device)


def _with_values(matrix: Tensor, values: Tensor) -> Tensor:
    return torch.sparse_csr_tensor(
        matrix.crow_indices(), matrix.col_indices(), values, size=matrix.shape, check_invariants=False
    )


class _quiet(warnings.catch_warnings):  # noqa: N801
    """PyTorch says once per process that CSR is in beta; users of this package need not hear it."""

    def __enter__(self) -> Any:
        entered = super().__enter__()
        warnings.filterwarnings("ignore", ".*Sparse (CSR tensor support|invariant checks).*", UserWarning)
        return entered


__all__ = ["EntryMatrix", "SparseOperator", "csr_tensor", "multiply_add_sparse_", "multiply_sparse", "to_scipy"]
