"""Cross-entropy of classes, in the forms that training pays for."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor


def mean_cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """Return the mean over nodes, of logits `[n, C]`."""
    logarithms = torch.log_softmax(logits.T.contiguous(), dim=0)  # [C, n]: several times as fast as along short rows
    return F.nll_loss(logarithms.T, labels)


class CrossEntropyWithError:
    """The mean cross-entropy of some nodes and its gradient, written out, in the same memory each time.

    Args:
        labels: classes of the nodes, `[n]`.
        class_weights: how much a node of each class counts, `[C]`; all the same where `None`.
        like: a tensor of the type of the logits.
        num_classes: `C`.
    """

    def __init__(self, labels: Tensor, class_weights: Tensor | None, like: Tensor, num_classes: int) -> None:
        weights = torch.ones(len(labels), dtype=like.dtype) if class_weights is None else class_weights[labels]
        self.weights = (weights.to(like.dtype) / weights.sum()).unsqueeze(0)  # [1, n]
        self.wanted = self.weights.new_zeros(num_classes, len(labels))  # [C, n]: its weight at a node's class
        self.wanted.scatter_(0, labels.unsqueeze(0), self.weights)
        # of logits, logarithms of probabilities, and what every node adds to the loss: over few classes, many nodes
        self.logits_t, self.logarithms, self.shares = (torch.empty_like(self.wanted) for _ in range(3))

    def __call__(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        """Return the loss of logits `[n, C]`, and its gradient in their place."""
        _transpose(logits, self.logits_t)
        torch.ops.aten._log_softmax.out(self.logits_t, 0, False, out=self.logarithms)
        loss = torch.mul(self.logarithms, self.wanted, out=self.shares).sum().neg_()
        error = self.logarithms.exp_().mul_(self.weights).sub_(self.wanted)
        return loss, _transpose(error, logits)


def _transpose(source: Tensor, target: Tensor) -> Tensor:
    """`sourceᵀ` into `target`: of narrow matrices NumPy's copy is several times as fast as PyTorch's."""
    if source.dtype in (torch.float32, torch.float64):
        np.copyto(target.numpy(), source.numpy().T)
        return target
    return target.copy_(source.T)
