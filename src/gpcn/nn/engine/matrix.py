"""`Matrix`: a constant sparse matrix that multiplies dense ones, and `CsrMatrix`, the kind whose entries are all here.

Other kinds: `edge_matrix` (plain tensors, for exported programs) and `gpcn.distributed.halo` (rows of several
workers). Nothing here is differentiable; `operator` pairs a matrix with its transpose for that.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from gpcn.core.errors import ConfigError
from gpcn.core.tensors import as_array


class Matrix(ABC):
    """A constant sparse matrix `[rows, columns]`.

    Attributes:
        shape: `[rows, columns]`.
        dtype: the type of the entries.
        device: where the entries are.
        nnz: how many entries are stored.
    """

    shape: tuple[int, int]
    dtype: torch.dtype
    device: torch.device
    nnz: int

    @abstractmethod
    def product(self, dense: Tensor, out: Tensor | None = None, add: bool = False) -> Tensor:
        """Return `self @ dense`, without autograd.

        Args:
            dense: `[columns, width]`.
            out: where the product is written, `[rows, width]`, another matrix than `dense` (default: a new one).
            add: whether the product is added to what `out` holds.
        """


def store(product: Tensor, out: Tensor | None, add: bool) -> Tensor:
    """Return `product` in `out` where that is given, added to what it holds where `add` says so."""
    if out is None:
        return product
    return out.add_(product) if add else out.copy_(product)


class CsrMatrix(Matrix):
    """A matrix with all its entries in one CSR tensor.

    Args:
        tensor: of the layout `torch.sparse_csr`; 32-bit indices are what the fast kernels want.
    """

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
        self.shape, self.dtype, self.device = (tensor.shape[0], tensor.shape[1]), tensor.dtype, tensor.device
        self.nnz = tensor.values().numel()  # known here, for it cannot be asked under torch.func
        self._on_cpu = tensor.device.type == "cpu"

    @classmethod
    def from_scipy(cls, matrix: Any, dtype: torch.dtype) -> CsrMatrix:
        """Return a copy of a SciPy matrix, with 32-bit indices where they fit."""
        csr = sp.csr_array(matrix)
        fits = csr.nnz <= np.iinfo(np.int32).max and max(csr.shape) <= np.iinfo(np.int32).max
        kind = np.int32 if fits else np.int64
        with _quiet():
            tensor = torch.sparse_csr_tensor(
                torch.tensor(csr.indptr.astype(kind)),
                torch.tensor(csr.indices.astype(kind)),
                torch.tensor(csr.data).to(dtype),
                size=csr.shape,
                check_invariants=True,
            )
        return cls(tensor)

    @property
    def values(self) -> Tensor:
        """The entries, row by row, `[nnz]`; the memory of the matrix."""
        return self.tensor.values()

    @property
    def columns(self) -> Tensor:
        """The column of each entry, `[nnz]`."""
        return self.tensor.col_indices()

    @property
    def row_counts(self) -> Tensor:
        """The number of entries of each row, `[rows]`."""
        return self.tensor.crow_indices().diff()

    def entries(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return row, column and value of each entry, `[nnz]`."""
        rows = torch.arange(self.shape[0], device=self.device).repeat_interleave(self.row_counts)
        return rows, self.columns, self.values

    def product(self, dense: Tensor, out: Tensor | None = None, add: bool = False) -> Tensor:
        """Return `self @ dense`; on the CPU in one pass, where `@` would first fill the result with zeros."""
        if not self._on_cpu:
            meta = self.device.type == "meta"
            return store(dense.new_empty(self.shape[0], dense.shape[1]) if meta else self.tensor @ dense, out, add)
        if out is None:
            out, add = dense.new_empty(self.shape[0], dense.shape[1]), False
        return torch.addmm(out, self.tensor, dense, beta=1 if add else 0, out=out)

    def to(self, device: torch.device, dtype: torch.dtype) -> CsrMatrix:
        """Return the same matrix elsewhere or of another type."""
        with _quiet():
            return CsrMatrix(self.tensor.to(device=device, dtype=dtype))

    def with_values(self, values: Tensor) -> CsrMatrix:
        """Return other entries at the same places, without a copy of either."""
        parts = (self.tensor.crow_indices(), self.tensor.col_indices(), values)
        return CsrMatrix(torch.sparse_csr_tensor(*parts, size=self.shape, check_invariants=False))

    def to_dense(self) -> Tensor:
        """Return the matrix with all its zeros."""
        return self.tensor.to_dense()

    def to_scipy(self) -> sp.csr_array:
        """Return the matrix as SciPy has it; on the CPU in the same memory."""
        parts = (self.values, self.columns, self.tensor.crow_indices())
        return sp.csr_array(tuple(as_array(part) for part in parts), shape=self.shape)


def to_scipy(matrix: Tensor) -> sp.csr_array:
    """Return a sparse tensor of any layout as a SciPy matrix."""
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


class _quiet(warnings.catch_warnings):  # noqa: N801
    """PyTorch says once per process that CSR is in beta; users of this package need not hear it."""

    def __enter__(self) -> Any:
        entered = super().__enter__()
        warnings.filterwarnings("ignore", ".*Sparse (CSR tensor support|invariant checks).*", UserWarning)
        return entered
