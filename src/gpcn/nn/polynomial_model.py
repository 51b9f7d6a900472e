"""What the models of the GPCN family share: feature layers, a polynomial of the adjacency, a term from links."""

from __future__ import annotations

import math
from typing import Literal, cast

import torch
from torch import Tensor, nn

from gpcn.errors import ConfigError
from gpcn.nn import polynomial
from gpcn.nn.adjacency import AdjacencyLike
from gpcn.nn.base import Features, NodeClassifier, as_features
from gpcn.nn.dropout import dropout as drop
from gpcn.nn.layers import FeatureLayers, Linear
from gpcn.nn.operator import SparseOperator
from gpcn.nn.polynomial import Order


class PolynomialModel(NodeClassifier):
    """What the family shares: feature layers, a polynomial of the adjacency, perhaps a term learned from links.

    Args:
        in_channels: number of features, `q`.
        hidden_channels: width, `h`.
        out_channels: number of classes, `C`.
        layers: highest power of the adjacency, `L`.
        mlp_layers: ReLU layers on the features, `T`.
        dropout: share of entries zeroed while training.
        dropout_mode: `collapsible` zeroes features, between the ReLU layers and in `X_T`, which leaves the order of
            evaluation free; `residual` zeroes the input of every residual layer and the last result instead of
            `X_T`, as the published code does, and is evaluated layer by layer.
        bias: whether layers have biases, as the published code has; the paper's formulas have none.
        order: `auto` picks the cheaper evaluation; `collapsed` and `recursive` force one.
        num_nodes: size of the graph; the models that learn from links need it.
        mu: initial share of convolution against links.
        learn_mu: whether it is learned; fixed otherwise.
    """

    links = False

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        layers: int = 2,
        mlp_layers: int = 1,
        dropout: float = 0.0,
        dropout_mode: Literal["collapsible", "residual"] = "collapsible",
        bias: bool = False,
        order: Order = "auto",
        num_nodes: int | None = None,
        mu: float = 0.5,
        learn_mu: bool = True,
    ) -> None:
        super().__init__()
        if layers < 1:
            raise ConfigError(f"layers is {layers}; expected at least 1")
        if dropout_mode not in ("collapsible", "residual"):
            raise ConfigError(f"dropout_mode is {dropout_mode!r}; expected collapsible or residual")
        self.layers, self.dropout, self.dropout_mode = layers, dropout, dropout_mode
        self.order = polynomial.check_order(order)
        self.features = FeatureLayers(
            in_channels, hidden_channels, mlp_layers, dropout, None if dropout_mode == "collapsible" else 0.0, bias
        )
        self.residual = self._residual_layers(hidden_channels, bias)
        self.out = Linear(hidden_channels, out_channels, bias)
        self.link: nn.Parameter | None = None
        if self.links:
            self._add_links(num_nodes, hidden_channels, mu, learn_mu)

    def _residual_layers(self, hidden: int, bias: bool) -> nn.Module:
        return Linear(hidden, hidden, bias)

    def _add_links(self, num_nodes: int | None, hidden: int, mu: float, learn_mu: bool) -> None:
        if num_nodes is None:
            raise ConfigError(f"{type(self).__name__} learns a vector per node; pass num_nodes")
        if not 0 <= mu <= 1 or (learn_mu and mu in (0, 1)):
            raise ConfigError(
                f"mu is {mu}; expected a share from 0 to 1, and strictly between them where it is learned"
            )
        self.link = nn.Parameter(torch.empty(num_nodes, hidden))
        self.initial_mu, self.learn_mu = mu, learn_mu
        self.mu_logit = nn.Parameter(torch.empty(())) if learn_mu else None
        self._reset_links()

    def _reset_links(self) -> None:
        if self.link is None:
            return
        bound = 1 / math.sqrt(self.link.shape[0])
        nn.init.uniform_(self.link, -bound, bound)
        if self.mu_logit is not None:
            nn.init.constant_(self.mu_logit, math.log(self.initial_mu / (1 - self.initial_mu)))

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        super().reset_parameters()
        self._reset_links()

    def polynomial_coefficients(self) -> Tensor:
        """`c_0..c_L`, as the evaluation uses them."""
        raise NotImplementedError

    def coefficients(self) -> Tensor:
        """The weight of each power of the adjacency, `[L + 1]`; of `X_T`, of its neighbours, and so on."""
        return self.polynomial_coefficients().detach()

    def share(self) -> Tensor | float:
        """`μ`, for the evaluation."""
        if self.link is None:
            return 1.0
        return self.initial_mu if self.mu_logit is None else torch.sigmoid(self.mu_logit)

    def mix(self) -> float | None:
        """`μ`: 1 is all convolution, 0 all links."""
        return None if self.link is None else float(torch.as_tensor(self.share()).detach())

    def forward(self, x: Features, adjacency: AdjacencyLike, edge_weight: Tensor | None = None) -> Tensor:
        """Logits `[N, C]`."""
        x = as_features(x)
        operator = self.operator(adjacency, edge_weight, x.shape[0])
        hidden = self.features(x)  # [N, h]
        order = self._order(operator, hidden)
        return self._collapsed(operator, hidden) if order == "collapsed" else self._recursive(operator, hidden)

    def _order(self, operator: SparseOperator, hidden: Tensor) -> Order:
        if self.training and self.dropout > 0 and self.dropout_mode == "residual":
            if self.order == "collapsed":
                raise ConfigError("dropout inside the residual layers cannot be collapsed; use order auto or recursive")
            return "recursive"
        if self.order != "auto":
            return self.order
        classes = self.out.weight.shape[1]
        return polynomial.choose_order(hidden.shape[0], operator.nnz, hidden.shape[1], classes, self.layers)

    def _terms(self) -> tuple[Tensor, Tensor | None]:
        weight, bias = cast(Tensor, self.residual.weight), cast("Tensor | None", self.residual.bias)
        return polynomial.shared_terms(self.polynomial_coefficients(), weight, self.out.weight, bias, self.layers)

    def pieces(self) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """What is added up after `X_T`, `Σ_k Ā^k (X_T V_k + 1 b_k) + Ā U`: `Vᵀ` `[L + 1, C, h]`; `b` `[L + 1, C]` and
        `U` `[N, C]`, from links, where there are any.
        """
        terms, bias = self._terms()
        link = None
        if self.link is not None:
            share = self.share()
            terms, bias = terms * share, None if bias is None else bias * share
            link = (self.link @ self.out.weight) * (1 - share)
        if self.out.bias is not None:
            last = torch.nn.functional.pad(self.out.bias.unsqueeze(0), (0, 0, 0, len(terms) - 1))
            bias = last if bias is None else bias + last
        return terms, bias, link

    def _collapsed(self, operator: SparseOperator, hidden: Tensor) -> Tensor:
        return polynomial.collapsed(operator, hidden, *self.pieces())

    def _recursive(self, operator: SparseOperator, hidden: Tensor) -> Tensor:
        hidden = self._convolve(operator, hidden)
        if self.link is not None:
            share = self.share()
            hidden = share * hidden + (1 - share) * (operator @ self.link)
        result: Tensor = self.out(self._drop(hidden))
        return result

    def _drop(self, hidden: Tensor) -> Tensor:
        return drop(hidden, self.dropout, self.training) if self.dropout_mode == "residual" else hidden

    def _convolve(self, operator: SparseOperator, hidden: Tensor) -> Tensor:
        raise NotImplementedError

    def _weighted_powers(self, operator: SparseOperator, hidden: Tensor) -> Tensor:
        """`c_0 X + Σ_k c_k Ā^k (X W + b) W^{k-1}`, power by power at full width."""
        coefficients = self.polynomial_coefficients()
        current = self._drop(hidden)
        total = coefficients[0] * current
        current = operator @ self.residual(current)
        for k in range(1, self.layers + 1):
            total = total + coefficients[k] * current
            if k < self.layers:
                current = operator @ (self._drop(current) @ cast(Tensor, self.residual.weight))
        return total
