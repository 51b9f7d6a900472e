"""H2GCN: a node apart from its neighbours, near neighbours apart from farther ones, every round kept."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import scipy.sparse as sp
import torch
from torch import Tensor

from gpcn.core.errors import ConfigError
from gpcn.nn.argument_checks import check_channels, check_count
from gpcn.nn.base import Features, NodeClassifier, as_features
from gpcn.nn.engine.adjacency import Adjacency, AdjacencyLike
from gpcn.nn.engine.dropout import check_probability
from gpcn.nn.engine.dropout import dropout as drop
from gpcn.nn.engine.operator import SparseOperator
from gpcn.nn.layers import FeatureLayers, Linear


class H2GCN(NodeClassifier):
    """H2GCN of Zhu et al., *Beyond Homophily in Graph Neural Networks: Current Limitations and Effective Designs*
    (NeurIPS 2020, https://arxiv.org/abs/2006.11468).

        R_0 = ReLU(X W_0 + b_0)
        R_k = [Ā_1 R_{k-1}, Ā_2 R_{k-1}],  k = 1..K
        logits = [R_0, R_1, .., R_K] W_out + b_out

    brackets meaning side by side. `A_1` are the links without self-loops, `A_2` links each node to those exactly two
    steps away, with weight 1; each is normalized alone, `Ā_i = D_i^-1/2 A_i D_i^-1/2` with `D_i` the row sums of
    `A_i`. A node without neighbours gets zeros.

    The rounds are linear. Where no dropout stands between them and `W_out`, `R_0` meets its blocks of `W_out` first
    and all sparse products have width `C` instead of `h`; the function is the same. `A_2` can be large: on graphs
    with hubs it approaches `N²` entries.

    Args:
        in_channels: number of features, `q`.
        hidden_channels: width, `h`; the last layer sees `(2^{K+1} - 1) h`.
        out_channels: number of classes, `C`.
        layers: rounds, `K`.
        dropout: share of entries zeroed while training in the input of the last layer, as the paper has it.
        bias: whether first and last layer have biases.

    Shapes:
        features `[N, q]`, dense or sparse, and links among `N` nodes to logits `[N, C]`. Links cannot be given as
        one `SparseOperator`, for the model needs two.
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
        self.layers, self.dropout = check_count("layers", layers), check_probability(dropout)
        self.features = FeatureLayers(in_channels, hidden_channels, 1, bias=bias)
        self.out = Linear((2 ** (layers + 1) - 1) * hidden_channels, out_channels, bias)

    def forward(self, x: Features, adjacency: AdjacencyLike, edge_weight: Tensor | None = None) -> Tensor:
        """Logits `[N, C]`."""
        if isinstance(adjacency, SparseOperator):
            raise ConfigError("H2GCN needs neighbours at one and at two steps; pass the links, not a SparseOperator")
        x = as_features(x)
        links = links_without_loops(Adjacency.of(adjacency, edge_weight, x.shape[0]))
        near = self.operator(links, None, x.shape[0], self_loops=False)
        far = self.operator(links, None, x.shape[0], self_loops=False, hops=2)
        ego: Tensor = self.features(x)  # [N, h]
        if self.training and self.dropout > 0:
            return self._rounds(near, far, ego)
        return self._collapsed(near, far, ego)

    def _rounds(self, near: SparseOperator, far: SparseOperator, ego: Tensor) -> Tensor:
        rounds = [ego]
        for _ in range(self.layers):
            rounds.append(torch.cat([near @ rounds[-1], far @ rounds[-1]], dim=1))
        result: Tensor = self.out(drop(torch.cat(rounds, dim=1), self.dropout, self.training))
        return result

    def _collapsed(self, near: SparseOperator, far: SparseOperator, ego: Tensor) -> Tensor:
        """Horner's rule with two operators: from the last round to the first, pairs of blocks become one."""
        nodes, (width, classes) = len(ego), (ego.shape[1], self.out.weight.shape[1])
        blocks = self.out.weight.reshape(-1, width, classes).transpose(0, 1)  # [h, 2^{K+1} - 1, C]
        mixed = (ego @ blocks.flatten(1)).reshape(nodes, -1, classes)  # one for each word of 1s and 2s, by length
        total = mixed[:, 2**self.layers - 1 :]  # [N, 2^K, C]
        for k in reversed(range(self.layers)):
            earlier = mixed[:, 2**k - 1 : 2 ** (k + 1) - 1]  # [N, 2^k, C]
            pairs = total.reshape(nodes, -1, 2, classes)
            spread = near @ pairs[:, :, 0].reshape(nodes, -1) + far @ pairs[:, :, 1].reshape(nodes, -1)
            total = earlier + spread.reshape(nodes, -1, classes)
        logits = total.squeeze(1)  # [N, C]
        return logits if self.out.bias is None else logits + self.out.bias


def links_without_loops(links: Adjacency) -> Adjacency:
    """The same links without those from a node to itself, computed once."""
    if not links.matrix.diagonal().any():
        return links
    if links not in _without_loops:
        plain = links.matrix - sp.diags_array(links.matrix.diagonal())
        _without_loops[links] = Adjacency(plain, direction=links.direction)
        _without_loops[links].matrix.eliminate_zeros()
    loopless: Adjacency = _without_loops[links]
    return loopless


_without_loops: Any = WeakKeyDictionary()
