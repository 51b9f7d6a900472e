"""The protocol for one split: full-batch Adam, early stopping on validation nodes, the best state kept.

An epoch first evaluates the weights as they are, then takes one step. Without dropout one forward pass serves both.
Nothing here knows files: `state()` and `restore()` carry everything that continuing bit by bit needs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from gpcn.errors import CheckpointError, TrainingError
from gpcn.graph import Split
from gpcn.nn import NodeClassifier
from gpcn.training.config import TrainConfig
from gpcn.training.metrics import definition, tensor_score
from gpcn.training.problem import Problem

DROPOUTS = ("dropout", "propagation_dropout")
COEFFICIENTS = ("theta", "gamma")
HISTORY = ("epoch", "train_loss", "val_loss", "val_score")


class Trainer:
    """Training of one split, epoch by epoch.

    Args:
        problem: the prepared graph.
        config: what to train and how.
        split: which nodes train and validate; test nodes are never looked at here.
        number: the split's number; with the seed it decides every random draw.
    """

    def __init__(self, problem: Problem, config: TrainConfig, split: Split, number: int) -> None:
        self.problem, self.config = problem, config
        self.train, self.val = (torch.tensor(part, device=problem.device) for part in (split.train, split.val))
        self.train_labels, self.val_labels = problem.labels[self.train], problem.labels[self.val]
        torch.manual_seed(int(np.random.SeedSequence([config.seed, number]).generate_state(1, np.uint64)[0] >> 1))
        self.model = problem.build(config)
        self.model.observe(problem.labels, self.train)
        self.drops = any(float(config.hyperparameters.get(name, 0.0)) > 0 for name in DROPOUTS)
        self.class_weights = _class_weights(problem, self.train) if config["class_weights"] else None
        self.evaluates_otherwise = _evaluates_otherwise(self.model)
        self.parameters = list(self.model.parameters())
        self.buffers = list(self.model.buffers())
        self.optimizer = _optimizer(self.model, config)
        self.best = [parameter.detach().clone() for parameter in self.parameters]
        self.best_buffers = [buffer.clone() for buffer in self.buffers]
        self.best_value, self.best_epoch, self.epoch = math.inf, 0, 0
        self.history: list[tuple[float, ...]] = []
        self.logits = torch.empty(0, problem.graph.num_classes)  # of all nodes, as the last epoch found them

    @property
    def finished(self) -> bool:
        """Whether the last epoch was reached or patience ran out."""
        if not self.parameters:
            return self.epoch > 0
        return bool(self.epoch >= self.config["epochs"] or self.epoch - self.best_epoch > self.config["patience"])

    def run(self, after_epoch: Callable[[Trainer], None] | None = None) -> None:
        """Train to the end."""
        while not self.finished:
            self.step()
            if after_epoch is not None:
                after_epoch(self)

    def step(self) -> None:
        """One epoch."""
        buffers = [buffer.clone() for buffer in self.buffers]  # the training pass may change them
        if self.drops or self.evaluates_otherwise:
            evaluated = self.evaluate()
            self.model.train()
            logits = self.model(self.problem.x, self.problem.adjacency)
        else:
            self.model.train()
            logits = self.model(self.problem.x, self.problem.adjacency)
            evaluated = logits.detach()
        loss = F.cross_entropy(logits[self.train], self.train_labels, self.class_weights)
        train_loss, val_loss, score = torch.stack([loss.detach(), *self._validate(evaluated)]).tolist()
        wrong = next((each for each in (train_loss, val_loss) if not math.isfinite(each)), None)
        if wrong is not None:
            raise TrainingError(
                f"the loss became {wrong} in epoch {self.epoch} of {self.config.model} (γ, lr or features too large); "
                "lower lr or gamma"
            )
        if self.config["select"] == "metric" and not math.isfinite(score):
            title = definition(self.problem.graph.metric).title
            raise TrainingError(f"the validation nodes are all of one class, so {title} cannot choose; use select=loss")
        by_loss = self.config["select"] == "loss"
        self._remember(val_loss if by_loss else -definition(self.problem.graph.metric).sign * score, buffers)
        self.history.append((self.epoch, train_loss, val_loss, score))
        if self.parameters:
            self.optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            self.optimizer.step()
        self.epoch += 1

    @torch.no_grad()
    def evaluate(self) -> Tensor:
        """Logits of all nodes with the weights as they are."""
        self.model.eval()
        logits: Tensor = self.model(self.problem.x, self.problem.adjacency)
        return logits

    def best_logits(self) -> Tensor:
        """Logits of all nodes with the best weights, which the model has from now on."""
        self._copy(self.parameters, self.best)
        self._copy(self.buffers, self.best_buffers)
        return self.evaluate()

    def state(self) -> tuple[dict[str, Tensor], str]:
        """Tensors and a JSON text that `restore` continues from, bit by bit."""
        tensors = {f"weight.{i}": each.detach() for i, each in enumerate(self.parameters)}
        tensors |= {f"best.{i}": each for i, each in enumerate(self.best)}
        tensors |= {f"buffer.{i}": each for i, each in enumerate(self.buffers)}
        tensors |= {f"best_buffer.{i}": each for i, each in enumerate(self.best_buffers)}
        for i, parameter in enumerate(self.parameters):
            for key, value in self.optimizer.state[parameter].items():
                tensors[f"adam.{i}.{key}"] = value
        tensors["random"] = torch.get_rng_state()
        told = {
            "epoch": self.epoch,
            "best_value": None if math.isinf(self.best_value) else self.best_value,
            "best_epoch": self.best_epoch,
            "history": self.history,
        }
        return tensors, json.dumps(told)

    def restore(self, tensors: dict[str, Tensor], text: str) -> None:
        """Continue where `state` was taken."""
        try:
            told = json.loads(text)
            self._copy(self.parameters, [tensors[f"weight.{i}"] for i in range(len(self.parameters))])
            self._copy(self.best, [tensors[f"best.{i}"] for i in range(len(self.best))])
            self._copy(self.buffers, [tensors[f"buffer.{i}"] for i in range(len(self.buffers))])
            self._copy(self.best_buffers, [tensors[f"best_buffer.{i}"] for i in range(len(self.buffers))])
            for i, parameter in enumerate(self.parameters):
                start = f"adam.{i}."
                keys = {key.removeprefix(start): value for key, value in tensors.items() if key.startswith(start)}
                if self.parameters and keys.keys() != {"step", "exp_avg", "exp_avg_sq"}:
                    raise ValueError(f"the optimizer's state of weight {i} is incomplete")
                if any(keys[key].shape != parameter.shape for key in ("exp_avg", "exp_avg_sq")):
                    raise ValueError(f"the optimizer's state of weight {i} has another shape")
                moved = {key: value.to(parameter.device if key != "step" else "cpu") for key, value in keys.items()}
                self.optimizer.state[parameter] = {key: value.clone() for key, value in moved.items()}
            torch.set_rng_state(tensors["random"])
            self.epoch, self.best_epoch = int(told["epoch"]), int(told["best_epoch"])
            self.best_value = math.inf if told["best_value"] is None else float(told["best_value"])
            self.history = [tuple(map(float, row)) for row in told["history"]]
            if len(self.history) != self.epoch or any(len(row) != len(HISTORY) for row in self.history):
                raise ValueError("its history is incomplete")
        except (KeyError, ValueError, TypeError, RuntimeError, OverflowError) as error:
            raise CheckpointError(f"the checkpoint does not fit this model and configuration: {error}") from error

    def _validate(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        self.logits = logits
        graph = self.problem.graph
        return loss_and_score(logits[self.val], self.val_labels, graph.metric, graph.positive)

    def _remember(self, value: float, buffers: list[Tensor]) -> None:
        untrained = self.epoch == 0 and self.parameters  # weights as drawn are no candidate
        if value < self.best_value and not untrained:
            self.best_value, self.best_epoch = value, self.epoch
            self._copy(self.best, self.parameters)
            self._copy(self.best_buffers, buffers)

    @staticmethod
    @torch.no_grad()
    def _copy(targets: list[Any], sources: list[Any]) -> None:
        for target, source in zip(targets, sources, strict=True):
            if target.shape != source.shape:
                raise ValueError(f"a tensor has shape {tuple(source.shape)}; expected {tuple(target.shape)}")
            target.copy_(source)


def loss_and_score(logits: Tensor, labels: Tensor, metric: str, positive: int | None = None) -> tuple[Tensor, Tensor]:
    """Cross-entropy, and the metric as a share of one (the log loss in nats)."""
    loss = F.cross_entropy(logits, labels)
    return loss, tensor_score(logits, labels, metric, positive)


def _evaluates_otherwise(model: NodeClassifier) -> bool:
    """Whether the model computes something else in training than in evaluation even without dropout."""
    return any(isinstance(module, torch.nn.modules.batchnorm._BatchNorm) for module in model.modules())


def _optimizer(model: NodeClassifier, config: TrainConfig) -> torch.optim.Optimizer:
    """Adam with the coefficients (θ, GPRGNN's γ), W_A and μ as groups of their own."""
    groups: dict[tuple[float, float], list[torch.nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        lr, decay = config["lr"], config["weight_decay"]
        if name in COEFFICIENTS and config["theta_decay"] >= 0:
            decay = config["theta_decay"]
        if name == "link" and config["link_decay"] >= 0:
            decay = config["link_decay"]
        if name == "mu_logit":
            lr, decay = (config["mu_lr"] if config["mu_lr"] >= 0 else lr), 0.0
        groups.setdefault((lr, decay), []).append(parameter)
    described = [{"params": each, "lr": lr, "weight_decay": decay} for (lr, decay), each in groups.items()]
    if not described:
        described = [{"params": [torch.nn.Parameter(torch.zeros(1))], "lr": config["lr"], "weight_decay": 0.0}]
    return torch.optim.Adam(described, fused=model.device.type in ("cpu", "cuda"))


def _class_weights(problem: Problem, train: Tensor) -> Tensor:
    counts = torch.bincount(problem.labels[train], minlength=problem.graph.num_classes).to(torch.get_default_dtype())
    weights = torch.where(counts > 0, counts.sum() / counts.clamp(min=1), torch.zeros_like(counts))
    return weights / weights[counts > 0].mean()
