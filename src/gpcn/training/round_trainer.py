"""`RoundTrainer`: the protocol for models that fit themselves, a round per epoch."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from gpcn.core.errors import ConfigError
from gpcn.nn.self_fitting import SelfFitting
from gpcn.training.loop import TrainingLoop, checkpoint_misfit

OF_THE_OPTIMIZER = ("lr", "weight_decay", "theta_decay", "link_decay", "mu_lr")
"""Training settings that are accepted and mean nothing where there are no gradients."""


class RoundTrainer(TrainingLoop):
    """As `Trainer`, for a `SelfFitting` model: epoch `n` judges the model after `n` rounds.

    The model before the first round is judged in epoch 0 and is no candidate, as weights are that were only drawn.
    Every round is kept anyway; of the configuration, `OF_THE_OPTIMIZER` means nothing here.
    """

    def _build(self, number: int, *, keep: bool) -> None:
        problem, config = self.problem, self.config
        model = problem.build(config)
        if not isinstance(model, SelfFitting):
            raise ConfigError(f"{config.model} does not fit itself; train it with Trainer")
        if not problem.has_one_view:
            raise ConfigError(
                f"{config.model} fits itself to the graph that judges it; hide nothing of it from training"
            )
        self.model: SelfFitting = model
        self.fitting = model.begin(
            *problem.training,
            problem.truth,
            self.train,
            class_weights=self.weights,
            seed=int(np.random.SeedSequence([config.seed, number]).generate_state(1, np.uint32)[0]),
            most=int(config["epochs"]) - 1,
        )

    @property
    def num_parameters(self) -> int:
        """As the model counts them, at the best epoch from `best_logits` on."""
        return self.model.num_learned

    @torch.no_grad()
    def step(self) -> None:
        """One epoch."""
        logits = self.fitting.logits()
        loss = self.task.loss(logits[self.train], self.train_truth, self.weights)
        self._judge(loss, logits)
        self.fitting.advance()
        self.epoch += 1

    @torch.no_grad()
    def best_logits(self, rule: str | None = None) -> Tensor:
        """Logits of all nodes after the best round by `rule`, as which the model is kept from now on."""
        self.fitting.keep(self.best[rule or self.rules[0]].epoch)
        logits: Tensor = self.model.eval()(*self.problem.evaluation)
        return logits

    def state(self) -> tuple[dict[str, Tensor], str]:
        """Tensors and a JSON text that `restore` continues from, bit by bit."""
        return {f"fitting.{name}": tensor for name, tensor in self.fitting.state().items()}, self._progress()

    def restore(self, tensors: dict[str, Tensor], text: str) -> None:
        """Continue where `state` was taken."""
        try:
            self.fitting.restore({name.removeprefix("fitting."): tensor for name, tensor in tensors.items()})
            self._restore_progress(text)
            if self.fitting.rounds != self.epoch:
                raise ValueError(f"there were {self.fitting.rounds} rounds in {self.epoch} epochs")
        except (KeyError, ValueError, TypeError, RuntimeError, OverflowError) as error:
            raise checkpoint_misfit(error) from error
