"""`Classification`: one of `C` classes for every node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from gpcn.core.errors import DataError
from gpcn.core.types import UNKNOWN
from gpcn.records.reading import Count, Number, decode
from gpcn.tasks.calibration import calibration_error
from gpcn.tasks.cross_entropy import CrossEntropyWithError, mean_cross_entropy
from gpcn.tasks.metrics import metric_names
from gpcn.tasks.target import Target, class_target
from gpcn.tasks.task import LossWithError, PartScores, Prediction, Task, Values, register_task

LEAST_LIKELY = 1e-6  # what a probability counts as at least


class ClassScores(PartScores, frozen=True, kw_only=True):
    """All measures of predicted classes; undefined is `None`.

    Args:
        accuracy: a share of one, as all that follow.
        precision: by class, as all that follow.
        confusion: how many nodes of a class (rows) were predicted as which (columns).
    """

    accuracy: Number | None
    balanced_accuracy: Number | None
    f1: Number | None
    roc_auc: Number | None
    average_precision: Number | None
    log_loss: Number | None
    macro_f1: Number | None
    precision: tuple[Number | None, ...]
    recall: tuple[Number | None, ...]
    support: tuple[Count, ...]
    confusion: tuple[tuple[Count, ...], ...]
    calibration_error: Number | None

    def __post_init__(self) -> None:
        classes = len(self.support)
        for name in ("precision", "recall", "confusion"):
            if len(getattr(self, name)) != classes:
                raise ValueError(f"{name} has {len(getattr(self, name))} entries; expected {classes}")
        if any(len(row) != classes for row in self.confusion):
            raise ValueError(f"confusion has rows of other lengths than {classes}")

    @property
    def size(self) -> int:
        """The number of nodes."""
        return sum(self.support)


@register_task
@dataclass(frozen=True)
class Classification(Task):
    """Which of `C` classes a node is of; the answers are class numbers, predictions are probabilities `[n, C]`.

    Args:
        num_classes: `C`.
        positive: of two classes the one that F1, average precision and thresholds are about (default: class 1); with
            more classes there is none.
        names: of the classes (default: their numbers).
    """

    num_classes: int
    positive: int | None = None
    names: tuple[str, ...] = ()

    name: ClassVar[str] = "classification"
    plain_metric: ClassVar[str] = "accuracy"
    scores: ClassVar[type[PartScores]] = ClassScores

    def __post_init__(self) -> None:
        if self.num_classes == 2 and self.positive is None:
            object.__setattr__(self, "positive", 1)
        if not self.names:
            object.__setattr__(self, "names", tuple(map(str, range(self.num_classes))))

    @classmethod
    def read(cls, labels: object, nodes: int, names: Sequence[str] | None) -> Target:
        """Return what is known from class numbers `[nodes]`, -1 for unknown."""
        return class_target(labels, nodes, names)

    @classmethod
    def of(cls, names: Sequence[str], positive: int | None = None) -> Self:
        """Return the task of telling classes of these names apart."""
        return cls(len(names), positive, tuple(names))

    @property
    def num_outputs(self) -> int:
        """`C`: a logit for every class."""
        return self.num_classes

    def check_can_learn(self, truth: Values, name: str) -> None:
        """Refuse fewer than two classes."""
        classes = np.unique(truth)
        if classes.size < 2:
            raise DataError(f"{name} has {classes.size} class(es) with a label; expected at least 2 to tell apart")

    def losses(self, outputs: Tensor, truth: Tensor) -> Tensor:
        """Return the cross-entropy of every node."""
        return F.cross_entropy(outputs, truth, reduction="none")

    def activation(self, outputs: Tensor) -> Tensor:
        """Return the softmax: a probability of every class."""
        return torch.softmax(outputs, dim=-1)

    def balance(self, truth: Tensor) -> Tensor:
        """Return a weight for every class, `[C]`, the inverse of its share, 1 in the mean of those that are there."""
        counts = torch.bincount(truth, minlength=self.num_classes).to(torch.get_default_dtype())
        weights = torch.where(counts > 0, counts.sum() / counts.clamp(min=1), torch.zeros_like(counts))
        return weights / weights[counts > 0].mean()

    def loss(self, outputs: Tensor, truth: Tensor, weights: Tensor | None = None) -> Tensor:
        """Return the mean cross-entropy, of `weights` by class the weighted one."""
        return F.cross_entropy(outputs, truth, weights)

    def summed_loss(self, outputs: Tensor, truth: Tensor, weights: Tensor | None = None) -> tuple[Tensor, float]:
        """Return the sum over nodes, and that of their weights."""
        amount = float(len(truth) if weights is None else weights[truth].sum())
        return F.cross_entropy(outputs, truth, weights, reduction="sum"), amount

    def loss_with_error(self, truth: Tensor, weights: Tensor | None, like: Tensor) -> LossWithError:
        """Return the cross-entropy, written out."""
        return CrossEntropyWithError(truth, weights, like, self.num_classes)

    def judge(self, outputs: Tensor, truth: Tensor, metric: str) -> tuple[Tensor, Tensor]:
        """Return cross-entropy and score of nodes that do not train."""
        return mean_cross_entropy(outputs, truth), self.tensor_score(outputs, truth, metric)

    def judge_epochs(self, outputs: Tensor, truth: Tensor, metric: str) -> tuple[Tensor, Tensor]:
        """Return those of several epochs, all at once where the metric allows it: a small graph's take no longer."""
        epochs, size, _ = outputs.shape
        losses = self.losses(outputs.flatten(0, 1), truth.repeat(epochs)).view(epochs, size).mean(1)
        if metric == "accuracy":
            return losses, (outputs.argmax(2) == truth).to(losses.dtype).mean(1)
        if metric == "log_loss":
            return losses, losses
        return losses, torch.stack([self.tensor_score(epoch, truth, metric) for epoch in outputs])

    def baseline(self, truth: Values) -> Prediction:
        """Return the shares of the classes."""
        counts = np.bincount(truth, minlength=self.num_classes)
        return np.asarray(counts / counts.sum())

    def log_likelihood(self, prediction: Prediction, truth: Values) -> Values:
        """Return the logarithm of the probability of each node's class."""
        return np.asarray(np.log(np.maximum(prediction[np.arange(truth.size), truth], LEAST_LIKELY)))

    def unknown(self, nodes: int) -> Values:
        """Return -1 for every node."""
        return np.full(nodes, UNKNOWN)

    def answers(self, prediction: Prediction) -> list[str]:
        """Return the name of the most probable class."""
        return self.in_words(prediction.argmax(axis=1))

    def in_words(self, truth: Values) -> list[str]:
        """Return the names of classes."""
        return [self.names[number] for number in truth]

    def columns(self, prediction: Prediction) -> dict[str, Values]:
        """Return a probability per class."""
        return {f"p_{name}": prediction[:, number] for number, name in enumerate(self.names)}

    def rank(self, prediction: Prediction) -> Values:
        """Return the probability of the positive class, with more than two classes of the most probable."""
        return np.asarray(prediction.max(axis=1) if self.positive is None else prediction[:, self.positive])

    def describe(self, truth: Values) -> str:
        """Say how many classes there are on how many nodes."""
        return f"{np.unique(truth).size} class(es) on {truth.size} node(s)"

    def evaluate(self, prediction: Prediction, truth: Values, metric: str) -> ClassScores:
        """Return all measures of probabilities `[n, C]` against classes `[n]`; undefined is `None`.

        `score` is by `metric`, in per cent (the log loss in nats); all others are shares of one.
        """
        classes = prediction.shape[1]
        predicted = prediction.argmax(axis=1)
        confusion = np.bincount(truth * classes + predicted, minlength=classes**2).reshape(classes, classes)
        hits, given, chosen = np.diag(confusion), confusion.sum(axis=1), confusion.sum(axis=0)
        shares = {
            name: self.share(prediction, truth, name)
            for name in metric_names(self.name)
            if name in ClassScores.__struct_fields__
        }
        present = (given + chosen) > 0
        f1 = 2 * hits[present] / (given + chosen)[present]
        return ClassScores(
            score=self.score(prediction, truth, metric),
            **shares,
            macro_f1=float(f1.mean()) if f1.size else None,
            precision=tuple(_share(h, p) for h, p in zip(hits, chosen, strict=True)),
            recall=tuple(_share(h, g) for h, g in zip(hits, given, strict=True)),
            support=tuple(given.tolist()),
            confusion=tuple(map(tuple, confusion.tolist())),
            calibration_error=calibration_error(prediction, truth),
        )

    def read_scores(self, payload: Any) -> ClassScores:
        """Return what `evaluate` gave from plain data; `ValueError` where it is about other classes."""
        scores = decode(payload, ClassScores)
        if len(scores.support) != self.num_classes:
            raise ValueError(f"support has {len(scores.support)} entries; expected {self.num_classes}")
        return scores

    def baseline_score(self, train: ClassScores, part: ClassScores, metric: str) -> float | None:
        """Return the score of who predicts the shares of the classes in training for every node.

        That is the accuracy of the majority class, 50 for ROC-AUC, the share of positives for average precision, one
        over the number of classes for balanced accuracy, and about the entropy of the class shares for the log loss.
        """
        known, counts = np.array(train.support), np.array(part.support)
        labels = np.repeat(np.arange(counts.size), counts)
        constant = np.broadcast_to(known / max(1, known.sum()), (labels.size, counts.size))
        return self.score(constant, labels, metric)


def _share(part: Any, whole: Any) -> float | None:
    return float(part / whole) if whole else None
