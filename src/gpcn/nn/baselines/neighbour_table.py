"""A row of numbers per node for models that know no graphs: features, degrees, what neighbours have and are.

With `A` the links without self-loops and `P = D^-1 A` (a step to a neighbour, with a probability that is its share of
the weights), per direction (along the links, against them; one where the graph is undirected):

- degree: the number of neighbours, and the sum of the weights where there are weights;
- `P X` and `P P X`: the neighbours' mean of the features, and the neighbours' mean of that;
- of the training labels, the mean over *other* nodes that one step leads to, and two steps:

      one:  Σ_j P_ij y_j / Σ_j P_ij t_j          t_j: 1 for a training node, else 0;  y_j: its one-hot label, or 0
      two:  Σ_{k≠i} (P P)_ik y_k / Σ_{k≠i} (P P)_ik t_k

  with the coverage (the denominator, as a share of the steps that lead to other nodes) and, for one step, the number
  of labelled neighbours.

A node's own label is nowhere in its row: there are no self-loops, and two steps that lead back are subtracted. The
subtraction leaves no trace, not even a rounding error, because labels are counted in whole numbers: probabilities are
multiples of 2^-30. What is not defined (no neighbours, none of them labelled) is NaN.

Rows are rounded to 32 bits, so that the order in which neighbours are listed does not show.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

UNITS = 1 << 30  # of a probability; two steps stay below 2^63
Array = npt.NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The columns of a table; decided by the graph a model is fitted to, and the same for every other graph.

    Args:
        directed: both directions, or one.
        weighted: whether degrees are summed too.
        hops: how many steps, 0 to 2.
        labels: whether the neighbours' labels are looked at.
    """

    directed: bool
    weighted: bool
    hops: int = 2
    labels: bool = True

    @classmethod
    def of(cls, matrix: sp.csr_array, hops: int = 2, labels: bool = True) -> Layout:
        """Return the layout that suits these links."""
        links = matrix_without_loops(matrix)
        return cls(
            directed=bool((links != links.T).nnz), weighted=bool((links.data != 1).any()), hops=hops, labels=labels
        )


def neighbour_table(features: Array, matrix: sp.csr_array, labels: Array, layout: Layout) -> npt.NDArray[np.float32]:
    """The rows, `[N, columns]`.

    Args:
        features: `[N, q]`, dense.
        matrix: links `A[i, j]` from node `i` to node `j`.
        labels: training labels, one-hot `[N, C]`, rows of zeros elsewhere.
        layout: which columns.
    """
    links = matrix_without_loops(matrix)
    directions = [links, sp.csr_array(links.T)] if layout.directed else [links]
    parts = [features]
    for steps in directions:
        parts += _degrees(steps, layout)
        parts += _feature_means(features, steps, layout.hops)
        if layout.labels:
            parts += _label_means(labels.astype(np.int64), steps, layout.hops)
    return np.concatenate([part.astype(np.float32) for part in parts], axis=1)


def matrix_without_loops(matrix: sp.csr_array) -> sp.csr_array:
    """The links between different nodes."""
    entries = sp.coo_array(matrix)
    others = (entries.row != entries.col) & (entries.data != 0)
    kept = entries.data[others], (entries.row[others], entries.col[others])
    return sp.csr_array(kept, shape=matrix.shape)


def _degrees(links: sp.csr_array, layout: Layout) -> list[Array]:
    counts = np.diff(links.indptr)[:, None]
    return [counts, links.sum(axis=1)[:, None]] if layout.weighted else [counts]


def _feature_means(features: Array, links: sp.csr_array, hops: int) -> list[Array]:
    """Mean of the neighbours, then mean of those neighbours that have a mean."""
    walk = _walk(links)
    has_any = (np.diff(links.indptr) > 0).astype(np.float64)[:, None]
    means: list[Array] = []
    mean, defined = features.astype(np.float64), np.ones_like(has_any)
    for _ in range(hops if features.shape[1] else 0):
        total, defined = walk @ mean, walk @ defined
        mean = np.divide(total, defined, out=np.zeros_like(total), where=defined > 0)
        means.append(np.where(defined > 0, mean, np.nan))
        defined = (defined > 0).astype(np.float64)
    return means


def _label_means(labels: Array, links: sp.csr_array, hops: int) -> list[Array]:
    """Mean and coverage after one and after two steps, labels counted in units of probability."""
    walk = _walk(links)
    walk.data = np.rint(walk.data * UNITS).astype(np.int64)
    labelled = labels.sum(axis=1, keepdims=True)
    reached, possible = labels, np.ones_like(labelled)
    columns: list[Array] = []
    for hop in range(1, hops + 1):
        reached, possible = walk @ reached, walk @ possible  # [N, C] and [N, 1], whole numbers
        if hop == 2:
            back = walk.multiply(walk.T).sum(axis=1).astype(np.int64)[:, None]  # there and back again
            reached, possible = reached - back * labels, possible - back
        mass = reached.sum(axis=1, keepdims=True)
        columns += [_ratio(reached, mass), _ratio(mass, possible)]
        if hop == 1:
            columns.append(_pattern(links) @ labelled)
    return columns


def _walk(links: sp.csr_array) -> sp.csr_array:
    sums = np.repeat(links.sum(axis=1), np.diff(links.indptr))
    return sp.csr_array((links.data / sums, links.indices, links.indptr), shape=links.shape)


def _pattern(links: sp.csr_array) -> sp.csr_array:
    return sp.csr_array((np.ones(links.nnz, np.int64), links.indices, links.indptr), shape=links.shape)


def _ratio(part: Array, whole: Array) -> Array:
    """`part / whole`, NaN where there is nothing."""
    shape = np.broadcast_shapes(part.shape, whole.shape)
    result: Array = np.divide(part, whole, out=np.full(shape, np.nan), where=np.broadcast_to(whole > 0, shape))
    return result
