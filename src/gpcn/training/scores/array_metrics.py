"""The metrics of `training.scores.metrics` for NumPy arrays, in a few lines each.

They equal scikit-learn's, whose checks of every argument take a hundred times as long as the arithmetic on a small
graph, and whose import takes as long as training a split of one. All take probabilities `[n, C]`, classes `[n]`, and
the positive one of two classes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gpcn.utils.types import IntVector

Probabilities = npt.NDArray[Any]
Counts = npt.NDArray[np.int64]


def accuracy(probabilities: Probabilities, labels: IntVector, positive: int | None) -> float:
    """Share of nodes whose most probable class is theirs."""
    return float((probabilities.argmax(axis=1) == labels).sum() / labels.size)


def balanced_accuracy(probabilities: Probabilities, labels: IntVector, positive: int | None) -> float:
    """The mean of the recall of every class that is present."""
    hits, given, _ = _counts(probabilities, labels)
    return float((hits[given > 0] / given[given > 0]).mean())


def f1(probabilities: Probabilities, labels: IntVector, positive: int | None) -> float:
    """Of the positive class, or the mean over classes that are present or predicted; 0 where nothing is right."""
    hits, given, predicted = _counts(probabilities, labels)
    chosen = given + predicted > 0
    if positive is not None:
        chosen = np.arange(given.size) == positive
    return float((2 * hits[chosen] / np.maximum(1, given + predicted)[chosen]).mean())


def roc_auc(probabilities: Probabilities, labels: IntVector, positive: int | None) -> float:
    """Area under the ROC curve, of two classes or the mean of every present class against the rest."""
    if positive is not None:  # the same for either class
        return _roc_area(probabilities[:, 1], labels == 1)
    return float(np.mean([_roc_area(probabilities[:, c], labels == c) for c in np.unique(labels)]))


def average_precision(probabilities: Probabilities, labels: IntVector, positive: int | None) -> float:
    """Of the positive class, or the mean of every present class against the rest."""
    classes = np.unique(labels) if positive is None else np.array([positive])
    return float(np.mean([_precision_area(probabilities[:, c], labels == c) for c in classes]))


def log_loss(probabilities: Probabilities, labels: IntVector, positive: int | None) -> float:
    """Mean negative logarithm of the probability of the right class, in nats; a zero counts as the smallest step."""
    exact = probabilities.astype(np.float64)
    exact /= exact.sum(axis=1, keepdims=True)
    smallest = np.finfo(np.float64).eps
    right = exact[np.arange(labels.size), labels]
    return float(-np.log(np.clip(right, smallest, 1 - smallest)).mean())


def _counts(probabilities: Probabilities, labels: IntVector) -> tuple[Counts, Counts, Counts]:
    """By class: nodes predicted right, nodes of it, nodes predicted as it."""
    classes = probabilities.shape[1]
    pairs = labels * classes + probabilities.argmax(axis=1)
    confusion = np.bincount(pairs, minlength=classes**2).reshape(classes, classes)
    return np.diag(confusion), confusion.sum(axis=1), confusion.sum(axis=0)


def _by_score(scores: Probabilities, is_positive: npt.NDArray[np.bool_]) -> tuple[Counts, Counts]:
    """For every distinct score, the highest first: nodes that have it, and positive ones among them."""
    _, inverse, counts = np.unique(scores, return_inverse=True, return_counts=True)
    hits = np.bincount(inverse, weights=is_positive, minlength=counts.size).astype(np.int64)
    return counts[::-1], hits[::-1]


def _roc_area(scores: Probabilities, is_positive: npt.NDArray[np.bool_]) -> float:
    """The share of pairs of a positive and a negative node that are in the right order; a tie is half of one."""
    counts, hits = _by_score(scores, is_positive)
    misses = counts - hits
    below = misses.sum() - misses.cumsum()
    return float((hits * (2 * below + misses)).sum() / (2 * hits.sum() * misses.sum()))


def _precision_area(scores: Probabilities, is_positive: npt.NDArray[np.bool_]) -> float:
    """Precision at every distinct score, weighted by what it adds to recall."""
    counts, hits = _by_score(scores, is_positive)
    return float((hits * (hits.cumsum() / counts.cumsum())).sum() / hits.sum())
