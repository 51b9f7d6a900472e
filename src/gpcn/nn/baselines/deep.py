"""Deep residual graph networks: plain convolutions that keep up once they are normalized and residual."""

from __future__ import annotations

from torch import Tensor, nn

from gpcn.nn.argument_checks import check_channels, check_choice, check_count
from gpcn.nn.base import Features, NodeClassifier
from gpcn.nn.baselines.gcn import GraphConvolution
from gpcn.nn.engine.dropout import check_probability, relu_dropout_
from gpcn.nn.engine.dropout import dropout as drop
from gpcn.nn.engine.operator import SparseOperator
from gpcn.nn.layers import NORMS, Linear


class MeanConvolution(nn.Module):
    """`Z W + M Z W_M + b`, with `M = D^-1 A` the mean over neighbours: the layer of GraphSAGE.

    Args:
        in_channels: width of `Z`.
        out_channels: width of the result.
        bias: whether there is a `b`.
    """

    def __init__(self, in_channels: int, out_channels: int, bias: bool = True) -> None:
        super().__init__()
        self.own = Linear(in_channels, out_channels, bias=False)
        self.neighbours = Linear(in_channels, out_channels, bias)

    def forward(self, z: Tensor, operator: SparseOperator) -> Tensor:
        """`[N, in_channels]` to `[N, out_channels]`."""
        result: Tensor = self.own(z) + self.neighbours(operator @ z)
        return result


class DeepNetwork(NodeClassifier):
    """The common part of `DeepGCN` and `DeepSAGE`: everything but the aggregation."""

    aggregation: type[nn.Module]

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        layers: int = 4,
        norm: str = "layer",
        dropout: float = 0.0,
        bias: bool = True,
    ) -> None:
        super().__init__()
        check_channels(in_channels, hidden_channels, out_channels)
        check_count("layers", layers)
        check_choice("norm", norm, *NORMS)
        self.dropout = check_probability(dropout)
        self.input = Linear(in_channels, hidden_channels, bias)
        self.norms = nn.ModuleList(NORMS[norm](hidden_channels) for _ in range(layers))
        self.convolutions = nn.ModuleList(
            self.aggregation(hidden_channels, hidden_channels, bias) for _ in range(layers)
        )
        self.out = Linear(hidden_channels, out_channels, bias)

    def logits(self, x: Features, operator: SparseOperator) -> Tensor:
        """Return logits `[N, C]`."""
        hidden = drop(self.input(x), self.dropout, self.training)
        for norm, convolution in zip(self.norms, self.convolutions, strict=True):
            hidden = hidden + relu_dropout_(convolution(norm(hidden), operator), self.dropout, self.training)
        result: Tensor = self.out(hidden)
        return result


class DeepGCN(DeepNetwork):
    """A deep residual graph convolutional network, as Luo et al., *Classic GNNs are Strong Baselines: Reassessing GNNs
    for Node Classification* (NeurIPS 2024, https://arxiv.org/abs/2406.08993) tune it and Platonov et al., *A Critical
    Look at the Evaluation of GNNs under Heterophily* (ICLR 2023, https://arxiv.org/abs/2302.11640) build theirs:

        Z = X W_in + b_in
        Z ← Z + ReLU(Ā Norm(Z) W_i + b_i),  i = 1..L,    logits = Z W_out + b_out

    with `Ā = D̂^-1/2 (A + I) D̂^-1/2` and `D̂` the row sums of `A + I`.

    Args:
        in_channels: number of features, `q`.
        hidden_channels: width, `h`.
        out_channels: number of classes, `C`.
        layers: residual layers, `L`.
        norm: `layer` or `batch` normalization before every aggregation, or `none`.
        dropout: share of entries zeroed while training, after the first product and after every ReLU.
        bias: whether layers have biases.

    Shapes:
        features `[N, q]`, dense or sparse, and links among `N` nodes to logits `[N, C]`.
    """

    aggregation = GraphConvolution


class DeepSAGE(DeepNetwork):
    """`DeepGCN` with the aggregation of Hamilton et al., *Inductive Representation Learning on Large Graphs* (NeurIPS
    2017, https://arxiv.org/abs/1706.02216): a node and the mean of its neighbours have weights of their own.

        Z = X W_in + b_in
        Z ← Z + ReLU(Norm(Z) W_i + M Norm(Z) W'_i + b_i),  i = 1..L,    logits = Z W_out + b_out

    with `M = D^-1 A`; the mean of a node without neighbours is 0. On a directed graph neighbours are those that a node
    links to.

    Args:
        in_channels: number of features, `q`.
        hidden_channels: width, `h`.
        out_channels: number of classes, `C`.
        layers: residual layers, `L`.
        norm: `layer` or `batch` normalization before every aggregation, or `none`.
        dropout: share of entries zeroed while training, after the first product and after every ReLU.
        bias: whether layers have biases.

    Shapes:
        features `[N, q]`, dense or sparse, and links among `N` nodes to logits `[N, C]`.
    """

    aggregation = MeanConvolution
    normalization = "row"
    self_loops = False
