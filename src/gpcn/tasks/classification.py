"""`Classification`: one of `C` classes for every node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gpcn.tasks.calibration import calibration_error
from gpcn.tasks.metrics import find_metric, metric_names
from gpcn.tasks.task import PartScores, Prediction, Task, Values


@dataclass(frozen=True)
class Classification(Task):
    """Which of `C` classes a node is of; the answers are class numbers, predictions are probabilities `[n, C]`.

    Args:
        num_classes: `C`.
        positive: of two classes the one that F1, average precision and thresholds are about (default: class 1); with
            more classes there is none.
    """

    num_classes: int
    positive: int | None = None

    name: ClassVar[str] = "classification"
    plain_metric: ClassVar[str] = "accuracy"

    def __post_init__(self) -> None:
        if self.num_classes == 2 and self.positive is None:
            object.__setattr__(self, "positive", 1)

    def describe(self, truth: Values) -> str:
        """Say how many classes there are on how many nodes."""
        return f"{np.unique(truth).size} class(es) on {truth.size} node(s)"

    def evaluate(self, prediction: Prediction, truth: Values, metric: str) -> PartScores:
        """Return all measures of probabilities `[n, C]` against classes `[n]`; undefined is `None`.

        `score` is by `metric`, in per cent (the log loss in nats); all others are shares of one.
        """
        classes = prediction.shape[1]
        predicted = prediction.argmax(axis=1)
        confusion = np.bincount(truth * classes + predicted, minlength=classes**2).reshape(classes, classes)
        hits, given, chosen = np.diag(confusion), confusion.sum(axis=1), confusion.sum(axis=0)
        shares = {name: self.share(prediction, truth, name) for name in metric_names(self.name)}
        present = (given + chosen) > 0
        f1 = 2 * hits[present] / (given + chosen)[present]
        value = shares[metric]
        return {
            "score": None if value is None else find_metric(metric).scale * value,
            **shares,
            "macro_f1": float(f1.mean()) if f1.size else None,
            "precision": [_share(h, p) for h, p in zip(hits, chosen, strict=True)],
            "recall": [_share(h, g) for h, g in zip(hits, given, strict=True)],
            "support": given.tolist(),
            "confusion": confusion.tolist(),
            "calibration_error": calibration_error(prediction, truth),
        }

    def baseline_score(self, train: Mapping[str, Any], part: Mapping[str, Any], metric: str) -> float | None:
        """Return the score of who predicts the shares of the classes in training for every node.

        That is the accuracy of the majority class, 50 for ROC-AUC, the share of positives for average precision, one
        over the number of classes for balanced accuracy, and about the entropy of the class shares for the log loss.
        """
        known, counts = np.array(train["support"]), np.array(part["support"])
        labels = np.repeat(np.arange(counts.size), counts)
        constant = np.broadcast_to(known / max(1, known.sum()), (labels.size, counts.size))
        return self.score(constant, labels, metric)


def _share(part: Any, whole: Any) -> float | None:
    return float(part / whole) if whole else None
