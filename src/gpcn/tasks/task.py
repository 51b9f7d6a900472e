"""`Task`: what is asked of a node, and all that depends on it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

import numpy.typing as npt
import torch
from msgspec import Struct
from torch import Tensor

from gpcn.core.errors import ConfigError, Option, near_matches
from gpcn.records.reading import Number, decode
from gpcn.tasks.metrics import find_metric
from gpcn.tasks.target import Target

Values = npt.NDArray[Any]
Prediction = npt.NDArray[Any]
LossWithError = Callable[[Tensor], tuple[Tensor, Tensor]]


class PartScores(Struct, frozen=True, kw_only=True):
    """How good predictions are for the nodes of one part of a split; a task adds what else a reader wants to know.

    Args:
        score: by the graph's metric, in per cent or in units of its own; `None` where it is undefined.
    """

    score: Number | None

    @property
    def size(self) -> int:
        """The number of nodes."""
        raise NotImplementedError


class Task(ABC):
    """A question that has an answer for every node.

    Answers that are known are `truth`: of `n` nodes an array or a tensor whose first axis they are. A model gives
    `outputs` `[n, num_outputs]`, people are shown a `prediction` `[n, ...]`.

    Attributes:
        name: what metrics and records call tasks of this kind.
        plain_metric: the one that is defined wherever an answer is known.
        scores: the kind of record that `evaluate` gives.
        positive: of two answers the one that thresholds are about; `None` where there is no such one.
    """

    name: ClassVar[str]
    plain_metric: ClassVar[str]
    scores: ClassVar[type[PartScores]]
    positive: int | None = None

    @classmethod
    @abstractmethod
    def read(cls, labels: object, nodes: int, names: Sequence[str] | None) -> Target:
        """Return what is known of so many `nodes` from the `labels` and `label_names` of a graph, checked."""

    @classmethod
    @abstractmethod
    def of(cls, names: Sequence[str], positive: int | None = None) -> Self:
        """Return the task with the `names` of a prediction's columns and the positive one that a `Target` has."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The names of a prediction's columns."""

    @property
    @abstractmethod
    def num_outputs(self) -> int:
        """The width of a model's outputs."""

    @abstractmethod
    def check_can_learn(self, truth: Values, name: str) -> None:
        """Refuse a graph called `name` where there is nothing to learn from what is known of its nodes."""

    @abstractmethod
    def losses(self, outputs: Tensor, truth: Tensor) -> Tensor:
        """Return the loss of every node, `[n]`."""

    @abstractmethod
    def activation(self, outputs: Tensor) -> Tensor:
        """Return what a prediction shows."""

    def balance(self, truth: Tensor) -> Tensor:
        """Return the `weights` of a loss in which rare answers count as much as frequent ones."""
        raise ConfigError(f"class_weights is for classes, and this is a task of the kind {self.name!r}; leave it out")

    def loss(self, outputs: Tensor, truth: Tensor, weights: Tensor | None = None) -> Tensor:
        """Return the training loss: the mean over nodes."""
        return self.losses(outputs, truth).mean()

    def summed_loss(self, outputs: Tensor, truth: Tensor, weights: Tensor | None = None) -> tuple[Tensor, float]:
        """Return the sum over nodes and by what it is to be divided, for nodes that are on several machines."""
        return self.losses(outputs, truth).sum(), float(len(truth))

    def loss_with_error(self, truth: Tensor, weights: Tensor | None, like: Tensor) -> LossWithError:
        """Return a function of outputs `[n, num_outputs]`, whose memory it may use: the training loss, its gradient.

        Args:
            truth: what is known of the nodes.
            weights: what `balance` gave; `None` where all count the same.
            like: a tensor of the type of the outputs.
        """

        def by_autograd(outputs: Tensor) -> tuple[Tensor, Tensor]:
            with torch.enable_grad():
                leaf = outputs.detach().requires_grad_()
                loss = self.loss(leaf, truth, weights)
                (error,) = torch.autograd.grad(loss, leaf)
            return loss.detach(), error

        return by_autograd

    def judge(self, outputs: Tensor, truth: Tensor, metric: str) -> tuple[Tensor, Tensor]:
        """Return loss and `tensor_score` of nodes that do not train."""
        return self.loss(outputs, truth), self.tensor_score(outputs, truth, metric)

    def judge_epochs(self, outputs: Tensor, truth: Tensor, metric: str) -> tuple[Tensor, Tensor]:
        """Return losses and scores `[epochs]` of outputs `[epochs, n, num_outputs]`."""
        judged = [self.judge(epoch, truth, metric) for epoch in outputs]
        return torch.stack([loss for loss, _ in judged]), torch.stack([score for _, score in judged])

    @abstractmethod
    def baseline(self, truth: Values) -> Prediction:
        """Return what who knows some answers, and nothing else, would predict for any node."""

    @abstractmethod
    def log_likelihood(self, prediction: Prediction, truth: Values) -> Values:
        """Return how likely each answer was, `[n]`: what an average of models improves where scores are equal."""

    @abstractmethod
    def unknown(self, nodes: int) -> Values:
        """Return the labels of so many nodes of which nothing is known."""

    @abstractmethod
    def answers(self, prediction: Prediction) -> list[Any]:
        """Return what is predicted for each node, in words or numbers."""

    @abstractmethod
    def in_words(self, truth: Values) -> list[Any]:
        """Return known answers as `answers` gives predicted ones."""

    def columns(self, prediction: Prediction) -> dict[str, Values]:
        """Return the columns of a table of predictions, by their names."""
        return {name: prediction[:, number] for number, name in enumerate(self.names)}

    def rank(self, prediction: Prediction) -> Values:
        """Return by what nodes are sorted, highest first."""
        return prediction[:, 0]

    @abstractmethod
    def describe(self, truth: Values) -> str:
        """Say in a few words what is known of some nodes, for errors."""

    @abstractmethod
    def evaluate(self, prediction: Prediction, truth: Values, metric: str) -> PartScores:
        """Return all measures of some nodes: the `score` by `metric`, and what else a reader wants to know."""

    @abstractmethod
    def baseline_score(self, train: Any, part: Any, metric: str) -> float | None:
        """Return the score on one part of who knows the answers in training and nothing else.

        Args:
            train: what `evaluate` gave for the training nodes.
            part: the same for the nodes to judge.
            metric: the name of a metric.
        """

    def read_scores(self, payload: Any) -> PartScores:
        """Return what `evaluate` gave from plain data; `ValueError` where it is not of this task."""
        return decode(payload, self.scores)

    def is_defined(self, truth: Values, metric: str) -> bool:
        """Whether nodes with these answers have a score at all."""
        return find_metric(metric).is_defined(truth, self)

    def check_can_choose(self, truth: Values, metric: str, whose: str) -> None:
        """Refuse to choose by a metric where nodes have no score; `whose` says which nodes."""
        if not self.is_defined(truth, metric):
            chosen = find_metric(metric)
            raise ConfigError(
                f"{whose} cannot choose by {chosen.title}, which needs {chosen.needs} among them; found "
                f"{self.describe(truth)}; use other splits, or {Option('metric', self.plain_metric)}"
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


_TASKS: dict[str, type[Task]] = {}


def register_task(kind: type[Task]) -> type[Task]:
    """Make a kind of task known by its name, which no other may have."""
    if kind.name in _TASKS:
        raise ConfigError(f"there is a task called {kind.name!r} already; choose another name")
    _TASKS[kind.name] = kind
    return kind


def task_class(name: str) -> type[Task]:
    """Return the kind of task called `name`."""
    import gpcn.tasks.classification  # noqa: F401  (registers itself)

    if name not in _TASKS:
        raise ConfigError(f"there is no task called {name!r}; {near_matches(name, _TASKS)}")
    return _TASKS[name]
