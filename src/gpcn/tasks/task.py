"""`Task`: what is asked of a node, and all that depends on it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy.typing as npt
from torch import Tensor

from gpcn.errors import ConfigError
from gpcn.tasks.metrics import find_metric

Values = npt.NDArray[Any]
Prediction = npt.NDArray[Any]
PartScores = dict[str, Any]


class Task(ABC):
    """A question that has an answer for every node.

    Attributes:
        name: what metrics and records call tasks of this kind.
        plain_metric: the one that is defined wherever an answer is known.
    """

    name: ClassVar[str]
    plain_metric: ClassVar[str]

    @abstractmethod
    def describe(self, truth: Values) -> str:
        """Say in a few words what is known of some nodes, for errors."""

    @abstractmethod
    def evaluate(self, prediction: Prediction, truth: Values, metric: str) -> PartScores:
        """Return all measures of some nodes: the `score` by `metric`, and what else a reader wants to know."""

    @abstractmethod
    def baseline_score(self, train: Mapping[str, Any], part: Mapping[str, Any], metric: str) -> float | None:
        """Return the score on one part of who knows the answers in training and nothing else.

        Args:
            train: what `evaluate` gave for the training nodes.
            part: the same for the nodes to judge.
            metric: the name of a metric.
        """

    def is_defined(self, truth: Values, metric: str) -> bool:
        """Whether nodes with these answers have a score at all."""
        return find_metric(metric).is_defined(truth, self)

    def check_can_choose(self, truth: Values, metric: str, whose: str) -> None:
        """Refuse to choose by a metric where nodes have no score; `whose` says which nodes."""
        if not self.is_defined(truth, metric):
            chosen = find_metric(metric)
            raise ConfigError(
                f"{whose} cannot choose by {chosen.title}, which needs {chosen.needs} among them; found "
                f"{self.describe(truth)}; use other splits, or --metric {self.plain_metric}"
            )

    def share(self, prediction: Prediction, truth: Values, metric: str) -> float | None:
        """Return the metric as a share of one, or in units of its own; `None` where it is undefined."""
        return find_metric(metric).from_arrays(prediction, truth, self) if self.is_defined(truth, metric) else None

    def score(self, prediction: Prediction, truth: Values, metric: str) -> float | None:
        """Return the metric as results keep it, a share in per cent; `None` where it is undefined."""
        share = self.share(prediction, truth, metric)
        return None if share is None else find_metric(metric).scale * share

    def tensor_score(self, outputs: Tensor, truth: Tensor, metric: str) -> Tensor:
        """Return the metric of a model's `outputs` as a share of one, or in units of its own; nan where undefined."""
        return find_metric(metric).from_tensors(outputs, truth, self)
