"""Metrics of classes for tensors, as every epoch needs them: of logits `[n, C]`, nan where undefined."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor

if TYPE_CHECKING:
    from gpcn.tasks.classification import Classification


def accuracy(logits: Tensor, labels: Tensor, task: Classification) -> Tensor:
    """Share of nodes whose highest logit is their class's."""
    return (logits.argmax(1) == labels).to(logits.dtype).mean()


def balanced_accuracy(logits: Tensor, labels: Tensor, task: Classification) -> Tensor:
    """The mean of the recall of every class that is present."""
    hits, given, _ = _counts(logits, labels)
    return (hits / given)[given > 0].mean().to(logits.dtype)


def f1(logits: Tensor, labels: Tensor, task: Classification) -> Tensor:
    """Of the positive class, or the mean over classes that are present or predicted."""
    hits, given, predicted = _counts(logits, labels)
    per_class = 2 * hits / (given + predicted)
    if task.positive is None:
        return per_class[given + predicted > 0].mean().to(logits.dtype)
    return torch.where(given[task.positive] > 0, per_class[task.positive], torch.nan).to(logits.dtype)


def roc_auc(logits: Tensor, labels: Tensor, task: Classification) -> Tensor:
    """Area under the ROC curve, of two classes or the mean of every present class against the rest."""
    if task.positive is not None:
        return roc_area(logits[:, 1] - logits[:, 0], labels)
    return _mean_over_classes(roc_area, logits, labels)


def average_precision(logits: Tensor, labels: Tensor, task: Classification) -> Tensor:
    """Of the positive class, or the mean of every present class against the rest."""
    if task.positive is not None:
        lead = logits[:, task.positive] - logits[:, 1 - task.positive]
        return precision_area(lead, (labels == task.positive).long())
    return _mean_over_classes(precision_area, logits, labels)


def log_loss(logits: Tensor, labels: Tensor, task: Classification) -> Tensor:
    """Mean negative logarithm of the probability of the right class."""
    return F.cross_entropy(logits, labels)


def roc_area(scores: Tensor, labels: Tensor) -> Tensor:
    """Area under the ROC curve by ranks, ties shared; nan where a class is absent."""
    _, inverse, counts = torch.unique(scores, return_inverse=True, return_counts=True)
    last = counts.cumsum(0).to(torch.float64)
    ranks = (last - (counts.to(torch.float64) - 1) / 2)[inverse]
    positive = labels == 1
    wins, losses = positive.sum(), (~positive).sum()
    area = (ranks[positive].sum() - wins * (wins + 1) / 2) / (wins * losses)
    return torch.as_tensor(area).to(scores.dtype)


def precision_area(scores: Tensor, labels: Tensor) -> Tensor:
    """Average precision: precision at every distinct score, weighted by what it adds to recall; nan as above."""
    _, inverse, counts = torch.unique(scores, return_inverse=True, return_counts=True)
    positive = (labels == 1).to(torch.float64)
    hits = torch.zeros(len(counts), dtype=torch.float64, device=scores.device).index_add_(0, inverse, positive).flip(0)
    precision = hits.cumsum(0) / counts.flip(0).cumsum(0)
    area = (hits * precision).sum() / hits.sum()
    return torch.where(positive.all(), torch.nan, area).to(scores.dtype)


def _counts(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """By class: nodes predicted right, nodes of it, nodes predicted as it."""
    classes = logits.shape[1]
    confusion = torch.bincount(labels * classes + logits.argmax(1), minlength=classes**2).view(classes, classes)
    exact = confusion.to(torch.float64)
    return exact.diagonal(), exact.sum(1), exact.sum(0)


def _mean_over_classes(area: Callable[[Tensor, Tensor], Tensor], logits: Tensor, labels: Tensor) -> Tensor:
    """The mean of `area` of every class that is present, against the rest."""
    likely = logits.double().log_softmax(1)
    areas = [area(likely[:, c], (labels == c).long()) for c in torch.unique(labels).tolist()]
    return torch.stack(areas).mean().to(logits.dtype)
