"""Beyond the paper on the same engine: free terms for every power of every operator, and several such blocks.

| model | logits |
| --- | --- |
| `MultiGPCN` | `X_T V_0 + Σ_o Σ_k O_o^k X_T V_{o,k}`, every `V` free |
| `MultiGPCNLink` | `μ (…) + (1 - μ) Σ_l O_l W_A,l V_l`, a vector `W_A,l[j]` per node and operator |
| with `blocks=B` | before that `B - 1` times `Z ← Z + ReLU(Poly(Norm(Z))) W`, `Poly` as above at width `h` |
| with `degrees` | the first `Z` is `X_T + log(1 + D) W_D`, `D` the degrees in each direction |
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gpcn.nn.argument_checks import check_choice, check_count, check_num_nodes, check_share
from gpcn.nn.bank_model import BankModel, BoundOperators, PolynomialTerms
from gpcn.nn.base import Features
from gpcn.nn.engine import polynomial
from gpcn.nn.engine.bank import Bank, OperatorSpec
from gpcn.nn.engine.dropout import dropout as drop
from gpcn.nn.engine.dropout import relu_dropout_
from gpcn.nn.engine.polynomial import Operators, Order
from gpcn.nn.engine.randomness import uniform_, uniform_per_node_
from gpcn.nn.layers import NORMS, FeatureLayers, Linear, Norm


class Terms(nn.Module):
    """`V` of all powers, transposed, `[1 + Σ L_o, C, h]`, and one bias for their sum."""

    def __init__(self, count: int, in_channels: int, out_channels: int, bias: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(count, out_channels, in_channels))
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Uniform in ±1/√h, like a linear layer of each power."""
        bound = 1 / math.sqrt(self.weight.shape[2])
        uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            uniform_(self.bias, -bound, bound)

    def biases(self) -> Tensor | None:
        """`[1 + Σ L_o, C]`: of power 0 alone."""
        return None if self.bias is None else F.pad(self.bias.unsqueeze(0), (0, 0, 0, len(self.weight) - 1))

    def forward(self, x: Tensor, operators: Operators, depths: tuple[int, ...]) -> Tensor:
        """`x V_0 + Σ_o Σ_k O_o^k x V_{o,k} + b`."""
        return polynomial.collapsed_polynomial(operators, depths, x, self.weight, self.biases())


class PolynomialBlock(nn.Module):
    """`Z + dropout(dropout(ReLU(Poly(Norm(Z)))) W)` at width `h`."""

    def __init__(self, count: int, channels: int, norm: Norm, dropout: float, bias: bool) -> None:
        super().__init__()
        self.norm = NORMS[norm](channels)
        self.terms = Terms(count, channels, channels, bias)
        self.mixing = Linear(channels, channels, bias)
        self.dropout = dropout

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        for module in (self.norm, self.terms, self.mixing):
            if hasattr(module, "reset_parameters"):
                module.reset_parameters()  # type: ignore[operator]

    def forward(self, z: Tensor, operators: Operators, depths: tuple[int, ...]) -> Tensor:
        """`[N, h]` to `[N, h]`."""
        spread = self.terms(self.norm(z), operators, depths)
        active = relu_dropout_(spread, self.dropout, self.training)
        return z + drop(self.mixing(active), self.dropout, self.training)


class MultiGPCN(BankModel):
    """A polynomial of each operator of a bank with free terms, after `blocks - 1` blocks of the same kind.

    Args:
        in_channels: number of features, `q`.
        hidden_channels: width, `h`.
        out_channels: number of classes, `C`.
        layers: highest power of every operator that does not say less, `L`.
        mlp_layers: ReLU layers on the features, `T`.
        operators: the bank (`nn.engine.bank`).
        link_operators: what the term from links reads.
        blocks: `B`; 1 is linear after `X_T`, and only then is a logit a sum over hops.
        norm: between blocks: `layer`, `batch` or `none`.
        dropout: share of entries zeroed while training, in the features (with one block), in `X_T` and in every block.
        bias: whether layers have biases.
        order: `auto` picks the cheaper evaluation; `collapsed` and `recursive` force one.
        num_nodes: size of the graph; needed where there is a term from links.
        mu: share of the polynomial against links. All terms are free, so it changes no function; it sets how fast links
            are learned, which are quick to learn training nodes by heart.
        degrees: whether the first of several blocks also reads `log(1 + degree)` in each direction of the bank. Sums
            over neighbours (`raw`) tell degrees too, but through several blocks they explode at hubs.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        layers: int = 2,
        mlp_layers: int = 1,
        operators: str | Bank = "rich",
        link_operators: str | Bank = "links",
        blocks: int = 1,
        norm: Norm = "batch",
        dropout: float = 0.0,
        bias: bool = True,
        order: Order = "auto",
        num_nodes: int | None = None,
        mu: float = 0.8,
        degrees: bool = False,
    ) -> None:
        check_share("mu", mu)
        check_count("blocks", blocks)
        check_choice("norm", norm, *NORMS)
        front = dropout if blocks == 1 else 0.0  # a few columns dropped of few starve all blocks
        features = FeatureLayers(in_channels, hidden_channels, mlp_layers, front, dropout, bias)
        super().__init__(features, layers, operators, link_operators, order)
        self.blocks, self.mu, count = blocks, mu if self.links else 1.0, 1 + sum(self.depths)
        self.inner = nn.ModuleList(
            PolynomialBlock(count, hidden_channels, norm, dropout, bias) for _ in range(blocks - 1)
        )
        self.degree_terms: nn.Parameter | None = None
        if degrees and blocks > 1:
            directions = dict.fromkeys(operator.direction for operator in self.bank)
            self.degree_bank = tuple(OperatorSpec(direction, "none", self_loops=False) for direction in directions)
            self.degree_terms = nn.Parameter(torch.empty(len(self.degree_bank), hidden_channels))
            self._reset_degrees()
        self.last_norm = NORMS[norm](hidden_channels) if blocks > 1 else nn.Identity()
        self.terms = Terms(count, hidden_channels, out_channels, bias)
        self.link: nn.Parameter | None = None
        if self.links:
            nodes = check_num_nodes(type(self).__name__, num_nodes)
            self.link = nn.Parameter(torch.empty(nodes, len(self.link_bank), hidden_channels))
            self.link_terms = nn.Parameter(torch.empty(len(self.link_bank), hidden_channels, out_channels))
            self._reset_links()

    def _reset_links(self) -> None:
        if self.link is not None:
            uniform_per_node_(self.link)  # as the family's `W_A` and `W_out`
            bound = 1 / math.sqrt(max(1, self.link_terms.shape[1]))
            uniform_(self.link_terms, -bound, bound)

    def _reset_degrees(self) -> None:
        if self.degree_terms is not None:
            bound = 1 / math.sqrt(self.degree_terms.shape[1])  # at first small against `X_T`
            uniform_(self.degree_terms, -bound, bound)

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        super().reset_parameters()
        self._reset_degrees()
        self._reset_links()

    @property
    def num_classes(self) -> int:
        """`C`."""
        return self.terms.weight.shape[1]

    def hidden(self, x: Features, bound: BoundOperators) -> Tensor:
        """Return `[N, h]`, which the last polynomial is applied to."""
        hidden: Tensor = self.features(x)
        if self.degree_terms is not None and bound.degrees is not None:
            hidden = torch.addmm(hidden, bound.degrees, self.degree_terms)
        for block in self.inner:
            hidden = block(hidden, bound.operators, self.depths)
        result: Tensor = self.last_norm(hidden)
        return result

    def polynomial_terms(self, rows: Tensor | None = None) -> PolynomialTerms:
        """Return the terms as they are."""
        links: tuple[Tensor, ...] = ()
        if self.link is not None:
            vectors_of_all = self.link if rows is None else self.link[rows]
            pairs = zip(vectors_of_all.unbind(1), self.link_terms, strict=True)
            links = tuple((1 - self.mu) * (vectors @ terms) for vectors, terms in pairs)
        terms = self.terms.weight if self.link is None else self.mu * self.terms.weight
        return PolynomialTerms(terms, self.terms.biases(), links)

    def _recursive(self, bound: BoundOperators, hidden: Tensor) -> Tensor:
        powers = polynomial.bank_powers(bound.operators, self.depths, hidden)  # [N, 1 + Σ L_o, h]
        terms = self.polynomial_terms(bound.rows)
        total = F.linear(powers.flatten(1), terms.weight.transpose(0, 1).flatten(1), self.terms.bias)
        for operator, link in zip(bound.links, terms.links, strict=True):
            total = total + operator @ link
        return total


class MultiGPCNLink(MultiGPCN):
    """`MultiGPCN` and direct learning from links, by default of the raw links either way.

    The product `W_A V` (`[N, h]` and `[h, C]`) instead of one `[N, C]` changes no function, but what training finds: on
    chameleon and squirrel validation prefers it.
    """

    links = True
