"""Label propagation: known labels spread along links; nothing is trained and features are ignored."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from gpcn.core.errors import ConfigError
from gpcn.nn.argument_checks import check_channels, check_count, check_same_nodes, check_share
from gpcn.nn.base import Features
from gpcn.nn.baselines.label_seeds import LabelSeeds
from gpcn.nn.engine.operator import SparseOperator

SMALL = 1e-12  # how much of the training labels' class shares every node gets, reached by a label or not


class LabelPropagation(LabelSeeds):
    """Label propagation of Zhou et al., *Learning with Local and Global Consistency* (NeurIPS 2004).

        Y ← α S Y + (1 - α) Y_0,  K times from Y_0

    with `Y_0` `[N, C]` the training labels, one-hot, zero elsewhere, and `S = D^-1/2 A D^-1/2`, `D` the row sums of
    `A`, without self-loops. The logits are `log(Y + ε p)` less the log of each row's sum, so that their softmax is
    `Y` with rows scaled to sum 1. A tiny share `ε` of the class shares `p` among the training labels (each class
    counted once more) keeps them finite, and decides for nodes that no label reaches.

    `observe` must be called before the model. There are no parameters, so nothing to train: give the model no
    optimizer.

    Args:
        in_channels: accepted so that models can be exchanged; not used.
        hidden_channels: accepted so that models can be exchanged; not used.
        out_channels: number of classes, `C`.
        layers: iterations, `K`.
        alpha: `α`, share of the neighbours' labels against the node's own.
        self_loops: whether each node also counts as its own neighbour (`A + I`).

    Shapes:
        features `[N, q]`, of which only `N` is looked at, and links among `N` nodes to logits `[N, C]`.
    """

    needs = "label propagation needs"

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        layers: int = 50,
        alpha: float = 0.9,
        self_loops: bool = False,
    ) -> None:
        super().__init__()
        check_channels(in_channels, hidden_channels, out_channels, reads_features=False)
        self.layers, self.alpha, self.self_loops = (
            check_count("layers", layers),
            check_share("alpha", alpha),
            self_loops,
        )
        self.register_buffer("seeds", torch.zeros(0, out_channels))  # Y_0, no rows before `observe`

    def coefficients(self) -> Tensor:
        """The weight of each power of `S`, `[K + 1]`: `(1 - α) α^k`, and `α^K` for the last."""
        head = [(1 - self.alpha) * self.alpha**k for k in range(self.layers)]
        return torch.tensor([*head, self.alpha**self.layers], dtype=self.dtype, device=self.device)

    def spread(self, operator: SparseOperator) -> Tensor:
        """`Y` after `K` iterations, `[N, C]`; not negative, rows not scaled."""
        labels, restart = self.seeds, (1 - self.alpha) * self.seeds
        for _ in range(self.layers):
            labels = torch.add(restart, operator @ labels, alpha=self.alpha)
        return labels

    def logits(self, x: Features, operator: SparseOperator) -> Tensor:
        """Return logits `[N, C]`."""
        if not len(self.seeds):
            raise ConfigError("label propagation has seen no labels; call observe(labels, train) first")
        check_same_nodes("LabelPropagation", len(self.seeds), x.shape[0])
        counts = self.seeds.sum(0) + 1
        return torch.log(self.spread(operator) + SMALL * counts / counts.sum()).log_softmax(1)

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        """Take labels of any number of nodes, as a saved model has them."""
        saved = state_dict.get(f"{prefix}seeds")
        if saved is not None and saved.shape[1:] == self.seeds.shape[1:]:
            self.seeds = self.seeds.new_zeros(saved.shape)
        super()._load_from_state_dict(state_dict, prefix, *rest)
