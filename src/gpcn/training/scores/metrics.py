"""How predictions are judged: every metric's definition, for arrays (results) and for tensors (every epoch).

Scores are kept as people read them: shares in per cent, the log loss as it is, a positive number. What is undefined is
`None` among results and nan among tensors. Whoever looks for the best compares `gain`s, of which the higher is always
the better one.

Of two classes the positive one is the rarer (`Graph.positive`); F1 and average precision are about it. With more
classes they, and the area under the ROC curve, are of one class against the rest, and the plain mean over classes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from gpcn.errors import ConfigError, near_matches
from gpcn.training.scores import array_metrics
from gpcn.training.scores.array_metrics import Probabilities
from gpcn.utils.types import METRICS, IntVector, Metric

FromArrays = Callable[[Probabilities, IntVector, int | None], float]
FromTensors = Callable[[Tensor, Tensor, int | None], Tensor]


@dataclass(frozen=True, kw_only=True)
class MetricDefinition:
    """A metric; `from_arrays` and `from_tensors` give a share of one (or nats).

    `needs` says which labels must be there for a score: any, the positive class, or two classes. A `ranking` metric
    sees the order of the probabilities alone.
    """

    name: Metric
    title: str
    from_arrays: FromArrays
    from_tensors: FromTensors
    needs: Literal["labels", "positive", "two classes"] = "labels"
    greater_is_better: bool = True
    percent: bool = True
    ranking: bool = False

    @property
    def scale(self) -> int:
        """What a share is multiplied by to be kept and shown."""
        return 100 if self.percent else 1

    @property
    def sign(self) -> int:
        """1 where greater is better, else -1."""
        return 1 if self.greater_is_better else -1

    @property
    def digits(self) -> int:
        """Decimals in tables."""
        return 2 if self.percent else 4

    @property
    def axis(self) -> str:
        """The title of an axis that shows it."""
        words = self.name.replace("_", " ")
        return f"{words}, per cent" if self.percent else f"{words}, lower is better"


def definition(name: str) -> MetricDefinition:
    """The metric called `name`."""
    if name not in _DEFINITIONS:
        raise ConfigError(f"there is no metric called {name!r}; {near_matches(name, METRICS)}")
    return _DEFINITIONS[name]


def gain(name: str, value: float | None) -> float:
    """A score such that higher is better, for comparing; undefined is lower than all others."""
    return -math.inf if value is None else definition(name).sign * value


def metric_is_defined(labels: IntVector, name: str, positive: int | None = None) -> bool:
    """Whether nodes with these labels have a score at all."""
    needs = definition(name).needs
    if needs == "two classes":
        return bool(np.unique(labels).size > 1)
    if needs == "positive" and positive is not None:
        return bool((labels == positive).any())
    return labels.size > 0


def check_metric_can_choose(labels: IntVector, name: str, positive: int | None, whose: str) -> None:
    """Refuse to choose by a metric where nodes with these `labels` have no score; `whose` says which nodes."""
    if not metric_is_defined(labels, name, positive):
        needed = "two classes" if definition(name).needs == "two classes" else "nodes of the positive class"
        raise ConfigError(
            f"{whose} cannot choose by {definition(name).title}, which needs {needed} among them; found "
            f"{np.unique(labels).size} class(es) on {labels.size} node(s); use other splits, or --metric accuracy"
        )


def metric_share(
    probabilities: Probabilities, labels: IntVector, name: str, positive: int | None = None
) -> float | None:
    """The metric of `probabilities` `[n, C]` as a share of one (or in nats); `None` where it is undefined."""
    if probabilities.shape[1] == 2 and positive is None:
        positive = 1
    if not metric_is_defined(labels, name, positive):
        return None
    return definition(name).from_arrays(probabilities, labels, positive)


def score(probabilities: Probabilities, labels: IntVector, name: str, positive: int | None = None) -> float | None:
    """The metric of `probabilities` `[n, C]` as results keep it: in per cent, but the log loss in nats."""
    value = metric_share(probabilities, labels, name, positive)
    return None if value is None else definition(name).scale * value


def majority_score(
    train_counts: npt.NDArray[Any], counts: npt.NDArray[Any], name: str, positive: int | None = None
) -> float | None:
    """The score of who knows the shares of the classes in training and nothing else, on nodes with class `counts`.

    That is the accuracy of the majority class, 50 for ROC-AUC, the share of positives for average precision, one over
    the number of classes for balanced accuracy, and about the entropy of the class shares for the log loss.
    """
    labels = np.repeat(np.arange(counts.size), counts)
    constant = np.broadcast_to(train_counts / max(1, train_counts.sum()), (labels.size, counts.size))
    return score(constant, labels, name, positive)


def tensor_score(logits: Tensor, labels: Tensor, name: str, positive: int | None = None) -> Tensor:
    """The metric of `logits` `[n, C]` as a share of one (or in nats); nan where it is undefined."""
    if logits.shape[1] == 2 and positive is None:
        positive = 1
    return definition(name).from_tensors(logits, labels, positive)


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


def _tensor_accuracy(logits: Tensor, labels: Tensor, positive: int | None) -> Tensor:
    return (logits.argmax(1) == labels).to(logits.dtype).mean()


def _tensor_balanced_accuracy(logits: Tensor, labels: Tensor, positive: int | None) -> Tensor:
    hits, given, _ = _counts(logits, labels)
    return (hits / given)[given > 0].mean().to(logits.dtype)


def _tensor_f1(logits: Tensor, labels: Tensor, positive: int | None) -> Tensor:
    hits, given, predicted = _counts(logits, labels)
    per_class = 2 * hits / (given + predicted)
    if positive is None:
        return per_class[given + predicted > 0].mean().to(logits.dtype)
    return torch.where(given[positive] > 0, per_class[positive], torch.nan).to(logits.dtype)


def _tensor_roc_auc(logits: Tensor, labels: Tensor, positive: int | None) -> Tensor:
    if positive is not None:
        return roc_area(logits[:, 1] - logits[:, 0], labels)
    return _mean_over_classes(roc_area, logits, labels)


def _tensor_average_precision(logits: Tensor, labels: Tensor, positive: int | None) -> Tensor:
    if positive is not None:
        return precision_area(logits[:, positive] - logits[:, 1 - positive], (labels == positive).long())
    return _mean_over_classes(precision_area, logits, labels)


def _tensor_log_loss(logits: Tensor, labels: Tensor, positive: int | None) -> Tensor:
    return F.cross_entropy(logits, labels)


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


_DEFINITIONS: dict[str, MetricDefinition] = {
    entry.name: entry
    for entry in (
        MetricDefinition(
            name="accuracy", title="accuracy", from_arrays=array_metrics.accuracy, from_tensors=_tensor_accuracy
        ),
        MetricDefinition(
            name="balanced_accuracy",
            title="balanced accuracy",
            from_arrays=array_metrics.balanced_accuracy,
            from_tensors=_tensor_balanced_accuracy,
        ),
        MetricDefinition(
            name="f1", title="F1", from_arrays=array_metrics.f1, from_tensors=_tensor_f1, needs="positive"
        ),
        MetricDefinition(
            name="roc_auc",
            title="ROC-AUC",
            from_arrays=array_metrics.roc_auc,
            from_tensors=_tensor_roc_auc,
            needs="two classes",
            ranking=True,
        ),
        MetricDefinition(
            name="average_precision",
            title="average precision",
            from_arrays=array_metrics.average_precision,
            from_tensors=_tensor_average_precision,
            needs="two classes",
            ranking=True,
        ),
        MetricDefinition(
            name="log_loss",
            title="log loss",
            from_arrays=array_metrics.log_loss,
            from_tensors=_tensor_log_loss,
            greater_is_better=False,
            percent=False,
        ),
    )
}
