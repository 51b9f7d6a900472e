"""What training is, whatever learns: epochs that are judged on validation nodes, the best kept, patience.

An epoch first judges the model as it is, then changes it. `Trainer` changes it by a step of Adam, `RoundTrainer` by a
round of a model that fits itself; `fit.fit` chooses. Everybody else sees a `TrainingLoop`, most through an `Observer`.
"""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from gpcn.core.errors import CheckpointError, TrainingError
from gpcn.graph import Split
from gpcn.graph.split import missing_part
from gpcn.nn import NodeClassifier
from gpcn.tasks.metrics import find_metric
from gpcn.training.config import TrainConfig
from gpcn.training.problem import Problem
from gpcn.training.training_facts import TrainingFacts

HISTORY = ("epoch", "train_loss", "val_loss", "val_score")
RULES = ("loss", "metric")
"""By which the best epoch may be chosen on validation nodes."""
LAST = "last"
"""The rule of a training whose length is settled: the last epoch is the best."""


@dataclass(frozen=True)
class BestEpoch:
    """The best epoch by a rule, and its value, smaller is better."""

    value: float = math.inf
    epoch: int = 0


class Observer:
    """Sees a training begin and every epoch of it, and may end it; does nothing by itself."""

    def begin(self, training: TrainingLoop) -> None:
        """Called before the first epoch; a training may be restored here."""

    def after_epoch(self, training: TrainingLoop) -> None:
        """Called after every epoch; what it raises ends the training."""

    def finished(self, training: TrainingLoop) -> bool:
        """Whether the training should end here."""
        return False


class TrainingLoop(ABC):
    """Training of one split, epoch by epoch.

    Args:
        problem: the prepared graph.
        config: what to train and how.
        split: which nodes train and validate; test nodes are never looked at here. Without validation nodes training
            nodes are judged in their place, and no epoch can be chosen.
        number: the split's number; with the seed it decides every random draw.
        rules: by which best epochs are chosen, of `RULES`, or `LAST` alone; by default the one of `config`.
        keep: whether `best_logits` can bring back the models of the best epochs.

    Attributes:
        model: what is trained.
        epoch: how many epochs there were.
        can_choose: whether there are validation nodes, so that a best epoch can be chosen.
        best: the best epoch by rule.
        improved: the rules by which the last epoch was the best so far.
        history: a row per epoch, as `HISTORY` names its columns.
        logits: `[N, C]`, as the last epoch judged them; those of nodes that do not validate may be missing (nan).
    """

    model: NodeClassifier

    def __init__(
        self,
        problem: Problem,
        config: TrainConfig,
        split: Split,
        number: int,
        *,
        rules: Sequence[str] | None = None,
        keep: bool = True,
    ) -> None:
        self.problem, self.config = problem, config
        self.rules = tuple(rules or (config["select"],))
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
        self.best = dict.fromkeys(self.rules, BestEpoch())
        self.improved: set[str] = set()
        self.epoch = 0
        self.history: list[tuple[float, ...]] = []
        self.logits = torch.empty(0, self.task.num_outputs)
        self._build(number, keep=keep)

    @abstractmethod
    def _build(self, number: int, *, keep: bool) -> None:
        """Build the model, and what trains it."""

    @abstractmethod
    def step(self) -> None:
        """One epoch."""

    def record_logits_of(self, nodes: Tensor) -> None:  # noqa: B027  (most have them anyway)
        """Let `logits` have those of `nodes`, too."""

    @abstractmethod
    def best_logits(self, rule: str | None = None) -> Tensor:
        """Logits of all nodes at the best epoch by `rule`, the first by default; its model is `model` from now on."""

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
    def learns(self) -> bool:
        """Whether there is anything to learn; a model as it was drawn is no candidate then."""
        return True

    @property
    def judged_candidate(self) -> bool:
        """Whether the last epoch judged a model that may be chosen: one as it was drawn may not."""
        return self.epoch > 1 or not self.learns

    @property
    def best_epoch(self) -> int:
        """The best epoch by the first rule."""
        return self.best[self.rules[0]].epoch

    def facts(self, seconds: float, rule: str | None = None) -> TrainingFacts:
        """Return what to say of the training after `best_logits(rule)`."""
        coefficients = self.model.coefficients()
        finite = None
        if coefficients is not None:
            finite = tuple(value if math.isfinite(value) else None for value in coefficients.tolist())
        epoch = self.best[rule or self.rules[0]].epoch
        return TrainingFacts(self.epoch, epoch, round(seconds, 3), self.num_parameters, finite, self.model.mix())

    @property
    def finished(self) -> bool:
        """Whether the last epoch was reached or patience with all rules ran out; one epoch will do for nothing."""
        if not self.learns:
            return self.epoch > 0
        latest = max(best.epoch for best in self.best.values())
        waited = self.epoch - latest - (len(self.rules) > 1)  # probes of committed recipes waited an epoch longer
        return bool(self.epoch >= self.config["epochs"] or waited > self.config["patience"])

    def run(self, observers: Sequence[Observer] = ()) -> None:
        """Train until validation nodes see no more progress, or an observer has seen enough."""
        if not self.can_choose and self.rules != (LAST,):
            raise missing_part("the split", "val")
        for observer in observers:
            observer.begin(self)
        while not (self.finished or any(observer.finished(self) for observer in observers)):
            self.step()
            for observer in observers:
                observer.after_epoch(self)

    def _judge(self, loss: Tensor, logits: Tensor) -> None:
        """Note how the model as it is does, and by which rules it is the best so far."""
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
        if self.rules == ("metric",) and not math.isfinite(score):
            raise TrainingError(
                f"{metric.title} needs {metric.needs} among the validation nodes, so it cannot choose; use select=loss"
            )
        self.history.append((self.epoch, train_loss, val_loss, score))
        values = {"loss": val_loss, "metric": -metric.sign * score, LAST: -float(self.epoch)}
        untrained = self.epoch == 0 and self.learns
        self.improved = {rule for rule in self.rules if not untrained and values[rule] < self.best[rule].value}
        self.best |= {rule: BestEpoch(values[rule], self.epoch) for rule in self.improved}

    def _progress(self) -> str:
        """How far it is, as JSON."""
        progress = {
            "epoch": self.epoch,
            "best": {rule: [_finite(best.value), best.epoch] for rule, best in self.best.items()},
            "history": self.history,
        }
        return json.dumps(progress)

    def _restore_progress(self, text: str) -> None:
        progress = json.loads(text)
        self.epoch = int(progress["epoch"])
        for rule in self.rules:
            value, epoch = progress["best"][rule]
            self.best[rule] = BestEpoch(math.inf if value is None else float(value), int(epoch))
        self.history = [tuple(map(float, row)) for row in progress["history"]]
        if len(self.history) != self.epoch or any(len(row) != len(HISTORY) for row in self.history):
            raise ValueError("its history is incomplete")


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def checkpoint_misfit(error: Exception) -> CheckpointError:
    """What to raise where a checkpoint cannot be continued from."""
    return CheckpointError(f"the checkpoint does not fit this model and configuration: {error}")
