"""`Forest`: decision trees as plain arrays, and what they add up to."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

LEAF = -1
ROWS = 1 << 14  # at a time, so that what is looked up stays in the cache
Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Forest:
    """Trees whose nodes stand one after the other; children come after their parent.

    Args:
        roots: the first node of every tree, `[T]`.
        feature: the column a node asks for, `LEAF` where it asks nothing, `[M]`.
        threshold: rows with at most this go left, `[M]`.
        missing_left: whether rows without a value go left, `[M]`.
        left: the node to go on with, `[M]`.
        right: likewise, `[M]`.
        value: what a leaf says, `[M]`.
    """

    roots: Array
    feature: Array
    threshold: Array
    missing_left: Array
    left: Array
    right: Array
    value: Array

    @classmethod
    def empty(cls) -> Forest:
        """No tree."""
        whole, real = np.zeros(0, np.int32), np.zeros(0, np.float64)
        return cls(np.zeros(0, np.int64), whole, real, np.zeros(0, bool), whole, whole, real)

    @classmethod
    def of(cls, trees: list[Array]) -> Forest:
        """From scikit-learn's records, one array of nodes per tree."""
        if not trees:
            return cls.empty()
        sizes = [len(nodes) for nodes in trees]
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
        nodes, shift = np.concatenate(trees), np.repeat(starts, sizes)
        leaf = nodes["is_leaf"].astype(bool)
        return cls(
            roots=starts,
            feature=np.where(leaf, LEAF, nodes["feature_idx"]).astype(np.int32),
            threshold=nodes["num_threshold"].astype(np.float64),
            missing_left=nodes["missing_go_to_left"].astype(bool),
            left=np.where(leaf, 0, nodes["left"] + shift).astype(np.int32),
            right=np.where(leaf, 0, nodes["right"] + shift).astype(np.int32),
            value=nodes["value"].astype(np.float64),
        )

    def arrays(self) -> dict[str, Array]:
        """All arrays by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def problem(self, columns: int | None = None) -> str | None:
        """Return the fault of the arrays, if there is one: such a forest cannot be evaluated."""
        size = len(self.feature)
        if any(len(array) != size for name, array in self.arrays().items() if name != "roots"):
            return "the arrays of the trees differ in length"
        inner = np.flatnonzero(self.feature != LEAF)
        children = np.stack([self.left[inner], self.right[inner]])
        if (children <= inner).any() or (children >= size).any() or not np.isin(self.roots, np.arange(size)).all():
            return "a tree points to nodes that do not exist"
        if (self.feature < LEAF).any() or (columns is not None and (self.feature >= columns).any()):
            return "a tree asks for a column that does not exist"
        return None

    def add_to(self, totals: Array, table: Array) -> None:
        """Add what the trees say of rows of `table` `[N, columns]` to `totals` `[N, K]`, tree `t` in column `t % K`.

        Trees are added one after the other, so that sums do not depend on how many are added at once.
        """
        for start in range(0, len(table), ROWS):
            rows = table[start : start + ROWS]
            for number, root in enumerate(self.roots):
                totals[start : start + ROWS, number % totals.shape[1]] += self.value[self._leaves(int(root), rows)]

    def _leaves(self, root: int, rows: Array) -> Array:
        """The leaf that each row ends in."""
        reached = np.full(len(rows), root, dtype=np.int64)
        moving = np.arange(len(rows)) if self.feature[root] != LEAF else np.zeros(0, np.int64)
        while moving.size:
            nodes = reached[moving]
            values = rows[moving, self.feature[nodes]]
            goes_left = values <= self.threshold[nodes]  # never where the value is missing
            missing = np.isnan(values)
            if missing.any():
                goes_left |= missing & self.missing_left[nodes]
            nodes = np.where(goes_left, self.left[nodes], self.right[nodes])
            reached[moving] = nodes
            moving = moving[self.feature[nodes] != LEAF]
        return reached
