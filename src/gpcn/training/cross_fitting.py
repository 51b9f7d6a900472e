"""`CrossFitting`: what a search keeps of a training that may pause after any epoch.

The training keeps the best model under either rule of choice. This observer keeps, for every validation node, the
probabilities at the epoch that *the other half* of the validation nodes chooses: predictions that are free of the
optimism of choosing an epoch by the very nodes that are scored, as `probe` has for scores.

A pause (`observers.EndAt`) leaves the best so far and `state()`, from which another training goes on bit by bit.
"""

from __future__ import annotations

import json
import math
import time
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from gpcn.core.errors import TrainingError
from gpcn.tasks.metrics import find_metric
from gpcn.training.loop import RULES, Observer, TrainingLoop, checkpoint_misfit
from gpcn.training.probe import validation_halves
from gpcn.training.training_facts import TrainingFacts

Probabilities = npt.NDArray[np.float32]
State = tuple[dict[str, Tensor], str]
LOOP, HALF = "loop.", "half."


@dataclass(frozen=True)
class ChosenEpoch:
    """What a rule chose: the model of an epoch, and what that model says.

    `probabilities` are of all nodes; `cross_fitted` of the validation nodes, each at the epoch the other half chooses.
    """

    probabilities: Probabilities
    cross_fitted: Probabilities
    weights: dict[str, Tensor]
    facts: TrainingFacts


@dataclass
class _Best:
    """The best value of one half under one rule so far, and the other half's logits at that epoch."""

    value: float = math.inf
    logits: Tensor | None = field(default=None)


class CrossFitting(Observer):
    """Observes a training by `RULES` on split `number`; goes on from `paused`, which `state` gave.

    Attributes:
        training: what is observed.
        seconds: how long it has taken.
    """

    training: TrainingLoop

    def __init__(self, number: int, paused: State | None = None) -> None:
        self.number, self.paused = number, paused
        self.best = {(rule, half): _Best() for rule in RULES for half in (0, 1)}
        self.spent = self.seconds = 0.0

    def begin(self, training: TrainingLoop) -> None:
        """Divide the validation nodes, and restore what was paused."""
        self.training, graph = training, training.problem.graph
        parts = validation_halves(graph, training.val.cpu().numpy(), self.number)
        self.halves = [torch.from_numpy(part) for part in parts]
        if self.paused is not None:
            self._restore(*self.paused)
        self.start = time.monotonic()

    @property
    def usable(self) -> bool:
        """Whether there is a model to keep: weights as they were drawn are none."""
        return self.best["loss", 0].logits is not None

    def after_epoch(self, training: TrainingLoop) -> None:
        """Judge either half, for the other."""
        self.seconds = self.spent + time.monotonic() - self.start
        if not training.judged_candidate:
            return
        graph, logits = training.problem.graph, training.logits[training.val]
        sign = find_metric(graph.metric).sign
        for half, nodes in enumerate(self.halves):
            judged = graph.task.judge(logits[nodes], training.val_truth[nodes], graph.metric)
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
            model = self.training.config.model
            raise TrainingError(f"{model} was stopped before its second epoch, so there is no model")
        return {rule: self._chosen(rule) for rule in RULES if math.isfinite(self.training.best[rule].value)}

    def _chosen(self, rule: str) -> ChosenEpoch:
        training = self.training
        probabilities = _prediction(training, training.best_logits(rule))
        if not np.isfinite(probabilities).all():
            raise TrainingError(f"{training.config.model} gives numbers that are not finite on some nodes")
        cross_fitted = np.empty((len(training.val), probabilities.shape[1]), dtype=np.float32)
        for half in (0, 1):
            kept = self.best[rule, half].logits
            if kept is not None:  # always, where `usable`
                cross_fitted[self.halves[1 - half].numpy()] = _prediction(training, kept)
        weights = {name: tensor.detach().clone() for name, tensor in training.model.state_dict().items()}
        return ChosenEpoch(probabilities, cross_fitted, weights, training.facts(self.seconds, rule))

    def state(self) -> State:
        """Tensors and a JSON text from which another training goes on."""
        tensors, progress = self.training.state()
        tensors = {LOOP + name: tensor.detach().clone() for name, tensor in tensors.items()}  # `chosen` changes some
        for (rule, half), best in self.best.items():
            if best.logits is not None:
                tensors[f"{HALF}{rule}.{half}"] = best.logits
        values = {f"{rule}.{half}": best.value for (rule, half), best in self.best.items()}
        finite = {name: value if math.isfinite(value) else None for name, value in values.items()}
        return tensors, json.dumps({"loop": progress, "halves": finite, "seconds": self.seconds})

    def _restore(self, tensors: dict[str, Tensor], text: str) -> None:
        loop_tensors = {name.removeprefix(LOOP): tensor for name, tensor in tensors.items() if name.startswith(LOOP)}
        try:
            progress = json.loads(text)
            self.training.restore(loop_tensors, progress["loop"])
            for (rule, half), best in self.best.items():
                value = progress["halves"][f"{rule}.{half}"]
                best.value = math.inf if value is None else float(value)
                best.logits = tensors.get(f"{HALF}{rule}.{half}")
            self.spent = self.seconds = float(progress["seconds"])
        except (KeyError, ValueError, TypeError, RuntimeError) as error:
            raise checkpoint_misfit(error) from error


def _prediction(training: TrainingLoop, logits: Tensor) -> Probabilities:
    return training.task.activation(logits.double()).float().cpu().numpy()
