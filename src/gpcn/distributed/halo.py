"""A sparse matrix of which a worker has some rows, times a dense one of which it has the same rows.

    result = own @ dense + halo @ (the rows of `dense` on other workers that these rows link to)

Rows travel while the first product is computed. Both blocks are CSR, with columns numbered as they lie in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor

from gpcn.distributed.torch_worker_group import TorchWorkerGroup
from gpcn.nn.engine.matrix import CsrMatrix, Matrix, store

Offsets = npt.NDArray[np.int64]
"""`[workers + 1]`: worker `p` has nodes `offsets[p]` to `offsets[p + 1]`."""


@dataclass(frozen=True)
class Exchange:
    """The rows that travel before a product.

    Args:
        workers: between whom.
        outgoing: per worker, which of the rows here it needs.
        incoming: per worker, how many of its rows are needed here; they arrive in this order.
    """

    workers: TorchWorkerGroup
    outgoing: tuple[Tensor, ...]
    incoming: tuple[int, ...]

    @classmethod
    def plan(cls, workers: TorchWorkerGroup, offsets: Offsets, columns: npt.NDArray[np.int64]) -> Exchange:
        """Return that of a matrix that links to `columns`, sorted nodes of other workers; all workers plan together."""
        bounds = np.searchsorted(columns, offsets)
        wanted = [torch.from_numpy(columns[bounds[q] : bounds[q + 1]] - offsets[q]) for q in range(workers.size)]
        counts = workers.gather_integers([rows.numel() for rows in wanted])
        outgoing = [torch.empty(int(count), dtype=torch.int64) for count in counts[:, workers.rank]]
        for work in workers.begin_exchange(wanted, outgoing):
            work.wait()
        return cls(workers, tuple(outgoing), tuple(rows.numel() for rows in wanted))

    def begin(self, dense: Tensor) -> tuple[Tensor, list[Any]]:
        """Return the buffer into which rows arrive, and what to wait for before reading it."""
        arriving = dense.new_empty(sum(self.incoming), dense.shape[1])
        sent = [dense[rows] for rows in self.outgoing]
        return arriving, self.workers.begin_exchange(sent, torch.split(arriving, list(self.incoming)))

    def __call__(self, dense: Tensor) -> Tensor:
        """Return the rows that other workers have."""
        arriving, messages = self.begin(dense)
        for message in messages:
            message.wait()
        return arriving


class HaloMatrix(Matrix):
    """Rows of a square matrix, of which each worker has some; their product takes the same rows of the dense factor.

    Args:
        local: their entries in columns of nodes here.
        halo: those in columns of nodes elsewhere, in the order of `exchange`.
        exchange: the rows that travel before a product; all workers multiply together.
    """

    def __init__(self, local: CsrMatrix, halo: CsrMatrix, exchange: Exchange) -> None:
        self.local, self.halo, self.exchange = local, halo, exchange
        self.shape, self.dtype, self.device = local.shape, local.dtype, local.device
        self.nnz = local.nnz + halo.nnz

    def product(self, dense: Tensor, out: Tensor | None = None, add: bool = False) -> Tensor:
        """Return `[rows here, width]` of the product; rows travel while the local one is computed."""
        if add:
            return store(self.product(dense), out, add)  # summed before it is added, in that order for every worker
        dense = dense.contiguous()
        arriving, messages = self.exchange.begin(dense)
        result = self.local.product(dense, out)
        for message in messages:
            message.wait()
        return self.halo.product(arriving, result, add=True) if len(arriving) else result


@dataclass(frozen=True)
class RowBlocks:
    """Rows of a matrix, cut into the columns of nodes here and those of nodes elsewhere that they link to."""

    local: sp.csr_array
    halo: sp.csr_array
    exchange: Exchange

    @classmethod
    def of(cls, rows: sp.csr_array, workers: TorchWorkerGroup, offsets: Offsets) -> RowBlocks:
        """Return the blocks of `rows` `[rows here, N]`; all workers do this together."""
        start, stop = int(offsets[workers.rank]), int(offsets[workers.rank + 1])
        rows.sort_indices()
        linked = np.zeros(rows.shape[1], dtype=np.bool_)
        linked[rows.indices] = True
        linked[start:stop] = False
        columns = np.flatnonzero(linked).astype(np.int64)
        local = rows if stop - start == rows.shape[1] else rows[:, start:stop]
        halo = rows[:, columns.astype(rows.indices.dtype)]  # whose type the result has
        return cls(local, halo, Exchange.plan(workers, offsets, columns))

    def scaled(self, left: npt.NDArray[np.float64] | None, right: npt.NDArray[np.float64] | None) -> RowBlocks:
        """Return rows times `left`, columns times `right`, given for the nodes here; positions are shared."""
        elsewhere = None
        if right is not None:
            elsewhere = self.exchange(torch.from_numpy(right).unsqueeze(1)).squeeze(1).numpy()
        blocks = (_scaled(self.local, left, right), _scaled(self.halo, left, elsewhere))
        return RowBlocks(*blocks, self.exchange)

    def sums(self) -> npt.NDArray[np.float64]:
        """Return the sum of each row."""
        return np.asarray(self.local.sum(axis=1) + self.halo.sum(axis=1), dtype=np.float64).ravel()

    def matrix(self, dtype: torch.dtype) -> HaloMatrix:
        """Return the matrix for products."""
        local, halo = CsrMatrix.from_scipy(self.local, dtype), CsrMatrix.from_scipy(self.halo, dtype)
        return HaloMatrix(local, halo, self.exchange)


def _scaled(
    block: sp.csr_array, left: npt.NDArray[np.float64] | None, right: npt.NDArray[np.float64] | None
) -> sp.csr_array:
    """Return new values over the same positions."""
    if left is None and right is None:
        return block
    data = block.data.astype(np.float64)
    if left is not None:
        data *= np.repeat(left, np.diff(block.indptr))
    if right is not None:
        data *= right[block.indices]
    return sp.csr_array((data, block.indices, block.indptr), shape=block.shape)
