"""Linear layers that take sparse features, and the ReLU layers in front of every model of the family."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Literal

import torch
from torch import Tensor, nn

from gpcn.nn.argument_checks import check_count
from gpcn.nn.base import Features
from gpcn.nn.engine.dropout import check_probability, dropout, dropout_sparse, relu_dropout_
from gpcn.nn.engine.operator import SparseOperator
from gpcn.nn.engine.randomness import uniform_, uniform_per_node_, whole_graph_size

Norm = Literal["layer", "batch", "none"]
NORMS: dict[str, type[nn.Module]] = {"layer": nn.LayerNorm, "batch": nn.BatchNorm1d, "none": nn.Identity}


class Linear(nn.Module):
    """`x W + b` with `W` `[in_channels, out_channels]`, as the formulas have it; `x` may be sparse.

    `per_node` says that the inputs are the nodes of a graph, of which a model may be built for a part.
    """

    def __init__(self, in_channels: int, out_channels: int, bias: bool = True, *, per_node: bool = False) -> None:
        super().__init__()
        self.per_node = per_node
        self.weight = nn.Parameter(torch.empty(in_channels, out_channels))
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Uniform in ±1/√in_channels, like `torch.nn.Linear`."""
        inputs = whole_graph_size(self.weight.shape[0]) if self.per_node else self.weight.shape[0]
        bound = 1 / math.sqrt(max(1, inputs))
        if self.per_node:
            uniform_per_node_(self.weight)
        else:
            uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            uniform_(self.bias, -bound, bound)

    def forward(self, x: Features, rows: Tensor | None = None) -> Tensor:
        """`[N, in_channels]` to `[N, out_channels]`; with `rows`, `x` has a column for each of these rows of `W`."""
        weight = self.weight if rows is None else self.weight[rows]
        if isinstance(x, SparseOperator):
            product = x @ weight
            return product if self.bias is None else product.add_(self.bias)
        return x @ weight if self.bias is None else torch.addmm(self.bias, x, weight)

    def extra_repr(self) -> str:
        """The sizes, for `print(model)`."""
        return f"{self.weight.shape[0]}, {self.weight.shape[1]}, bias={self.bias is not None}"


class FeatureLayers(nn.Module):
    """`T` times ReLU(x W_i + b_i), with dropout before, between and after: `X_T` of the paper.

    Args:
        in_channels: `q`.
        hidden_channels: `h`.
        num_layers: `T`, at least 1.
        dropout: share of entries zeroed in the features, between the layers and in the result.
        last_dropout: share zeroed in the result, where it is to be different.
        bias: whether layers have one.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_layers: int,
        dropout: float = 0.0,
        last_dropout: float | None = None,
        bias: bool = True,
    ) -> None:
        super().__init__()
        check_count("mlp_layers", num_layers)
        self.dropout = check_probability(dropout)
        self.last_dropout = self.dropout if last_dropout is None else check_probability(last_dropout)
        sizes = [in_channels, *[hidden_channels] * num_layers]
        self.layers = nn.ModuleList(Linear(a, b, bias) for a, b in pairwise(sizes))

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        for layer in self.layers:
            layer.reset_parameters()  # type: ignore[operator]

    def forward(self, x: Features) -> Tensor:
        """`[N, q]` to `[N, h]`."""
        hidden = drop_features(x, self.dropout, self.training)
        for layer in self.layers[:-1]:
            hidden = relu_dropout_(layer(hidden), self.dropout, self.training)
        return relu_dropout_(self.layers[-1](hidden), self.last_dropout, self.training)


def drop_features(x: Features, p: float, training: bool) -> Features:
    """Dropout on features, dense or sparse."""
    return dropout_sparse(x, p, training) if isinstance(x, SparseOperator) else dropout(x, p, training)
