"""The baselines that see features only: a multilayer perceptron and logistic regression."""

from __future__ import annotations

from torch import Tensor

from gpcn.nn.argument_checks import check_channels
from gpcn.nn.base import Features, NodeClassifier, as_features
from gpcn.nn.engine.adjacency import AdjacencyLike
from gpcn.nn.engine.dropout import check_probability
from gpcn.nn.layers import FeatureLayers, Linear, drop_features


class MLP(NodeClassifier):
    """A multilayer perceptron on the features; links are ignored.

        X ← ReLU(X W_i + b_i),  i = 1..T,    logits = X W_out + b_out

    Args:
        in_channels: number of features, `q`.
        hidden_channels: width, `h`.
        out_channels: number of classes, `C`.
        mlp_layers: hidden ReLU layers, `T`.
        dropout: share of entries zeroed while training, in the features and after every hidden layer.
        bias: whether layers have biases.

    Shapes:
        features `[N, q]`, dense or sparse, to logits `[N, C]`.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        mlp_layers: int = 1,
        dropout: float = 0.0,
        bias: bool = True,
    ) -> None:
        super().__init__()
        check_channels(in_channels, hidden_channels, out_channels)
        self.features = FeatureLayers(in_channels, hidden_channels, mlp_layers, dropout, bias=bias)
        self.out = Linear(hidden_channels, out_channels, bias)

    def forward(self, x: Features, adjacency: AdjacencyLike | None = None, edge_weight: Tensor | None = None) -> Tensor:
        """Logits `[N, C]`; `adjacency` and `edge_weight` are accepted and not used."""
        result: Tensor = self.out(self.features(as_features(x)))
        return result


class LogisticRegression(NodeClassifier):
    """Logistic regression on the features, `logits = X W + b`; links are ignored.

    Args:
        in_channels: number of features, `q`.
        hidden_channels: accepted so that models can be exchanged; not used.
        out_channels: number of classes, `C`.
        dropout: share of the features zeroed while training.
        bias: whether there is a `b`.

    Shapes:
        features `[N, q]`, dense or sparse, to logits `[N, C]`.
    """

    def __init__(
        self, in_channels: int, hidden_channels: int, out_channels: int, *, dropout: float = 0.0, bias: bool = True
    ) -> None:
        super().__init__()
        check_channels(in_channels, hidden_channels, out_channels)
        self.dropout = check_probability(dropout)
        self.out = Linear(in_channels, out_channels, bias)

    def forward(self, x: Features, adjacency: AdjacencyLike | None = None, edge_weight: Tensor | None = None) -> Tensor:
        """Logits `[N, C]`; `adjacency` and `edge_weight` are accepted and not used."""
        result: Tensor = self.out(drop_features(as_features(x), self.dropout, self.training))
        return result
