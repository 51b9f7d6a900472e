"""`PausableTraining`: one training that serves a search, and that may pause after any epoch.

It keeps the best model under either rule of choice (`select=loss` and `select=metric`). And it keeps, for every
validation node, the probabilities at the epoch that *the other half* of the validation nodes chooses: predictions that
are free of the optimism of choosing an epoch by the very nodes that are scored, as `probe` has for scores.

A pause (at an epoch, or at a moment) leaves the best so far and `state()`, from which the training goes on bit by bit.
"""

from __future__ import annotations

import json
import math
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from gpcn.errors import TrainingError
from gpcn.graph import Split
from gpcn.nn import zoo
from gpcn.nn.engine.memory import reuse_freed_memory
from gpcn.tasks.metrics import find_metric
from gpcn.tasks.task import Task
from gpcn.training.config import TrainConfig
from gpcn.training.loop import TrainingLoop, checkpoint_misfit
from gpcn.training.probe import RULES, validation_halves
from gpcn.training.problem import Problem
from gpcn.training.round_trainer import RoundTrainer
from gpcn.training.trainer import Trainer

Probabilities = npt.NDArray[np.float32]
LOOP, METRIC, HALF = "loop.", "metric.", "half."


def with_epoch_rule(config: TrainConfig, rule: str) -> TrainConfig:
    """`config` with its best epoch chosen by `rule`."""
    settings = config.to_json()
    return TrainConfig.from_json(settings | {"training": {**settings["training"], "select": rule}})


class _TwoRules(Trainer):
    """A `Trainer` by loss that also keeps the weights with the best validation score."""

    def __init__(self, problem: Problem, config: TrainConfig, split: Split, number: int) -> None:
        super().__init__(problem, config, split, number)
        self.metric_value, self.metric_epoch = math.inf, 0
        self.metric_best = [parameter.detach().clone() for parameter in self.parameters]
        self.metric_buffers = [buffer.clone() for buffer in self.buffers]

    def _remember(self, value: float, buffers: list[Tensor]) -> None:
        super()._remember(value, buffers)
        untrained = self.epoch == 0 and self.parameters
        score = -find_metric(self.problem.graph.metric).sign * self.history[-1][3]
        if score < self.metric_value and not untrained:
            self.metric_value, self.metric_epoch = score, self.epoch
            self._copy(self.metric_best, self.parameters)
            self._copy(self.metric_buffers, buffers)

    def logits_by(self, rule: str) -> Tensor:
        """Logits of all nodes with the weights that `rule` chose, which the model has from now on."""
        if rule == "loss":
            return self.best_logits()
        self._copy(self.parameters, self.metric_best)
        self._copy(self.buffers, self.metric_buffers)
        return self.evaluate()


@dataclass(frozen=True)
class ChosenEpoch:
    """What a rule chose: the epoch, its model, and what that model says.

    `probabilities` are of all nodes; `crossed` of the validation nodes, each at the epoch the other half chooses.
    """

    epoch: int
    probabilities: Probabilities
    crossed: Probabilities
    weights: dict[str, Tensor]
    facts: dict[str, Any]


@dataclass
class _Best:
    """The best value of one half under one rule so far, and the other half's logits at that epoch."""

    value: float = math.inf
    logits: Tensor | None = field(default=None)


class _LastEpoch(Trainer):
    """A `Trainer` that keeps the last epoch, whatever validation nodes say."""

    def _remember(self, value: float, buffers: list[Tensor]) -> None:
        self.best_epoch = self.epoch
        self._copy(self.best, self.parameters)
        self._copy(self.best_buffers, buffers or self.best_buffers)


def train_to_epoch(
    problem: Problem, config: TrainConfig, split: Split, number: int, best_epoch: int
) -> tuple[TrainingLoop, Probabilities]:
    """Train so long that epoch `best_epoch` is the last that is judged, and take that model; nothing is chosen by
    validation nodes. The trained loop, and probabilities of all nodes."""
    reuse_freed_memory()
    config = with_epoch_rule(config, "loss")
    fits_itself = zoo.specification_of(config.model).fits_itself
    loop: TrainingLoop = (RoundTrainer if fits_itself else _LastEpoch)(problem, config, split, number)
    for _ in range(best_epoch + 1):
        loop.step()
    loop.best_epoch = best_epoch
    return loop, _prediction(loop.task, loop.best_logits())


class PausableTraining:
    """Training of `config` on one split; `number` and the seed decide every random draw.

    Args:
        problem: the prepared graph.
        config: what to train; its `select` is of no importance.
        split: which nodes train and validate; test nodes are never looked at here.
        number: the split's number.
    """

    def __init__(self, problem: Problem, config: TrainConfig, split: Split, number: int) -> None:
        reuse_freed_memory()
        config = with_epoch_rule(config, "loss")
        kind = RoundTrainer if zoo.specification_of(config.model).fits_itself else _TwoRules
        self.loop: TrainingLoop = kind(problem, config, split, number)
        self.problem, self.config, graph = problem, config, problem.graph
        parts = validation_halves(graph.task, graph.labels[split.val], number, graph.metric)
        self.halves = [torch.from_numpy(part) for part in parts]
        self.best = {(rule, half): _Best() for rule in RULES for half in (0, 1)}
        self.improved = dict.fromkeys(RULES, 0)
        self.values = dict.fromkeys(RULES, math.inf)
        self.seconds = 0.0

    @property
    def finished(self) -> bool:
        """Whether going on would change nothing: the last epoch, or patience of both rules."""
        if isinstance(self.loop, Trainer) and not self.loop.parameters:
            return self.loop.epoch > 0
        waited = self.loop.epoch - max(self.improved.values())
        return bool(self.loop.epoch >= self.config["epochs"] or waited > self.config["patience"])

    @property
    def usable(self) -> bool:
        """Whether there is a model to keep: weights as they were drawn are none."""
        return self.best["loss", 0].logits is not None

    def run(self, epochs: int, until: float = math.inf) -> None:
        """Go on until `epochs` are made, nothing improves any more, or the clock (`time.monotonic`) passes `until`."""
        start = time.monotonic()
        try:
            while not self.finished and self.loop.epoch < epochs and time.monotonic() < until:
                self.loop.step()
                self._judge()
        finally:
            self.seconds += time.monotonic() - start

    def _judge(self) -> None:
        learns = not isinstance(self.loop, Trainer) or self.loop.parameters
        if self.loop.epoch < 2 and learns:  # as it was drawn
            return
        graph, logits = self.problem.graph, self.loop.logits[self.loop.val]
        sign = find_metric(graph.metric).sign
        _, _, loss, score = self.loop.history[-1]
        for rule, value in zip(RULES, (loss, -sign * score), strict=True):
            if value < self.values[rule]:
                self.values[rule], self.improved[rule] = value, self.loop.epoch
        for half, nodes in enumerate(self.halves):
            judged = graph.task.judge(logits[nodes], self.loop.val_truth[nodes], graph.metric)
            for rule, value in zip(RULES, (float(judged[0]), -sign * float(judged[1])), strict=True):
                best = self.best[rule, half]
                if value < best.value or best.logits is None:
                    best.value = value if math.isfinite(value) else best.value
                    best.logits = logits[self.halves[1 - half]].clone()

    def chosen(self) -> dict[str, ChosenEpoch]:
        """By rule, what it chose so far; after this the training cannot go on, but from `state()`.

        Where validation nodes have no score (one class alone), there is only the rule `loss`.
        """
        if not self.usable:
            raise TrainingError(f"{self.config.model} was stopped before its second epoch, so there is no model")
        rules = [rule for rule in RULES if math.isfinite(self.values[rule])]
        return {rule: self._chosen(rule) for rule in rules}

    def _chosen(self, rule: str) -> ChosenEpoch:
        if isinstance(self.loop, _TwoRules):
            logits = self.loop.logits_by(rule)
            epoch = self.loop.best_epoch if rule == "loss" else self.loop.metric_epoch
        else:
            epoch = self.loop.best_epoch = self.improved[rule] - 1  # judged before the round that was counted
            logits = self.loop.best_logits()
        probabilities = _prediction(self.loop.task, logits)
        if not np.isfinite(probabilities).all():
            raise TrainingError(f"{self.config.model} gives numbers that are not finite on some nodes")
        crossed = np.empty((len(self.loop.val), probabilities.shape[1]), dtype=np.float32)
        for half in (0, 1):
            kept = self.best[rule, half].logits
            if kept is not None:  # always, where `usable`
                crossed[self.halves[1 - half].numpy()] = _prediction(self.loop.task, kept)
        model = self.loop.model
        coefficients = model.coefficients()
        facts = {
            "parameters": self.loop.num_parameters,
            "mix": model.mix(),
            "coefficients": None
            if coefficients is None
            else [value if math.isfinite(value) else None for value in coefficients.tolist()],
        }
        weights = {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}
        return ChosenEpoch(epoch, probabilities, crossed, weights, facts)

    def state(self) -> tuple[dict[str, Tensor], str]:
        """Tensors and a JSON text that `restore` goes on from."""
        tensors, progress = self.loop.state()
        tensors = {LOOP + name: tensor.detach().clone() for name, tensor in tensors.items()}  # `chosen` changes some
        extra: dict[str, Any] = {}
        if isinstance(self.loop, _TwoRules):
            extra = {"value": _finite(self.loop.metric_value), "epoch": self.loop.metric_epoch}
            for name, group in (("weight", self.loop.metric_best), ("buffer", self.loop.metric_buffers)):
                tensors |= {f"{METRIC}{name}.{index}": tensor for index, tensor in enumerate(group)}
        for (rule, half), best in self.best.items():
            if best.logits is not None:
                tensors[f"{HALF}{rule}.{half}"] = best.logits
        progress_text = json.dumps(
            {
                "loop": progress,
                "metric": extra,
                "halves": {f"{rule}.{half}": _finite(best.value) for (rule, half), best in self.best.items()},
                "improved": self.improved,
                "values": {rule: _finite(value) for rule, value in self.values.items()},
                "seconds": self.seconds,
            }
        )
        return tensors, progress_text

    def restore(self, tensors: dict[str, Tensor], text: str) -> None:
        """Go on where `state` was taken."""
        loop_tensors = {name.removeprefix(LOOP): tensor for name, tensor in tensors.items() if name.startswith(LOOP)}
        try:
            progress = json.loads(text)
            self.loop.restore(loop_tensors, progress["loop"])
            if isinstance(self.loop, _TwoRules):
                self.loop.metric_value = _infinite(progress["metric"]["value"])
                self.loop.metric_epoch = int(progress["metric"]["epoch"])
                for name, group in (("weight", self.loop.metric_best), ("buffer", self.loop.metric_buffers)):
                    self.loop._copy(group, [tensors[f"{METRIC}{name}.{index}"] for index in range(len(group))])
            for (rule, half), best in self.best.items():
                best.value = _infinite(progress["halves"][f"{rule}.{half}"])
                best.logits = tensors.get(f"{HALF}{rule}.{half}")
            self.improved = {rule: int(progress["improved"][rule]) for rule in RULES}
            self.values = {rule: _infinite(progress["values"][rule]) for rule in RULES}
            self.seconds = float(progress["seconds"])
        except (KeyError, ValueError, TypeError, RuntimeError) as error:
            raise checkpoint_misfit(error) from error


def _prediction(task: Task, outputs: Tensor) -> Probabilities:
    return task.activation(outputs.double()).float().cpu().numpy()


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _infinite(value: float | None) -> float:
    return math.inf if value is None else float(value)
