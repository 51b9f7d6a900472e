"""APPNP: predict from features, then spread the predictions by personalized PageRank."""

from __future__ import annotations

import torch
from torch import Tensor

from gpcn.nn.argument_checks import check_channels, check_count, check_share
from gpcn.nn.base import Features, NodeClassifier
from gpcn.nn.engine.dropout import check_probability, dropout_sparse
from gpcn.nn.engine.operator import SparseOperator
from gpcn.nn.layers import FeatureLayers, Linear


def pagerank_coefficients(layers: int, alpha: float) -> Tensor:
    """`α (1 - α)^k` for `k < K` and `(1 - α)^K` for the last, `[K + 1]`: they sum to 1."""
    head = [alpha * (1 - alpha) ** k for k in range(layers)]
    return torch.tensor([*head, (1 - alpha) ** layers], dtype=torch.float64)


class APPNP(NodeClassifier):
    """APPNP of Gasteiger et al., *Predict then Propagate: Graph Neural Networks meet Personalized PageRank* (ICLR
    2019, https://arxiv.org/abs/1810.05997).

        Z_0 = X_T W_out + b_out,    Z_k = (1 - α) Ā Z_{k-1} + α Z_0,  k = 1..K,    logits = Z_K

    with `X_T` the features after `T` ReLU layers, `Ā = D̂^-1/2 (A + I) D̂^-1/2` and `D̂` the row sums of `A + I`.

    Args:
        in_channels: number of features, `q`.
        hidden_channels: width, `h`.
        out_channels: number of classes, `C`.
        layers: power iterations, `K`.
        mlp_layers: ReLU layers on the features, `T`.
        alpha: `α`, probability of returning to the node's own prediction.
        dropout: share of entries zeroed while training, in the features and after every ReLU layer.
        link_dropout: share of the entries of `Ā` zeroed while training, drawn anew in every iteration. The paper uses
            it, many later comparisons do not.
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
        dropout: float = 0.0,
        link_dropout: float = 0.0,
        bias: bool = True,
    ) -> None:
        super().__init__()
        check_channels(in_channels, hidden_channels, out_channels)
        self.layers, self.alpha = check_count("layers", layers), check_share("alpha", alpha)
        self.link_dropout = check_probability(link_dropout)
        self.features = FeatureLayers(in_channels, hidden_channels, mlp_layers, dropout, bias=bias)
        self.out = Linear(hidden_channels, out_channels, bias)

    def coefficients(self) -> Tensor:
        """The weight of each power of the adjacency, `[K + 1]`: `α (1 - α)^k`, and `(1 - α)^K` for the last."""
        return pagerank_coefficients(self.layers, self.alpha).to(self.device, self.dtype)

    def logits(self, x: Features, operator: SparseOperator) -> Tensor:
        """Return logits `[N, C]`."""
        predicted: Tensor = self.out(self.features(x))  # [N, C]
        logits, returned = predicted, self.alpha * predicted
        for _ in range(self.layers):
            links = dropout_sparse(operator, self.link_dropout, self.training)
            logits = torch.add(returned, links @ logits, alpha=1 - self.alpha)
        return logits
