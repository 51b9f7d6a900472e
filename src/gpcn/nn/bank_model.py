"""Models that are linear after their feature layers: a polynomial per operator of a bank, terms learned from links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from gpcn.core.errors import ConfigError
from gpcn.nn.argument_checks import check_choice, check_count
from gpcn.nn.base import Features, NodeClassifier, as_features
from gpcn.nn.engine import bank as banks
from gpcn.nn.engine import polynomial
from gpcn.nn.engine.adjacency import Adjacency, AdjacencyLike
from gpcn.nn.engine.bank import Bank, OperatorSpec
from gpcn.nn.engine.node_ids import check_node_ids
from gpcn.nn.engine.operator import SparseOperator
from gpcn.nn.engine.polynomial import Operators, Order
from gpcn.nn.layers import FeatureLayers


@dataclass(frozen=True)
class PolynomialTerms:
    """Weights of the terms that are added up after `X_T`: `Σ O^k (X_T V + 1 b) + Σ_l O_l U_l`.

    Args:
        weight: `Vᵀ`, `[1 + Σ L_o, C, h]`: power 0, then powers `1..L_o` of each operator.
        bias: `b`, `[1 + Σ L_o, C]`, where there are biases.
        links: `U_l` `[N, C]` of each operator of the link term.
    """

    weight: Tensor
    bias: Tensor | None
    links: tuple[Tensor, ...] = ()


@dataclass(frozen=True)
class BoundOperators:
    """The operators by which one model reads the links of one graph.

    Args:
        operators: of the bank.
        links: of the link term; those of the bank are the same objects.
        degrees: `[N, d]`, logarithms of one more than the degree in each direction, for models that ask for them.
        rows: `[N]`, which of the model's vectors per node are meant, on a subgraph.
    """

    operators: Operators
    links: Operators
    degrees: Tensor | None = None
    rows: Tensor | None = None


class BankModel(NodeClassifier):
    """Feature layers, then a polynomial of each operator of a bank and perhaps a term learned from links.

    Args:
        features: from `x` to `X_T`.
        layers: highest power of every operator that does not say less, `L`.
        operators: the bank (`nn.engine.bank`), as text or parsed.
        link_operators: those of the link term; `same` for the bank's own.
        order: `auto` picks the cheaper evaluation; `collapsed` and `recursive` force one.
    """

    links = False
    link: nn.Parameter | None
    per_node_weights = ("link",)
    degree_bank: Bank = ()

    def __init__(
        self,
        features: FeatureLayers,
        layers: int,
        operators: str | Bank,
        link_operators: str | Bank,
        order: Order,
    ) -> None:
        super().__init__()
        self.layers = check_count("layers", layers)
        self.order: Order = check_choice("order", order, "auto", "collapsed", "recursive")
        self.bank = banks.parse(operators) if isinstance(operators, str) else operators
        self.depths = banks.operator_depths(self.bank, layers)
        if not self.links:
            self.link_bank: Bank = ()
        elif link_operators == "same":
            self.link_bank = self.bank
        else:
            self.link_bank = banks.parse(link_operators) if isinstance(link_operators, str) else link_operators
        self.features = features

    def polynomial_terms(self, rows: Tensor | None = None) -> PolynomialTerms:
        """Return what is added up after `X_T`; on a subgraph with the vectors per node of these `rows`."""
        raise NotImplementedError

    def part_names(self) -> list[str]:
        """Return the name of each power, in the order of the terms: by hop, and by operator where there are several."""
        return banks.part_names(self.bank, self.layers)

    def link_names(self) -> list[str]:
        """Return the name of each operator's link term."""
        if self.link_bank == (banks.PAPER_OPERATOR,):
            return ["links"]
        return [f"links {operator.title}" for operator in self.link_bank]

    def forward(
        self,
        x: Features,
        adjacency: AdjacencyLike,
        edge_weight: Tensor | None = None,
        edge_type: Tensor | None = None,
        node_ids: Tensor | None = None,
    ) -> Tensor:
        """Logits `[N, C]`; `edge_type` `[E]` beside an `edge_index` names the relations of operators `:0`, `:1`, ….

        On a subgraph, models with a vector per node need `node_ids` `[N]`: the number of each node in the whole graph.
        """
        x = as_features(x)
        rows = None if self.link is None else check_node_ids(type(self).__name__, len(self.link), x.shape[0], node_ids)
        bound = self.bind(adjacency, edge_weight, x.shape[0], edge_type)
        bound = bound if rows is None else replace(bound, rows=rows)
        hidden = self.hidden(x, bound)  # [N, h]
        if self.order_for(bound.operators, *hidden.shape) == "recursive":
            return self._recursive(bound, hidden)
        terms = self.polynomial_terms(bound.rows)
        links = list(zip(bound.links, terms.links, strict=True))
        return polynomial.collapsed_polynomial(bound.operators, self.depths, hidden, terms.weight, terms.bias, links)

    def hidden(self, x: Features, bound: BoundOperators) -> Tensor:
        """Return `X_T` `[N, h]`, which the polynomial is applied to."""
        result: Tensor = self.features(x)
        return result

    def bind(
        self,
        adjacency: AdjacencyLike,
        edge_weight: Tensor | None,
        num_nodes: int,
        edge_type: Tensor | None = None,
    ) -> BoundOperators:
        """Return the operators of this model on these links; equal ones are one object."""
        if isinstance(adjacency, SparseOperator):
            ways = len({*self.bank, *self.link_bank, *self.degree_bank})
            if ways > 1:
                raise ConfigError(
                    f"{type(self).__name__} reads links in {ways} ways; pass the links, not one SparseOperator"
                )
            operator = self.operator(adjacency, None, num_nodes)
            return BoundOperators((operator,), (operator,) * len(self.link_bank))
        if isinstance(adjacency, Tensor):
            adjacency = Adjacency.of(adjacency, edge_weight, num_nodes, edge_type)

        def of(spec: OperatorSpec) -> SparseOperator:
            return self.operator(
                adjacency,
                edge_weight,
                num_nodes,
                spec.normalization,
                self_loops=spec.self_loops,
                relation=spec.relation,
                **({} if spec.direction is None else {"direction": spec.direction}),
            )

        return BoundOperators(
            tuple(of(spec) for spec in self.bank),
            tuple(of(spec) for spec in self.link_bank),
            _log_degrees([of(spec) for spec in self.degree_bank]),
        )

    def order_for(self, operators: Operators, nodes: int, width: int) -> Order:
        """Return the order in which the polynomial of `X_T` `[nodes, width]` is evaluated."""
        if self.order != "auto":
            return self.order
        entries = [operator.nnz for operator in operators]
        return polynomial.choose_order(nodes, entries, width, self.num_classes, self.depths)

    @property
    def num_classes(self) -> int:
        """`C`."""
        raise NotImplementedError

    def _recursive(self, bound: BoundOperators, hidden: Tensor) -> Tensor:
        raise NotImplementedError


def _log_degrees(operators: Sequence[SparseOperator]) -> Tensor | None:
    if not operators:
        return None
    ones = torch.ones(operators[0].shape[1], 1, dtype=operators[0].dtype, device=operators[0].device)
    with torch.no_grad():
        return torch.cat([operator @ ones for operator in operators], dim=1).log1p()
