"""Every logit as the sum of its parts, exactly: features, neighbours at each hop, links, biases.

After `X_T` the models of the family are linear, so with the `V_k`, `b_k` and `U` of `PolynomialModel.pieces`

    logits = X_T V_0 + Σ_k Ā^k X_T V_k + Ā U + Σ_k Ā^k 1 b_k

and each part is again a sum over nodes: at hop `k` node `j` gives node `i` exactly `(Ā^k)_ij (X_T V_k)_j`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from gpcn.errors import ConfigError
from gpcn.nn.adjacency import AdjacencyLike
from gpcn.nn.base import Features, NodeClassifier, as_features
from gpcn.nn.polynomial import horner
from gpcn.nn.polynomial_model import PolynomialModel

FEATURES, LINKS, BIAS = "features", "links", "bias"


@dataclass(frozen=True)
class Sources:
    """What each of `nodes` gives to one node through one part: `gives` `[m, C]`."""

    part: str
    nodes: Tensor
    gives: Tensor


def hop(k: int) -> str:
    """The name of the part that power `k` of the adjacency carries."""
    return FEATURES if k == 0 else f"hop {k}"


def can_be_decomposed(kind: type[NodeClassifier]) -> bool:
    """Whether the logits of such a model are a sum over hops."""
    return issubclass(kind, PolynomialModel)


@torch.no_grad()
def parts(model: NodeClassifier, x: Features, adjacency: AdjacencyLike) -> Iterator[tuple[str, Tensor]]:
    """Name and `[N, C]` of each part, one at a time; they add up to `model(x, adjacency)`."""
    model, x = _checked(model), as_features(x)
    operator = model.operator(adjacency, None, x.shape[0])
    terms, bias, link = model.pieces()
    hidden = model.features(x)  # [N, h]
    for k, term in enumerate(terms):
        part = F.linear(hidden, term)
        for _ in range(k):
            part = operator @ part
        yield hop(k), part
    if link is not None:
        yield LINKS, operator @ link
    if bias is not None:
        yield BIAS, horner(operator, bias.expand(len(hidden), *bias.shape))


@torch.no_grad()
def sources(model: NodeClassifier, x: Features, adjacency: AdjacencyLike, node: int) -> Iterator[Sources]:
    """What every node gives to `node` at each hop and through links; biases come from no node."""
    model, x = _checked(model), as_features(x)
    operator = model.operator(adjacency, None, x.shape[0])
    terms, _, link = model.pieces()
    hidden = model.features(x)
    row = hidden.new_zeros(len(hidden), 1)  # row `node` of Ā^k, standing
    row[node] = 1
    for k, term in enumerate(terms):
        near = row.squeeze(1).nonzero().squeeze(1)
        yield Sources(hop(k), near, row[near] * F.linear(hidden[near], term))
        row = operator.T @ row
        if k == 0 and link is not None:
            linked = row.squeeze(1).nonzero().squeeze(1)
            through_links = Sources(LINKS, linked, row[linked] * link[linked])
    if link is not None:
        yield through_links


def _checked(model: NodeClassifier) -> PolynomialModel:
    if not isinstance(model, PolynomialModel):
        raise ConfigError(f"{type(model).__name__} cannot be decomposed: its logits are not a sum over hops")
    if model.training:
        raise ConfigError("a model in training drops entries at random; call model.eval() before decomposing it")
    return model
