"""MixHop: several powers of the adjacency side by side in every layer."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from gpcn.core.errors import ConfigError
from gpcn.nn.argument_checks import check_channels, check_count
from gpcn.nn.base import Features, NodeClassifier
from gpcn.nn.baselines.gcn import GraphConvolution
from gpcn.nn.engine.dropout import check_probability, relu_dropout_
from gpcn.nn.engine.operator import SparseOperator
from gpcn.nn.layers import Linear, drop_features


class MixHopConvolution(GraphConvolution):
    """`[Ā^p X W_p for p in powers] + b`, side by side.

    All `X W_p` come from one product. The blocks then wait in line: each sparse product moves all blocks that still
    lack a power.

    Args:
        in_channels: width of `X`.
        out_channels: width of each block.
        powers: `p`, in rising order.
        bias: whether there is a `b`; it starts at 0.
    """

    def __init__(self, in_channels: int, out_channels: int, powers: Sequence[int], bias: bool = True) -> None:
        super().__init__(in_channels, len(powers) * out_channels, bias)
        self.powers, self.width = tuple(powers), out_channels

    def forward(self, x: Features, operator: SparseOperator) -> Tensor:
        """`[N, in_channels]` to `[N, len(powers) * out_channels]`."""
        waiting: Tensor = self.linear(x)
        done = []
        for before, power in pairwise((0, *self.powers)):
            for _ in range(power - before):
                waiting = operator @ waiting
            done.append(waiting[:, : self.width])
            waiting = waiting[:, self.width :]
        result = torch.cat(done, dim=1)
        return result if self.bias is None else result + self.bias


class MixHop(NodeClassifier):
    """MixHop of Abu-El-Haija et al., *MixHop: Higher-Order Graph Convolutional Architectures via Sparsified
    Neighborhood Mixing* (ICML 2019, https://arxiv.org/abs/1905.00067).

        X ← ReLU([Ā^p X W_{i,p} for p in P] + b_i),  i = 1..L,    logits = X W_out + b_out

    the blocks side by side, with `Ā = D̂^-1/2 (A + I) D̂^-1/2` and `D̂` the row sums of `A + I`.

    Args:
        in_channels: number of features, `q`.
        hidden_channels: width of each block, `h`; layers are `len(powers)` times as wide.
        out_channels: number of classes, `C`.
        layers: MixHop layers, `L`.
        powers: `P`, powers of the adjacency, in rising order.
        dropout: share of entries zeroed while training, in the features and after every layer.
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
        powers: Sequence[int] = (0, 1, 2),
        dropout: float = 0.0,
        bias: bool = True,
    ) -> None:
        super().__init__()
        check_channels(in_channels, hidden_channels, out_channels)
        check_count("layers", layers)
        if not powers or powers[0] < 0 or any(a >= b for a, b in pairwise(powers)):
            raise ConfigError(f"powers is {powers!r}; expected different numbers from 0 on, in rising order")
        self.dropout = check_probability(dropout)
        wide = len(powers) * hidden_channels
        sizes = [in_channels, *[wide] * (layers - 1)]
        self.convolutions = nn.ModuleList(MixHopConvolution(size, hidden_channels, powers, bias) for size in sizes)
        self.out = Linear(wide, out_channels, bias)

    def logits(self, x: Features, operator: SparseOperator) -> Tensor:
        """Return logits `[N, C]`."""
        hidden = drop_features(x, self.dropout, self.training)
        for layer in self.convolutions:
            hidden = relu_dropout_(layer(hidden, operator), self.dropout, self.training)
        result: Tensor = self.out(hidden)
        return result
