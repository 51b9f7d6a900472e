"""Every logit as the sum of its parts, exactly: features, neighbours at each hop, links, biases.

After `X_T` the models of the family are linear, so with the `V`, `b` and `U` of `BankModel.polynomial_terms`

    logits = X_T V_0 + Σ_o Σ_k O_o^k X_T V_{o,k} + Σ_l O_l U_l + Σ_o Σ_k O_o^k 1 b_{o,k}

and each part is again a sum over nodes: at hop `k` node `j` gives node `i` exactly `(O_o^k)_ij (X_T V_{o,k})_j`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from gpcn.core.errors import ConfigError
from gpcn.nn.bank_model import BankModel, BoundOperators
from gpcn.nn.base import Features, NodeClassifier, as_features
from gpcn.nn.engine.adjacency import AdjacencyLike
from gpcn.nn.engine.polynomial import bank_horner

FEATURES, BIAS = "features", "bias"


@dataclass(frozen=True)
class Sources:
    """The shares of each of `nodes` in one node through one part: `gives` `[m, C]`."""

    part: str
    nodes: Tensor
    gives: Tensor


def can_be_decomposed(kind: type[NodeClassifier], settings: Mapping[str, Any]) -> bool:
    """Whether the logits of such a model are a sum over hops."""
    return issubclass(kind, BankModel) and settings.get("blocks", 1) == 1


@torch.no_grad()
def parts(model: NodeClassifier, x: Features, adjacency: AdjacencyLike) -> Iterator[tuple[str, Tensor]]:
    """Yield name and `[N, C]` of each part, one at a time; they add up to `model(x, adjacency)`."""
    model, x = as_decomposable(model), as_features(x)
    bound = model.bind(adjacency, None, x.shape[0])
    terms, names = model.polynomial_terms(), iter(model.part_names())
    hidden = model.hidden(x, bound)  # [N, h]
    yield next(names), F.linear(hidden, terms.weight[0])
    index = 0
    for operator, depth in zip(bound.operators, model.depths, strict=True):
        for k in range(1, depth + 1):
            index += 1
            part = F.linear(hidden, terms.weight[index])
            for _ in range(k):
                part = operator @ part
            yield next(names), part
    for name, operator, link in zip(model.link_names(), bound.links, terms.links, strict=True):
        yield name, operator @ link
    if terms.bias is not None:
        yield BIAS, bank_horner(bound.operators, model.depths, terms.bias.expand(len(hidden), *terms.bias.shape))


@dataclass(frozen=True)
class Route:
    """The way of every node to some nodes through one part: `weights` `[N]`.

    `power` is the part's index in `PolynomialTerms.weight`, or `link` its index in `PolynomialTerms.links`.
    """

    part: str
    weights: Tensor
    power: int = 0
    link: int | None = None


def routes_to_nodes(model: BankModel, bound: BoundOperators, nodes: Tensor) -> Iterator[Route]:
    """Yield the way back from `nodes` `[N, 1]` (one for the node that is explained) through every part but the bias."""
    names = iter(model.part_names())
    yield Route(next(names), nodes.squeeze(1))
    power = 0
    for operator, depth in zip(bound.operators, model.depths, strict=True):
        row = nodes  # (nodesᵀ O^k)ᵀ
        for _ in range(depth):
            row, power = operator.T @ row, power + 1
            yield Route(next(names), row.squeeze(1), power)
    for number, (name, operator) in enumerate(zip(model.link_names(), bound.links, strict=True)):
        yield Route(name, (operator.T @ nodes).squeeze(1), link=number)


@torch.no_grad()
def sources(model: NodeClassifier, x: Features, adjacency: AdjacencyLike, node: int) -> Iterator[Sources]:
    """Yield the shares of every node in `node` at each hop and through links; biases come from no node."""
    model, x = as_decomposable(model), as_features(x)
    bound = model.bind(adjacency, None, x.shape[0])
    terms = model.polynomial_terms()
    hidden = model.hidden(x, bound)
    itself = hidden.new_zeros(len(hidden), 1)
    itself[node] = 1
    for route in routes_to_nodes(model, bound, itself):
        near = route.weights.nonzero().squeeze(1)
        gives = (
            terms.links[route.link][near]
            if route.link is not None
            else F.linear(hidden[near], terms.weight[route.power])
        )
        yield Sources(route.part, near, route.weights[near].unsqueeze(1) * gives)


def as_decomposable(model: NodeClassifier) -> BankModel:
    """Return `model`, where its logits are a sum over hops and it is ready to be evaluated."""
    if not isinstance(model, BankModel) or getattr(model, "blocks", 1) > 1:
        raise ConfigError(f"{type(model).__name__} cannot be decomposed: its logits are not a sum over hops")
    if model.training:
        raise ConfigError("a model in training drops entries at random; call model.eval() before decomposing it")
    return model
