"""Gradient boosting of trees by scikit-learn's `HistGradientBoostingClassifier`, as far as asked and then further.

Of scikit-learn's insides only those are touched that other exporters of its trees read as well: `_predictors`, the
trees of every iteration, whose `nodes` are records, and `_baseline_prediction`, what is there before the first tree.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from gpcn.nn.baselines.forest import Forest

Array = npt.NDArray[Any]
AHEAD = 20  # iterations at least that are fitted at once: starting and stopping costs as much as a few of them


class Boosting:
    """Boosted trees on the rows of a table; the first `n` iterations are the same however many follow.

    Args:
        table: training rows, `[n, columns]`, NaN where a value is missing.
        labels: their classes, `[n]`, from 0 without gaps, at least two different ones.
        weights: how much each row counts, `[n]`, or nothing.
        most: iterations that will ever be asked for.
        settings: as `HistGradientBoostingClassifier` has them.
    """

    def __init__(
        self, table: Array, labels: Array, weights: Array | None, *, most: int, settings: dict[str, Any]
    ) -> None:
        from sklearn.ensemble import HistGradientBoostingClassifier

        unknown = np.isnan(table).all(axis=0)  # scikit-learn wants at least one value; a constant is never asked for
        self.table, self.labels, self.weights = np.where(unknown, 0, table), labels, weights
        self.most = most
        self.classifier = HistGradientBoostingClassifier(
            **settings, early_stopping=False, warm_start=True, max_iter=1, categorical_features=None
        )
        self._fit(1)
        self.baseline: Array = np.array(self.classifier._baseline_prediction, dtype=np.float64).reshape(-1)  # [K]

    @property
    def iterations(self) -> int:
        """The number of rounds."""
        return len(self.classifier._predictors)

    def trees(self, first: int, last: int) -> Forest:
        """The trees of iterations `first` to below `last`, `K` per iteration; fitted where they are not yet."""
        if last > self.iterations:
            ahead = self.iterations + max(AHEAD, self.iterations // 2)
            self._fit(max(last, min(self.most, ahead)))
        return Forest.of([tree.nodes for trees in self.classifier._predictors[first:last] for tree in trees])

    def _fit(self, iterations: int) -> None:
        """With as many threads as PyTorch has here: what is fitted does not depend on their number."""
        from threadpoolctl import threadpool_limits

        self.classifier.set_params(max_iter=iterations)
        with threadpool_limits(torch.get_num_threads()):
            self.classifier.fit(self.table, self.labels, self.weights)

    def state(self) -> dict[str, Array]:
        """All trees, field by field, and how many nodes each has."""
        trees = [tree.nodes for trees in self.classifier._predictors for tree in trees]
        nodes = np.concatenate(trees)
        columns = {name: nodes[name] for name in nodes.dtype.names or ()}
        return {**columns, "sizes": np.array([len(tree) for tree in trees], dtype=np.int64)}

    def restore(self, state: dict[str, Array]) -> None:
        """Take the trees of `state`; `ValueError` or `KeyError` where they do not fit."""
        example = self.classifier._predictors[0][0]
        sizes, per_iteration = state["sizes"].tolist(), len(self.baseline)
        nodes = np.zeros(sum(sizes), dtype=example.nodes.dtype)
        for name in nodes.dtype.names or ():
            if state[name].shape != nodes.shape:
                raise ValueError(f"the trees' {name} has shape {state[name].shape}; expected {nodes.shape}")
            nodes[name] = state[name]
        if not sizes or min(sizes) < 1 or len(sizes) % per_iteration:
            raise ValueError(f"there are {len(sizes)} trees; expected {per_iteration} per iteration")
        parts = [np.ascontiguousarray(part) for part in np.split(nodes, np.cumsum(sizes)[:-1])]
        problem = Forest.of(parts).problem(self.table.shape[1])
        if problem is not None:
            raise ValueError(problem)
        no_category = example.binned_left_cat_bitsets[:0], example.raw_left_cat_bitsets[:0]
        trees = [type(example)(part, *no_category) for part in parts]
        self.classifier._predictors = [
            trees[start : start + per_iteration] for start in range(0, len(trees), per_iteration)
        ]
