"""The rows of a graph that matter to some of its nodes, cut out of features and operators.

The logit of a node depends on what lies within `L` steps along an operator, so the loss of the training nodes reaches
only part of a directed or sparsely labelled graph; on the other rows products and gradients would be computed for
nothing. Within `L` steps no entry of an operator is missing, so the logits of those nodes are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor

from gpcn.nn.base import Features
from gpcn.nn.engine.operator import SparseOperator
from gpcn.nn.engine.polynomial import Operators, transposed_operators

JOINED, WIDEST_JOINED = (
    1 << 24,
    256,
)  # bytes, and sum of the widths of feature layers, up to which two passes pay as one
WORTHWHILE = 0.95  # share of all rows up to which cutting them out pays
LARGE, WORTHWHILE_IN_LARGE = 1 << 28, 0.4  # bytes from which on the copies must be much smaller than what they are of


@dataclass(frozen=True)
class Region:
    """Some rows with everything that a pass over them reads.

    Attributes:
        rows: their numbers, `[n]`; `None` where it is all of them.
        x: their features, `[n, q]`.
        operators: of the bank, from rows to rows, `[n, n]`.
        backwards: their transposes.
        links: of the link term, from all nodes to the rows, `[n, N]`.
        entries: numbers of the stored entries of sparse features that are theirs; `None` where it is all of them.
        positions: of every node among the rows, `[N]`; meaningless for nodes that are not there.
    """

    rows: Tensor | None
    x: Features
    operators: Operators
    backwards: Operators
    links: Operators
    entries: Tensor | None = None
    positions: Tensor | None = None

    def __len__(self) -> int:
        """The number of rows."""
        return self.x.shape[0]

    def size_in_bytes(self) -> int:
        """Of features and operators, about."""
        stored = [*self.operators, *self.links, *([self.x] if isinstance(self.x, SparseOperator) else [])]
        dense = 0 if isinstance(self.x, SparseOperator) else self.x.nbytes
        return dense + sum(2 * operator.nnz * (4 + operator.dtype.itemsize) for operator in stored)

    def at(self, nodes: Tensor) -> Tensor:
        """Return the positions of `nodes` among the rows."""
        return nodes if self.positions is None else self.positions[nodes]

    def take(self, values: Tensor, out: Tensor) -> Tensor:
        """The rows of `values` `[N, C]`, in `out` `[n, C]` where they are not all."""
        return values if self.rows is None else torch.index_select(values, 0, self.rows, out=out)

    def spread(self, values: Tensor, out: Tensor) -> Tensor:
        """`values` `[n, C]` as `[N, C]`, in `out` where these are not all rows, which is zero elsewhere."""
        return values if self.rows is None else out.index_copy_(0, self.rows, values)


def region_of_all_rows(x: Features, operators: Operators, links: Operators) -> Region:
    """All rows."""
    return Region(None, x, operators, transposed_operators(operators), links)


def region_around(nodes: Tensor, whole_graph: Region, depths: Sequence[int]) -> Region:
    """Return the rows that the logits of `nodes` depend on, where that is a part worth cutting out of `whole_graph`."""
    inside = rows_within_reach(whole_graph.operators, depths, nodes.numpy(), len(whole_graph))
    if inside.sum() > (WORTHWHILE if whole_graph.size_in_bytes() < LARGE else WORTHWHILE_IN_LARGE) * inside.size:
        return whole_graph
    rows = np.flatnonzero(inside)
    positions = np.full(inside.size, -1)
    positions[rows] = np.arange(rows.size)
    cut = {id(operator): _rows_and_columns(operator, rows) for operator in whole_graph.operators}
    operators = tuple(cut[id(operator)] for operator in whole_graph.operators)
    links = tuple(cut[id(operator)] if id(operator) in cut else _rows(operator, rows) for operator in whole_graph.links)
    x, entries = whole_graph.x, None
    if isinstance(x, SparseOperator):
        counts = x.csr.row_counts.numpy()
        entries = torch.from_numpy(np.flatnonzero(np.repeat(inside, counts)))
        x = _rows(x, rows)
    else:
        x = x[torch.from_numpy(rows)]
    numbers = torch.from_numpy(rows)
    return Region(numbers, x, operators, transposed_operators(operators), links, entries, torch.from_numpy(positions))


def stack_regions(first: Region, second: Region, hidden: int) -> Region | None:
    """Both in one, the rows of `first` above those of `second`, for passes forwards; `None` where that is too large.

    On small graphs a product costs less than its call, so one pass over both is faster than one over each. `hidden` is
    the sum of the widths of the feature layers.
    """
    if hidden > WIDEST_JOINED or first.size_in_bytes() + second.size_in_bytes() > JOINED:
        return None
    operators = tuple(
        _joined(sp.block_diag, above, below) for above, below in zip(first.operators, second.operators, strict=True)
    )
    joined = {id(operator): both for operator, both in zip(first.operators, operators, strict=True)}
    links = tuple(
        joined[id(above)] if id(above) in joined else _joined(sp.vstack, above, below)
        for above, below in zip(first.links, second.links, strict=True)
    )
    x: Features
    if isinstance(first.x, SparseOperator) and isinstance(second.x, SparseOperator):
        x = _joined(sp.vstack, first.x, second.x)
    else:
        x = torch.cat([cast(Tensor, first.x), cast(Tensor, second.x)])
    rows = torch.cat([torch.arange(len(region)) if region.rows is None else region.rows for region in (first, second)])
    return Region(rows, x, operators, (), links)


def rows_within_reach(
    operators: Operators, depths: Sequence[int], nodes: npt.NDArray[np.int64], count: int
) -> npt.NDArray[np.bool_]:
    """Return a mask of the `count` rows: those within the depth of an operator from `nodes`."""
    total = np.zeros(count, dtype=np.bool_)
    total[nodes] = True
    start = total.copy()
    for operator, depth in zip(operators, depths, strict=True):
        inside = start.copy()
        columns, counts = operator.csr.columns.numpy(), operator.csr.row_counts.numpy()
        for _ in range(depth):
            before = int(inside.sum())
            inside[columns[np.repeat(inside, counts)]] = True
            if int(inside.sum()) == before:
                break
        total |= inside
    return total


def _rows_and_columns(operator: SparseOperator, rows: npt.NDArray[np.int64]) -> SparseOperator:
    return SparseOperator.from_scipy(operator.csr.to_scipy()[rows][:, rows], dtype=operator.dtype)


def _rows(operator: SparseOperator, rows: npt.NDArray[np.int64]) -> SparseOperator:
    return SparseOperator.from_scipy(operator.csr.to_scipy()[rows], dtype=operator.dtype)


def _joined(join: Callable[..., Any], above: SparseOperator, below: SparseOperator) -> SparseOperator:
    matrices = [above.csr.to_scipy(), below.csr.to_scipy()]
    return SparseOperator.from_scipy(join(matrices, format="csr"), dtype=above.dtype)
