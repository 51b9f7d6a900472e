"""AdaGPR: a learned polynomial of the adjacency in every layer of GCNII."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from gpcn.nn.argument_checks import check_count
from gpcn.nn.base import Features
from gpcn.nn.baselines.gcnii import NearIdentityNetwork, identity_strengths, near_identity
from gpcn.nn.baselines.gprgnn import generalized_pagerank
from gpcn.nn.engine.dropout import dropout as drop
from gpcn.nn.engine.dropout import relu_dropout_
from gpcn.nn.engine.operator import SparseOperator
from gpcn.nn.engine.randomness import uniform_
from gpcn.nn.layers import Linear


class AdaGPR(NearIdentityNetwork):
    """AdaGPR of Wimalawarne and Suzuki, *Layer-wise Adaptive Graph Convolution Networks Using Generalized Pagerank*
    (ACML 2022, https://arxiv.org/abs/2108.10636).

        H_0 = ReLU(X W_0 + b_0)
        H_l = ReLU(((1 - α) Σ_k softmax(g_l)_k Ā^k H_{l-1} + α H_0) ((1 - β_l) I + β_l W_l)),  k = 0..K
        logits = H_L W_out + b_out

    with `β_l = log(θ / l + 1)`, learned `g_l`, `Ā = D̂^-1/2 (A + I) D̂^-1/2` and `D̂` the row sums of `A + I`. The
    authors' code has the sparsemax of `exp(g_l)` where this has the softmax of `g_l`.

    Args:
        in_channels: number of features, `q`.
        hidden_channels: width, `h`.
        out_channels: number of classes, `C`.
        layers: convolutions, `L`.
        mlp_layers: ReLU layers on the features; the paper has one.
        hops: highest power of the adjacency in a layer, `K`.
        alpha: `α`, share of the first layer in every other.
        theta: `θ`, how far from the identity; `λ` in the paper.
        dropout: share of entries zeroed while training, in the features and in the input of every layer, not in the
            `H_0` that is added.
        bias: whether first and last layers have biases; the convolutions have none.

    Shapes:
        features `[N, q]`, dense or sparse, and links among `N` nodes to logits `[N, C]`.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        layers: int = 4,
        mlp_layers: int = 1,
        hops: int = 4,
        alpha: float = 0.1,
        theta: float = 0.5,
        dropout: float = 0.0,
        bias: bool = True,
    ) -> None:
        super().__init__(in_channels, hidden_channels, out_channels, layers, mlp_layers, alpha, theta, dropout, bias)
        self.hops = check_count("hops", hops)
        self.gates = nn.Parameter(torch.empty(layers, hops + 1))  # g
        self.out = Linear(hidden_channels, out_channels, bias)
        self._reset_gates()

    def _reset_gates(self) -> None:
        bound = 1 / math.sqrt(self.hops + 1)
        uniform_(self.gates, -bound, bound)

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        super().reset_parameters()
        self._reset_gates()

    def logits(self, x: Features, operator: SparseOperator) -> Tensor:
        """Return logits `[N, C]`."""
        first: Tensor = self.features(x)  # [N, h]
        kept = self.alpha * first
        hidden = drop(first, self.dropout, self.training)
        weights = (1 - self.alpha) * self.gates.softmax(1)  # [L, K + 1]
        for index, beta in enumerate(identity_strengths(self.theta, self.layers)):
            spread = generalized_pagerank(operator, hidden, weights[index]) + kept
            spread = near_identity(spread, self.convolutions[index].weight, beta)  # type: ignore[arg-type]
            hidden = relu_dropout_(spread, self.dropout, self.training)
        result: Tensor = self.out(hidden)
        return result
