"""What training is, whatever learns: epochs that are judged on validation nodes, the best kept, patience.

An epoch first judges the model as it is, then changes it. `Trainer` changes it by a step of Adam, `RoundTrainer` by a
round of a model that fits itself; `trainer_for` chooses. Everybody else sees a `TrainingLoop`.
"""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable

import torch
from torch import Tensor

from gpcn.errors import CheckpointError, TrainingError
from gpcn.graph import Split
from gpcn.graph.split import missing_part
from gpcn.nn import NodeClassifier
from gpcn.tasks.metrics import find_metric
from gpcn.training.config import TrainConfig
from gpcn.training.problem import Problem

HISTORY = ("epoch", "train_loss", "val_loss", "val_score")


class TrainingLoop(ABC):
    """Training of one split, epoch by epoch.

    Args:
        problem: the prepared graph.
        config: what to train and how.
        split: which nodes train and validate; test nodes are never looked at here. Without validation nodes training
            nodes are judged in their place, and no epoch can be chosen.

    Attributes:
        model: what is trained.
        epoch: how many epochs there were.
        can_choose: whether there are validation nodes, so that `run` can stop at the best epoch.
        best_epoch: the one whose model `best_logits` brings back.
        history: a row per epoch, as `HISTORY` names its columns.
        logits: `[N, C]`, as the last epoch judged them; those of nodes that do not validate may be missing (nan).
    """

    model: NodeClassifier

    def __init__(self, problem: Problem, config: TrainConfig, split: Split) -> None:
        self.problem, self.config = problem, config
        self.train, self.val = (torch.tensor(part, device=problem.device) for part in (split.train, split.val))
        self.task, gather = problem.graph.task, problem.workers.gather
        if not problem.workers.total(self.train.numel()):
            raise missing_part("the split", "train")
        self.train_truth = problem.truth[self.train]
        self.val_truth = gather(problem.truth[self.val])  # of all workers, as is all that judges
        self.can_choose = bool(self.val_truth.numel())
        if not self.can_choose:  # for so many epochs as were settled before
            self.val, self.val_truth = self.train, gather(self.train_truth)
        self.weights = self.task.balance(gather(self.train_truth)) if config["class_weights"] else None
        self.best_value, self.best_epoch, self.epoch = math.inf, 0, 0
        self.history: list[tuple[float, ...]] = []
        self.logits = torch.empty(0, self.task.num_outputs)

    @abstractmethod
    def step(self) -> None:
        """One epoch."""

    def record_logits_of(self, nodes: Tensor) -> None:  # noqa: B027  (most have them anyway)
        """Let `logits` have those of `nodes`, too."""

    @abstractmethod
    def best_logits(self) -> Tensor:
        """Logits of all nodes at the best epoch, whose model is the model from now on."""

    @abstractmethod
    def state(self) -> tuple[dict[str, Tensor], str]:
        """Tensors and a JSON text that `restore` continues from, bit by bit."""

    @abstractmethod
    def restore(self, tensors: dict[str, Tensor], text: str) -> None:
        """Continue where `state` was taken."""

    @property
    @abstractmethod
    def num_parameters(self) -> int:
        """How many numbers were learned."""

    @property
    def finished(self) -> bool:
        """Whether the last epoch was reached or patience ran out."""
        return bool(self.epoch >= self.config["epochs"] or self.epoch - self.best_epoch > self.config["patience"])

    def run(self, after_epoch: Callable[[TrainingLoop], None] | None = None) -> None:
        """Train until validation nodes see no more progress."""
        if not self.can_choose:
            raise missing_part("the split", "val")
        while not self.finished:
            self.step()
            if after_epoch is not None:
                after_epoch(self)

    def _judge(self, loss: Tensor, logits: Tensor) -> float:
        """Note how the model as it is does; what it would be chosen by, smaller is better."""
        self.logits = logits
        metric, workers = find_metric(self.problem.graph.metric), self.problem.workers
        judged = self.task.judge(workers.gather(logits[self.val]), self.val_truth, metric.name)
        train_loss, val_loss, score = torch.stack([loss.detach(), *judged]).tolist()
        train_loss = workers.total(train_loss)
        wrong = next((value for value in (train_loss, val_loss) if not math.isfinite(value)), None)
        if wrong is not None:
            raise TrainingError(
                f"the loss became {wrong} in epoch {self.epoch} of {self.config.model} (γ, lr or features too large); "
                "lower lr or gamma"
            )
        if self.config["select"] == "metric" and not math.isfinite(score):
            raise TrainingError(
                f"{metric.title} needs {metric.needs} among the validation nodes, so it cannot choose; use select=loss"
            )
        self.history.append((self.epoch, train_loss, val_loss, score))
        by_loss = self.config["select"] == "loss"
        return float(val_loss if by_loss else -metric.sign * score)

    def _progress(self) -> str:
        """How far it is, as JSON."""
        progress = {
            "epoch": self.epoch,
            "best_value": None if math.isinf(self.best_value) else self.best_value,
            "best_epoch": self.best_epoch,
            "history": self.history,
        }
        return json.dumps(progress)

    def _restore_progress(self, text: str) -> None:
        progress = json.loads(text)
        self.epoch, self.best_epoch = int(progress["epoch"]), int(progress["best_epoch"])
        self.best_value = math.inf if progress["best_value"] is None else float(progress["best_value"])
        self.history = [tuple(map(float, row)) for row in progress["history"]]
        if len(self.history) != self.epoch or any(len(row) != len(HISTORY) for row in self.history):
            raise ValueError("its history is incomplete")


def checkpoint_misfit(error: Exception) -> CheckpointError:
    """What to raise where a checkpoint cannot be continued from."""
    return CheckpointError(f"the checkpoint does not fit this model and configuration: {error}")
