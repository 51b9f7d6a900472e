"""GCNII: deep graph convolution that keeps a share of its first layer and stays near the identity."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from gpcn.nn.argument_checks import check_channels, check_count, check_positive, check_share
from gpcn.nn.base import Features, NodeClassifier
from gpcn.nn.engine.dropout import dropout as drop
from gpcn.nn.engine.dropout import relu_dropout_
from gpcn.nn.engine.operator import SparseOperator
from gpcn.nn.layers import FeatureLayers, Linear


def near_identity(x: Tensor, weight: Tensor, beta: float) -> Tensor:
    """`x ((1 - β) I + β W)` in one pass: `[N, h]` to `[N, h]`."""
    return torch.addmm(x, x, weight, beta=1 - beta, alpha=beta)


def identity_strengths(theta: float, layers: int) -> list[float]:
    """`β_l = log(θ / l + 1)` for `l = 1..L`: deeper layers are nearer to the identity."""
    return [math.log(theta / layer + 1) for layer in range(1, layers + 1)]


class NearIdentityNetwork(NodeClassifier):
    """The common part of `GCNII` and `AdaGPR`: `H_0`, and near-identity convolutions that keep a share `α` of it."""

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        layers: int,
        mlp_layers: int,
        alpha: float,
        theta: float,
        dropout: float,
        bias: bool,
    ) -> None:
        super().__init__()
        check_channels(in_channels, hidden_channels, out_channels)
        self.layers = check_count("layers", layers)
        self.alpha, self.theta = check_share("alpha", alpha), check_positive("theta", theta)
        self.features = FeatureLayers(in_channels, hidden_channels, mlp_layers, dropout, last_dropout=0.0, bias=bias)
        self.dropout = self.features.dropout
        self.convolutions = self._square_layers(hidden_channels)

    def _square_layers(self, width: int) -> nn.ModuleList:
        return nn.ModuleList(Linear(width, width, bias=False) for _ in range(self.layers))


class GCNII(NearIdentityNetwork):
    """GCNII of Chen et al., *Simple and Deep Graph Convolutional Networks* (ICML 2020,
    https://arxiv.org/abs/2007.02133).

        H_0 = ReLU(X W_0 + b_0)
        H_l = ReLU(((1 - α) Ā H_{l-1} + α H_0) ((1 - β_l) I + β_l W_l)),    β_l = log(θ / l + 1)
        logits = H_L W_out + b_out

    with `Ā = D̂^-1/2 (A + I) D̂^-1/2` and `D̂` the row sums of `A + I`. GCNII* gives the two summands a `W_l` each.

    Args:
        in_channels: number of features, `q`.
        hidden_channels: width, `h`.
        out_channels: number of classes, `C`.
        layers: convolutions, `L`.
        mlp_layers: ReLU layers on the features; the paper has one.
        alpha: `α`, share of the first layer in every other.
        theta: `θ`, how far from the identity; `λ` in the paper.
        shared_weights: one `W_l` for both summands (GCNII); `False` is GCNII*.
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
        layers: int = 8,
        mlp_layers: int = 1,
        alpha: float = 0.1,
        theta: float = 0.5,
        shared_weights: bool = True,
        dropout: float = 0.0,
        bias: bool = True,
    ) -> None:
        super().__init__(in_channels, hidden_channels, out_channels, layers, mlp_layers, alpha, theta, dropout, bias)
        self.initial = None if shared_weights else self._square_layers(hidden_channels)
        self.out = Linear(hidden_channels, out_channels, bias)

    def logits(self, x: Features, operator: SparseOperator) -> Tensor:
        """Return logits `[N, C]`."""
        first: Tensor = self.features(x)  # [N, h]
        kept = self.alpha * first
        hidden = drop(first, self.dropout, self.training)
        for index, beta in enumerate(identity_strengths(self.theta, self.layers)):
            spread = (1 - self.alpha) * (operator @ hidden)
            weight = self.convolutions[index].weight
            if self.initial is None:
                spread = near_identity(spread + kept, weight, beta)  # type: ignore[arg-type]
            else:
                initial = near_identity(kept, self.initial[index].weight, beta)  # type: ignore[arg-type]
                spread = near_identity(spread, weight, beta) + initial  # type: ignore[arg-type]
            hidden = relu_dropout_(spread, self.dropout, self.training)
        result: Tensor = self.out(hidden)
        return result
