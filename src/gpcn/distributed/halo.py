"""A sparse matrix of which a worker has some rows, times a dense one of which it has the same rows.

    result = own @ dense + halo @ (the rows of `dense` on other workers that these rows link to)

Rows travel while the first product is computed. Both blocks are CSR, with columns numbered as they lie in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor

from gpcn.distributed.workers import Workers
from gpcn.nn.operator import EntryMatrix, SparseOperator, csr_tensor, multiply, multiply_add_

Offsets = npt.NDArray[np.int64]
"""`[workers + 1]`: worker `p` has nodes `offsets[p]` to `offsets[p + 1]`."""


@dataclass(frozen=True)
class Exchange:
    """Which rows travel before a product.

    Args:
        workers: between whom.
        outgoing: per worker, which of the rows here it needs.
        incoming: per worker, how many of its rows are needed here; they arrive in this order.
    """

    workers: Workers
    outgoing: tuple[Tensor, ...]
    incoming: tuple[int, ...]

    @classmethod
    def plan(cls, workers: Workers, offsets: Offsets, columns: npt.NDArray[np.int64]) -> Exchange:
        """For a matrix that links to `columns`, sorted nodes of other workers; all workers plan together."""
        bounds = np.searchsorted(columns, offsets)
        wanted = [torch.from_numpy(columns[bounds[q] : bounds[q + 1]] - offsets[q]) for q in range(workers.size)]
        counts = workers.gather_integers([rows.numel() for rows in wanted])
        outgoing = [torch.empty(int(count), dtype=torch.int64) for count in counts[:, workers.rank]]
        for work in workers.begin_exchange(wanted, outgoing):
            work.wait()
        return cls(workers, tuple(outgoing), tuple(rows.numel() for rows in wanted))

    def begin(self, dense: Tensor) -> tuple[Tensor, list[Any]]:
        """The buffer into which rows arrive, and what to wait for before reading it."""
        arriving = dense.new_empty(sum(self.incoming), dense.shape[1])
        sent = [dense[rows] for rows in self.outgoing]
        return arriving, self.workers.begin_exchange(sent, torch.split(arriving, list(self.incoming)))

    def __call__(self, dense: Tensor) -> Tensor:
        """The rows that other workers have."""
        arriving, messages = self.begin(dense)
        for message in messages:
            message.wait()
        return arriving


class PartMatrix(EntryMatrix):
    """Rows of a square sparse matrix; it only multiplies."""

    def __init__(self, own: Tensor, halo: Tensor, exchange: Exchange) -> None:
        self.own, self.halo, self.exchange = own, halo, exchange
        self.shape, self.dtype, self.device = own.shape, own.dtype, own.device

    def __matmul__(self, dense: Tensor) -> Tensor:
        """`[rows here, width]` of the product, from the same rows of the factor."""
        dense = dense.contiguous()
        arriving, messages = self.exchange.begin(dense)
        result = multiply(self.own, dense)
        for message in messages:
            message.wait()
        return multiply_add_(result, self.halo, arriving) if len(arriving) else result


@dataclass(frozen=True)
class Part:
    """Rows of a matrix with global columns, cut into those here and those elsewhere."""

    own: sp.csr_array
    halo: sp.csr_array
    columns: npt.NDArray[np.int64]
    exchange: Exchange

    @classmethod
    def of(cls, rows: sp.csr_array, workers: Workers, offsets: Offsets) -> Part:
        """`rows` `[rows here, N]`; all workers do this together."""
        start, stop = offsets[workers.rank], offsets[workers.rank + 1]
        here = (rows.indices >= start) & (rows.indices < stop)
        columns = np.unique(rows.indices[~here]).astype(np.int64)
        own = _block(rows, here, lambda kept: kept - start, int(stop - start))
        halo = _block(rows, ~here, lambda kept: np.searchsorted(columns, kept), columns.size)
        return cls(own, halo, columns, Exchange.plan(workers, offsets, columns))

    def scaled(self, left: npt.NDArray[np.float64] | None, right: npt.NDArray[np.float64] | None) -> Part:
        """Rows times `left`, columns times `right`, both given for the nodes here."""
        own, halo = self.own, self.halo
        if left is not None:
            own, halo = (sp.csr_array(sp.diags_array(left) @ block) for block in (own, halo))
        if right is not None:
            elsewhere = self.exchange(torch.from_numpy(right).unsqueeze(1)).squeeze(1).numpy()
            own, halo = sp.csr_array(own @ sp.diags_array(right)), sp.csr_array(halo @ sp.diags_array(elsewhere))
        return Part(own, halo, self.columns, self.exchange)

    def sums(self) -> npt.NDArray[np.float64]:
        """Of each row."""
        return np.asarray(self.own.sum(axis=1) + self.halo.sum(axis=1), dtype=np.float64).ravel()

    def matrix(self, dtype: torch.dtype) -> PartMatrix:
        """For products."""
        for block in (self.own, self.halo):
            block.sort_indices()
        return PartMatrix(csr_tensor(self.own, dtype), csr_tensor(self.halo, dtype), self.exchange)


def part_operator(matrix: PartMatrix, transposed: PartMatrix, nnz: int) -> SparseOperator:
    """An operator of the rows of a matrix and of its transpose; products are collective."""
    operator = object.__new__(SparseOperator)
    operator.matrix, operator.transposed, operator.nnz = cast(Any, matrix), cast(Any, transposed), nnz
    return operator


def _block(rows: sp.csr_array, mask: npt.NDArray[np.bool_], renumber: Any, width: int) -> sp.csr_array:
    counts = np.concatenate([[0], np.cumsum(mask)])[rows.indptr]
    parts = (rows.data[mask], renumber(rows.indices[mask].astype(np.int64)), counts)
    return sp.csr_array(parts, shape=(rows.shape[0], width))
