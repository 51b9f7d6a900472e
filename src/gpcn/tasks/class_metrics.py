"""Metrics of classes: their forms for NumPy arrays, and their definitions.

Of two classes the positive one is the rarer; F1 and average precision are about it. With more classes they, and the
area under the ROC curve, are of one class against the rest, and the plain mean over classes.

The forms for arrays equal scikit-learn's, whose checks of every argument take a hundred times as long as the arithmetic
on a small graph, and whose import takes as long as training a split of one. All take probabilities `[n, C]`, classes
`[n]`, and the task, which knows the positive one of two classes.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpcn.core.types import IntVector
from gpcn.tasks.metrics import FromArrays, Metric, register_metric

if TYPE_CHECKING:
    from torch import Tensor

    from gpcn.tasks.classification import Classification

Probabilities = npt.NDArray[Any]
Counts = npt.NDArray[np.int64]


def accuracy(probabilities: Probabilities, labels: IntVector, task: Classification) -> float:
    """Share of nodes whose most probable class is theirs."""
    return float((probabilities.argmax(axis=1) == labels).sum() / labels.size)


def balanced_accuracy(probabilities: Probabilities, labels: IntVector, task: Classification) -> float:
    """The mean of the recall of every class that is present."""
    hits, given, _ = _counts(probabilities, labels)
    return float((hits[given > 0] / given[given > 0]).mean())


def f1(probabilities: Probabilities, labels: IntVector, task: Classification) -> float:
    """Of the positive class, or the mean over classes that are present or predicted; 0 where nothing is right."""
    hits, given, predicted = _counts(probabilities, labels)
    chosen = given + predicted > 0
    if task.positive is not None:
        chosen = np.arange(given.size) == task.positive
    return float((2 * hits[chosen] / np.maximum(1, given + predicted)[chosen]).mean())


def roc_auc(probabilities: Probabilities, labels: IntVector, task: Classification) -> float:
    """Area under the ROC curve, of two classes or the mean of every present class against the rest."""
    if task.positive is not None:  # the same for either class
        return _roc_area(probabilities[:, 1], labels == 1)
    return float(np.mean([_roc_area(probabilities[:, c], labels == c) for c in np.unique(labels)]))


def average_precision(probabilities: Probabilities, labels: IntVector, task: Classification) -> float:
    """Of the positive class, or the mean of every present class against the rest."""
    classes = np.unique(labels) if task.positive is None else np.array([task.positive])
    return float(np.mean([_precision_area(probabilities[:, c], labels == c) for c in classes]))


def log_loss(probabilities: Probabilities, labels: IntVector, task: Classification) -> float:
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


def _on_tensors(name: str, logits: Tensor, labels: Tensor, task: Classification) -> Tensor:
    """The form for tensors: who reads a graph does not wait for PyTorch."""
    score: Tensor = getattr(import_module("gpcn.tasks.class_metrics_on_tensors"), name)(logits, labels, task)
    return score


def _has_two_classes(labels: IntVector, task: Classification) -> bool:
    return bool(np.unique(labels).size > 1)


def _has_positive(labels: IntVector, task: Classification) -> bool:
    return labels.size > 0 if task.positive is None else bool((labels == task.positive).any())


def _define(form: FromArrays, title: str, **properties: Any) -> None:
    name = form.__name__
    on_tensors = partial(_on_tensors, name)
    register_metric(
        Metric(
            name=name, title=title, serves=("classification",), from_arrays=form, from_tensors=on_tensors, **properties
        )
    )


_define(accuracy, "accuracy")
_define(balanced_accuracy, "balanced accuracy")
_define(f1, "F1", is_defined=_has_positive, needs="nodes of the positive class")
_define(roc_auc, "ROC-AUC", is_defined=_has_two_classes, needs="two classes", ranking=True)
_define(average_precision, "average precision", is_defined=_has_two_classes, needs="two classes", ranking=True)
_define(log_loss, "log loss", greater_is_better=False, percent=False)
