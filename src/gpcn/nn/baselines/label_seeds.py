"""Training labels as a model keeps them: one-hot rows, zeros for all other nodes."""

from __future__ import annotations

import torch
from torch import Tensor

from gpcn.core.errors import ConfigError
from gpcn.nn.base import NodeClassifier


class LabelSeeds(NodeClassifier):
    """A model without parameters that keeps the training labels in a buffer `seeds` `[N, C]`.

    It has no rows before `observe`.
    """

    seeds: Tensor
    needs = "it needs"
    """Subject and verb of the sentence that refuses an empty training set."""

    @property
    def dtype(self) -> torch.dtype:
        """The type of the labels' weights, for there are no parameters."""
        return self.seeds.dtype

    @property
    def device(self) -> torch.device:
        """The device of the labels."""
        return self.seeds.device

    def observe(self, labels: Tensor, train: Tensor) -> None:
        """Take the training labels.

        Args:
            labels: class numbers of all nodes, `[N]`; looked at in `train` only.
            train: the training nodes, as numbers or as a mask `[N]`.
        """
        labels, train = labels.to(self.device), train.to(self.device)
        nodes = train.nonzero().squeeze(1) if train.dtype == torch.bool else train
        if not nodes.numel():
            raise ConfigError(f"there are no training nodes; {self.needs} at least one label")
        targets, classes = labels[nodes], self.seeds.shape[1]
        wrong = targets[(targets < 0) | (targets >= classes)]
        if wrong.numel():
            raise ConfigError(f"a training node has label {int(wrong[0])}; expected classes from 0 to {classes - 1}")
        seeds = self.seeds.new_zeros(len(labels), classes)
        seeds[nodes, targets] = 1
        self.seeds = seeds
