"""The protocol for one split by gradients: full-batch Adam, early stopping on validation nodes, the best state kept.

An epoch first evaluates the weights as they are, then takes one step. Without dropout one forward pass serves both.
Nothing here knows files: `state()` and `restore()` carry everything that continuing bit by bit needs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpcn.nn import NodeClassifier, zoo
from gpcn.nn.engine.randomness import drawing_from
from gpcn.nn.training_step.direct_pass import DirectPass, can_step_directly
from gpcn.training.adam import Adam, Group
from gpcn.training.config import TrainConfig
from gpcn.training.loop import TrainingLoop, checkpoint_misfit

DROPOUTS = ("dropout", "propagation_dropout")


class Trainer(TrainingLoop):
    """Training of one split by steps of Adam."""

    def _build(self, number: int, *, keep: bool) -> None:
        problem, config = self.problem, self.config
        seed = int(np.random.SeedSequence([config.seed, number]).generate_state(1, np.uint64)[0] >> 1)
        self.random = torch.Generator().manual_seed(seed)
        self.model = problem.build(config, self.random)
        self.model.observe(problem.truth, self.train)
        self.drops = any(float(config.hyperparameters.get(name, 0.0)) > 0 for name in DROPOUTS)
        self.evaluates_otherwise = _evaluates_otherwise(self.model) or not problem.has_one_view
        self.parameters = list(self.model.parameters())
        self.shared = [
            weight for name, weight in self.model.named_parameters() if name not in self.model.per_node_weights
        ]
        self.buffers = list(self.model.buffers())
        self.optimizer = _optimizer(self.model, config)
        self.direct = self._direct(self.val)
        self.kept = {rule: [tensor.detach().clone() for tensor in self._tensors()] for rule in self.rules if keep}

    @property
    def learns(self) -> bool:
        """Whether there are weights."""
        return bool(self.parameters)

    @property
    def num_parameters(self) -> int:
        """All entries of all weights."""
        return sum(parameter.numel() for parameter in self.parameters)

    def record_logits_of(self, nodes: Tensor) -> None:
        """Let `logits` have those of `nodes`, too."""
        self.direct = self._direct(torch.cat([self.val, nodes]))

    def _direct(self, judged: Tensor) -> DirectPass | None:
        """The training pass written out, where that covers the model."""
        x, adjacency = self.problem.training
        apart = self.problem.in_parts or not self.problem.has_one_view
        if apart or not can_step_directly(self.model, x, adjacency):
            return None
        like = torch.empty(0, dtype=self.model.dtype)
        loss_with_error = self.task.loss_with_error(self.train_truth, self.weights, like)
        return DirectPass(self.model, x, adjacency, self.train, loss_with_error, judged)

    def step(self) -> None:
        """One epoch."""
        with drawing_from(self.random):
            self._step()

    def _step(self) -> None:
        if self.direct is not None:
            self.optimizer.zero_grad()
            loss, evaluated = self.direct(self.drops)
            self._judge(loss, evaluated)
            self._keep_best(self.buffers)
            self.optimizer.step()
            self.epoch += 1
            return
        buffers = [buffer.clone() for buffer in self.buffers]  # the training pass may change them
        if self.drops or self.evaluates_otherwise:
            evaluated = self.evaluate()
            self.model.train()
            logits = self.model(*self.problem.training)
        else:
            self.model.train()
            logits = self.model(*self.problem.training)
            evaluated = logits.detach()
        loss = self._loss(logits)
        self._judge(loss, evaluated)
        self._keep_best(buffers)
        if self.parameters:
            self.optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            self.problem.workers.sum_gradients(self.shared)
            self.optimizer.step()
        self.epoch += 1

    def _loss(self, logits: Tensor) -> Tensor:
        """The mean loss of training nodes; of several workers each has its share of it."""
        workers = self.problem.workers
        if workers.size == 1:
            return self.task.loss(logits[self.train], self.train_truth, self.weights)
        summed, amount = self.task.summed_loss(logits[self.train], self.train_truth, self.weights)
        return summed / workers.total(amount)

    @torch.no_grad()
    def evaluate(self) -> Tensor:
        """Logits of all nodes with the weights as they are."""
        self.model.eval()
        logits: Tensor = self.model(*self.problem.evaluation)
        return logits

    def best_logits(self, rule: str | None = None) -> Tensor:
        """Logits of all nodes with the best weights by `rule`, which the model has from now on."""
        self._copy(self._tensors(), self.kept[rule or self.rules[0]])
        return self.evaluate()

    def state(self) -> tuple[dict[str, Tensor], str]:
        """Tensors and a JSON text that `restore` continues from, bit by bit."""
        tensors = {f"model.{i}": tensor.detach() for i, tensor in enumerate(self._tensors())}
        tensors |= {f"best.{rule}.{i}": tensor for rule, best in self.kept.items() for i, tensor in enumerate(best)}
        for i, parameter in enumerate(self.parameters):
            for key, value in self.optimizer.state[parameter].items():
                tensors[f"adam.{i}.{key}"] = value.clone() if key == "step" else value  # steps share their memory
        tensors["random"] = self.random.get_state()
        return tensors, self._progress()

    def restore(self, tensors: dict[str, Tensor], text: str) -> None:
        """Continue where `state` was taken."""
        try:
            own = self._tensors()
            self._copy(own, [tensors[f"model.{i}"] for i in range(len(own))])
            for rule, best in self.kept.items():
                self._copy(best, [tensors[f"best.{rule}.{i}"] for i in range(len(own))])
            for i, parameter in enumerate(self.parameters):
                start = f"adam.{i}."
                keys = {key.removeprefix(start): value for key, value in tensors.items() if key.startswith(start)}
                if self.parameters and keys.keys() != {"step", "exp_avg", "exp_avg_sq"}:
                    raise ValueError(f"the optimizer's state of weight {i} is incomplete")
                if any(keys[key].shape != parameter.shape for key in ("exp_avg", "exp_avg_sq")):
                    raise ValueError(f"the optimizer's state of weight {i} has another shape")
                for key, kept in self.optimizer.state[parameter].items():
                    kept.copy_(keys[key])
            self.random.set_state(tensors["random"])
            self._restore_progress(text)
        except (KeyError, ValueError, TypeError, RuntimeError, OverflowError) as error:
            raise checkpoint_misfit(error) from error

    def _tensors(self) -> list[Tensor]:
        """All that makes the model: weights, then buffers."""
        return [*self.parameters, *self.buffers]

    def _keep_best(self, buffers: list[Tensor]) -> None:
        """Keep the weights as they are, and `buffers`, for every rule by which this epoch is the best so far."""
        for rule in self.improved & self.kept.keys():
            self._copy(self.kept[rule], [*self.parameters, *buffers])

    @staticmethod
    @torch.no_grad()
    def _copy(targets: list[Any], sources: list[Any]) -> None:
        for target, source in zip(targets, sources, strict=True):
            if target.shape != source.shape:
                raise ValueError(f"a tensor has shape {tuple(source.shape)}; expected {tuple(target.shape)}")
            target.copy_(source)


def _evaluates_otherwise(model: NodeClassifier) -> bool:
    """Whether the model computes something else in training than in evaluation even without dropout."""
    return any(isinstance(module, torch.nn.modules.batchnorm._BatchNorm) for module in model.modules())


def _optimizer(model: NodeClassifier, config: TrainConfig) -> Adam:
    """Return Adam with the rate and decay that the settings have for each group of weights."""
    lr, decay = config["lr"], config["weight_decay"]
    own = {name: config[name] if config[name] >= 0 else decay for name in ("theta_decay", "link_decay")}
    rates: dict[str | None, tuple[float, float]] = {
        "coefficients": (lr, own["theta_decay"]),
        "links": (lr, own["link_decay"]),
        "mix": (config["mu_lr"] if config["mu_lr"] >= 0 else lr, 0.0),
    }
    group_of = zoo.specification_of(config.model).parameter_groups
    groups: dict[tuple[float, float], list[torch.nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        groups.setdefault(rates.get(group_of.get(name), (lr, decay)), []).append(parameter)
    return Adam([Group(parameters, lr, decay) for (lr, decay), parameters in groups.items()])
