"""GPR-GNN: predict from features, then spread the predictions by a polynomial with learned coefficients."""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

import torch
from torch import Tensor, nn

from gpcn.nn.argument_checks import check_channels, check_choice, check_count, check_share
from gpcn.nn.base import Features, NodeClassifier
from gpcn.nn.baselines.appnp import pagerank_coefficients
from gpcn.nn.engine.dropout import check_probability
from gpcn.nn.engine.dropout import dropout as drop
from gpcn.nn.engine.operator import SparseOperator
from gpcn.nn.engine.randomness import uniform_
from gpcn.nn.layers import FeatureLayers, Linear

Start: TypeAlias = Literal["ppr", "nppr", "sgc", "random"]


def generalized_pagerank(operator: SparseOperator, x: Tensor, coefficients: Tensor) -> Tensor:
    """`Σ_k γ_k A^k x` by Horner's rule, for `γ` `[K + 1]` and `x` `[N, width]`.

    Nothing but `x` is kept for the backward pass, whatever `K`: the gradient of `γ_k` is `⟨(Aᵀ)^k g, x⟩`.
    """
    last, *others = reversed(coefficients.unbind())
    total = last * x
    for coefficient in others:
        total = operator @ total + coefficient * x
    return total


def starting_coefficients(start: Start, layers: int, alpha: float) -> Tensor:
    """`γ_0..γ_K` before training; see `GPRGNN`."""
    if start == "ppr":
        return pagerank_coefficients(layers, alpha)
    if start == "sgc":
        return torch.eye(layers + 1, dtype=torch.float64)[-1]
    if start == "nppr":
        coefficients = torch.tensor([alpha**k for k in range(layers + 1)], dtype=torch.float64)
    else:
        bound = math.sqrt(3 / (layers + 1))
        coefficients = uniform_(torch.empty(layers + 1, dtype=torch.float64), -bound, bound)
    return coefficients / coefficients.abs().sum()


class GPRGNN(NodeClassifier):
    """GPR-GNN of Chien et al., *Adaptive Universal Generalized PageRank Graph Neural Network* (ICLR 2021,
    https://arxiv.org/abs/2006.07988).

        Z = X_T W_out + b_out,    logits = Σ_k γ_k Ā^k Z,  k = 0..K

    with `X_T` the features after `T` ReLU layers, learned `γ`, `Ā = D̂^-1/2 (A + I) D̂^-1/2` and `D̂` the row sums of
    `A + I`. The authors train `γ` without weight decay.

    Args:
        in_channels: number of features, `q`.
        hidden_channels: width, `h`.
        out_channels: number of classes, `C`.
        layers: highest power of the adjacency, `K`.
        mlp_layers: ReLU layers on the features, `T`.
        alpha: `α`, where learning starts.
        start: where `γ` starts. `ppr`: personalized PageRank, `α (1 - α)^k` and `(1 - α)^K` for the last; `nppr`:
            `α^k`, scaled to sum 1; `sgc`: all on the last power; `random`: uniform, absolute values scaled to sum 1.
        dropout: share of entries zeroed while training, in the features and after every ReLU layer.
        propagation_dropout: share of entries zeroed in `Z` while training; below 0: the same as `dropout`.
        bias: whether layers have biases.

    Shapes:
        features `[N, q]`, dense or sparse, and links among `N` nodes to logits `[N, C]`.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        layers: int = 10,
        mlp_layers: int = 1,
        alpha: float = 0.1,
        start: Start = "ppr",
        dropout: float = 0.0,
        propagation_dropout: float = -1.0,
        bias: bool = True,
    ) -> None:
        super().__init__()
        check_channels(in_channels, hidden_channels, out_channels)
        self.layers, self.alpha = check_count("layers", layers), check_share("alpha", alpha)
        self.start: Start = check_choice("start", start, "ppr", "nppr", "sgc", "random")
        self.propagation_dropout = check_probability(dropout if propagation_dropout < 0 else propagation_dropout)
        self.features = FeatureLayers(in_channels, hidden_channels, mlp_layers, dropout, bias=bias)
        self.out = Linear(hidden_channels, out_channels, bias)
        self.gamma = nn.Parameter(torch.empty(layers + 1))
        self._reset_gamma()

    def _reset_gamma(self) -> None:
        with torch.no_grad():
            self.gamma.copy_(starting_coefficients(self.start, self.layers, self.alpha))

    def reset_parameters(self) -> None:
        """Draw all weights anew, and start `γ` over."""
        super().reset_parameters()
        self._reset_gamma()

    def coefficients(self) -> Tensor:
        """`γ`, the weight of each power of the adjacency, `[K + 1]`."""
        return self.gamma.detach()

    def logits(self, x: Features, operator: SparseOperator) -> Tensor:
        """Return logits `[N, C]`."""
        predicted = drop(self.out(self.features(x)), self.propagation_dropout, self.training)  # [N, C]
        return generalized_pagerank(operator, predicted, self.gamma)
