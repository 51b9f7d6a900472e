"""Graph convolution as Kipf and Welling have it, and the same without its ReLUs."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn

from gpcn.nn.argument_checks import check_channels, check_count
from gpcn.nn.base import Features, NodeClassifier
from gpcn.nn.engine.dropout import check_probability, relu_dropout_
from gpcn.nn.engine.operator import SparseOperator
from gpcn.nn.layers import Linear, drop_features


class GraphConvolution(nn.Module):
    """`Ā X W + b`, the sparse product on the narrower side of `W`.

    Args:
        in_channels: width of `X`.
        out_channels: width of the result.
        bias: whether there is a `b`; it starts at 0, as in the paper's code.
    """

    def __init__(self, in_channels: int, out_channels: int, bias: bool = True) -> None:
        super().__init__()
        self.linear = Linear(in_channels, out_channels, bias=False)
        self.bias = nn.Parameter(torch.zeros(out_channels)) if bias else None

    def reset_parameters(self) -> None:
        """Draw `W` anew and set `b` to 0."""
        self.linear.reset_parameters()
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(self, x: Features, operator: SparseOperator) -> Tensor:
        """`[N, in_channels]` to `[N, out_channels]`."""
        before, after = self.linear.weight.shape
        if not isinstance(x, SparseOperator) and before < after:
            result: Tensor = self.linear(operator @ x)
        else:
            result = operator @ self.linear(x)
        return result if self.bias is None else result + self.bias


class GCN(NodeClassifier):
    """The graph convolutional network of Kipf and Welling, *Semi-Supervised Classification with Graph Convolutional
    Networks* (ICLR 2017, https://arxiv.org/abs/1609.02907).

        X ← ReLU(Ā X W_i + b_i),  i = 1..L-1,    logits = Ā X W_L + b_L

    with `Ā = D̂^-1/2 (A + I) D̂^-1/2` and `D̂` the row sums of `A + I`. Of `(Ā X) W` and `Ā (X W)` the cheaper order is
    computed, so that the last sparse product has width `C`.

    Args:
        in_channels: number of features, `q`.
        hidden_channels: width, `h`.
        out_channels: number of classes, `C`.
        layers: convolutions, `L`; with 1 there is no hidden layer.
        dropout: share of entries zeroed while training, in the input of every layer.
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
        layers: int = 2,
        dropout: float = 0.0,
        bias: bool = True,
    ) -> None:
        super().__init__()
        check_channels(in_channels, hidden_channels, out_channels)
        check_count("layers", layers)
        self.dropout = check_probability(dropout)
        sizes = [in_channels, *[hidden_channels] * (layers - 1), out_channels]
        self.convolutions = nn.ModuleList(GraphConvolution(a, b, bias) for a, b in pairwise(sizes))

    def logits(self, x: Features, operator: SparseOperator) -> Tensor:
        """Return logits `[N, C]`."""
        first, *others = self.convolutions
        hidden: Tensor = first(drop_features(x, self.dropout, self.training), operator)
        for layer in others:
            hidden = layer(relu_dropout_(hidden, self.dropout, self.training), operator)
        return hidden


class SGC(NodeClassifier):
    """The simple graph convolution of Wu et al., *Simplifying Graph Convolutional Networks* (ICML 2019,
    https://arxiv.org/abs/1902.07153).

        logits = Ā^K X W + b

    with `Ā = D̂^-1/2 (A + I) D̂^-1/2` and `D̂` the row sums of `A + I`. `X W` comes first, so that all `K` sparse
    products have width `C`; the function is the same.

    Args:
        in_channels: number of features, `q`.
        hidden_channels: accepted so that models can be exchanged; not used.
        out_channels: number of classes, `C`.
        layers: power of the adjacency, `K`.
        dropout: share of the features zeroed while training; the paper has none.
        bias: whether there is a `b`.

    Shapes:
        features `[N, q]`, dense or sparse, and links among `N` nodes to logits `[N, C]`.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        layers: int = 2,
        dropout: float = 0.0,
        bias: bool = True,
    ) -> None:
        super().__init__()
        check_channels(in_channels, hidden_channels, out_channels)
        self.layers = check_count("layers", layers)
        self.dropout = check_probability(dropout)
        self.linear = Linear(in_channels, out_channels, bias=False)
        self.bias = nn.Parameter(torch.zeros(out_channels)) if bias else None

    def reset_parameters(self) -> None:
        """Draw `W` anew and set `b` to 0."""
        super().reset_parameters()
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def coefficients(self) -> Tensor:
        """The weight of each power of the adjacency, `[K + 1]`: all on the last."""
        return torch.eye(self.layers + 1, dtype=self.dtype, device=self.device)[-1]

    def logits(self, x: Features, operator: SparseOperator) -> Tensor:
        """Return logits `[N, C]`."""
        logits: Tensor = self.linear(drop_features(x, self.dropout, self.training))  # [N, C]
        for _ in range(self.layers):
            logits = operator @ logits
        return logits if self.bias is None else logits + self.bias
