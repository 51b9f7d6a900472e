"""The common part of the GPCN family: feature layers, a polynomial of the adjacency, a term from links."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, TypeAlias, cast

import torch
from torch import Tensor, nn

from gpcn.core.errors import ConfigError
from gpcn.nn.argument_checks import check_choice, check_num_nodes
from gpcn.nn.bank_model import BankModel, BoundOperators, PolynomialTerms
from gpcn.nn.engine import polynomial
from gpcn.nn.engine.bank import PAPER, Bank
from gpcn.nn.engine.dropout import dropout as drop
from gpcn.nn.engine.operator import SparseOperator
from gpcn.nn.engine.polynomial import Operators, Order
from gpcn.nn.engine.randomness import uniform_per_node_
from gpcn.nn.layers import FeatureLayers, Linear

Steps: TypeAlias = Sequence[tuple[float | Tensor, nn.Module]]


class PolynomialModel(BankModel):
    """Feature layers, a polynomial of the adjacency, perhaps a term learned from links.

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
        operators: what a node reads (`nn.engine.bank`): `paper` for the paper's one operator; with several, each has
            residual weights of its own and the polynomials are added, `c_0 X_T + Σ_o Σ_k c_{o,k} O_o^k X_T W_o^k`.
        link_operators: what the term from links reads; `same` as `operators`.
        num_nodes: size of the graph; the models that learn from links need it.
        mu: initial share of convolution against links.
        learn_mu: whether it is learned; fixed otherwise.
    """

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
        operators: str | Bank = PAPER,
        link_operators: str | Bank = "same",
        num_nodes: int | None = None,
        mu: float = 0.5,
        learn_mu: bool = True,
    ) -> None:
        check_choice("dropout_mode", dropout_mode, "collapsible", "residual")
        last_dropout = None if dropout_mode == "collapsible" else 0.0
        features = FeatureLayers(in_channels, hidden_channels, mlp_layers, dropout, last_dropout, bias)
        super().__init__(features, layers, operators, link_operators, order)
        self.dropout, self.dropout_mode = dropout, dropout_mode
        if len(self.bank) > 1 and dropout_mode == "residual":
            raise ConfigError("dropout inside the residual layers needs a single operator; use collapsible dropout")
        residual = [self._residual_layers(hidden_channels, bias, depth) for depth in self.depths]
        self.residual = residual[0] if len(residual) == 1 else nn.ModuleList(residual)
        self.out = Linear(hidden_channels, out_channels, bias)
        self.link: nn.Parameter | None = None
        if self.links:
            self._add_links(num_nodes, hidden_channels, mu, learn_mu)

    def _residual_layers(self, hidden: int, bias: bool, depth: int) -> nn.Module:
        return Linear(hidden, hidden, bias)

    def _residual_of(self, index: int) -> nn.Module:
        """The residual layers of one operator."""
        return self.residual if len(self.bank) == 1 else cast(nn.ModuleList, self.residual)[index]

    def _add_links(self, num_nodes: int | None, hidden: int, mu: float, learn_mu: bool) -> None:
        nodes = check_num_nodes(type(self).__name__, num_nodes)
        if not 0 <= mu <= 1 or (learn_mu and mu in (0, 1)):
            raise ConfigError(
                f"mu is {mu}; expected a share from 0 to 1, and strictly between them where it is learned"
            )
        several = (len(self.link_bank),) if len(self.link_bank) > 1 else ()
        self.link = nn.Parameter(torch.empty(nodes, *several, hidden))
        self.initial_mu, self.learn_mu = mu, learn_mu
        self.mu_logit = nn.Parameter(torch.empty(())) if learn_mu else None
        self._reset_links()

    def _reset_links(self) -> None:
        if self.link is None:
            return
        uniform_per_node_(self.link)
        if self.mu_logit is not None:
            nn.init.constant_(self.mu_logit, math.log(self.initial_mu / (1 - self.initial_mu)))

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        super().reset_parameters()
        self._reset_links()

    def polynomial_coefficients(self) -> Tensor:
        """`c_0`, then `c_1..c_L` of each operator, as the evaluation uses them."""
        raise NotImplementedError

    def _coefficients_of(self, index: int) -> Tensor:
        """`c_0..c_L` of one operator."""
        coefficients = self.polynomial_coefficients()
        if len(self.bank) == 1:
            return coefficients
        start = 1 + sum(self.depths[:index])
        return torch.cat([coefficients[:1], coefficients[start : start + self.depths[index]]])

    def _starting_coefficients(self, gamma: float) -> Tensor:
        """Return `binom(L, k) γ^k` of each operator, behind one `c_0 = 1`."""
        return behind_one([polynomial.binomial_coefficients(depth, gamma) for depth in self.depths])

    def coefficients(self) -> Tensor:
        """The weight of each power, `[1 + Σ L_o]`: of `X_T`, of its neighbours, and so on, operator by operator."""
        return self.polynomial_coefficients().detach()

    def share(self) -> Tensor | float:
        """`μ`, for the evaluation."""
        if self.link is None:
            return 1.0
        return self.initial_mu if self.mu_logit is None else torch.sigmoid(self.mu_logit)

    def mix(self) -> float | None:
        """`μ`: 1 is all convolution, 0 all links."""
        return None if self.link is None else float(torch.as_tensor(self.share()).detach())

    @property
    def num_classes(self) -> int:
        """`C`."""
        return self.out.weight.shape[1]

    def order_for(self, operators: Operators, nodes: int, width: int) -> Order:
        """Return the cheaper order; dropout inside the residual layers cannot be collapsed."""
        if self.training and self.dropout > 0 and self.dropout_mode == "residual":
            if self.order == "collapsed":
                raise ConfigError("dropout inside the residual layers cannot be collapsed; use order auto or recursive")
            return "recursive"
        return super().order_for(operators, nodes, width)

    def _terms(self, index: int) -> tuple[Tensor, Tensor | None]:
        """`Vᵀ` `[L + 1, C, h]` and `b` `[L + 1, C]` of one operator."""
        layer = self._residual_of(index)
        weight, bias = cast(Tensor, layer.weight), cast("Tensor | None", layer.bias)
        return polynomial.shared_terms(self._coefficients_of(index), weight, self.out.weight, bias, self.depths[index])

    def polynomial_terms(self, rows: Tensor | None = None) -> PolynomialTerms:
        """Return the terms that are added up after `X_T`: convolution at its share `μ`, links at theirs."""
        terms, bias = self._terms(0)
        if len(self.bank) > 1:
            others = [self._terms(index) for index in range(1, len(self.bank))]
            terms = torch.cat([terms, *(more[1:] for more, _ in others)])
            bias = None if bias is None else torch.cat([bias, *(cast(Tensor, more)[1:] for _, more in others)])
        links: tuple[Tensor, ...] = ()
        if self.link is not None:
            share = self.share()
            terms, bias = terms * share, None if bias is None else bias * share
            links = tuple((vectors @ self.out.weight) * (1 - share) for vectors in self._link_vectors(rows))
        if self.out.bias is not None:
            last = torch.nn.functional.pad(self.out.bias.unsqueeze(0), (0, 0, 0, len(terms) - 1))
            bias = last if bias is None else bias + last
        return PolynomialTerms(terms, bias, links)

    def _link_vectors(self, rows: Tensor | None = None) -> tuple[Tensor, ...]:
        """`W_A` `[N, h]` of each operator of the link term; on a subgraph these `rows` of it."""
        link = cast(Tensor, self.link)
        link = link if rows is None else link[rows]
        return (link,) if link.dim() == 2 else link.unbind(1)

    def _recursive(self, bound: BoundOperators, hidden: Tensor) -> Tensor:
        operators = bound.operators
        total = self._convolve(operators[0], hidden, 0)
        if len(operators) > 1:  # X_T itself counts once
            power_zero = self.polynomial_coefficients()[0] * hidden
            for index, operator in enumerate(operators[1:], start=1):
                total = total + (self._convolve(operator, hidden, index) - power_zero)
        if self.link is not None:
            share = self.share()
            pairs = zip(bound.links, self._link_vectors(bound.rows), strict=True)
            linked = [operator @ vectors for operator, vectors in pairs]
            total = share * total + (1 - share) * sum(linked[1:], start=linked[0])
        result: Tensor = self.out(self._drop(total))
        return result

    def _drop(self, hidden: Tensor) -> Tensor:
        return drop(hidden, self.dropout, self.training) if self.dropout_mode == "residual" else hidden

    def _steps(self, index: int) -> Steps | None:
        """Return scale and layer of each residual step of one operator; `None` where powers have free weights."""
        return None

    def _convolve(self, operator: SparseOperator, hidden: Tensor, index: int) -> Tensor:
        """Return the polynomial of one operator at full width: `X ← X + s O (X W + b)`, or power by power."""
        steps = self._steps(index)
        if steps is None:
            return self._weighted_powers(operator, hidden, index)
        for scale, layer in steps:
            hidden = self._drop(hidden)
            hidden = hidden + scale * (operator @ layer(hidden))
        return hidden

    def _weighted_powers(self, operator: SparseOperator, hidden: Tensor, index: int) -> Tensor:
        """`c_0 X + Σ_k c_k O^k (X W + b) W^{k-1}`, power by power at full width."""
        coefficients, layer = self._coefficients_of(index), self._residual_of(index)
        current = self._drop(hidden)
        total = coefficients[0] * current
        current = operator @ layer(current)
        for k in range(1, self.depths[index] + 1):
            total = total + coefficients[k] * current
            if k < self.depths[index]:
                current = operator @ (self._drop(current) @ cast(Tensor, layer.weight))
        return total


def behind_one(parts: Sequence[Tensor]) -> Tensor:
    """Return `c_0..c_L` of several operators as one vector; the `c_0` of the first stands for all."""
    return parts[0] if len(parts) == 1 else torch.cat([parts[0], *(part[1:] for part in parts[1:])])
