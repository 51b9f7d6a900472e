"""Every logit as the sum of its parts, exactly: features, neighbours at each hop, links, biases.

After `X_T` the models of the family are linear, so with the `V`, `b` and `U` of `BankModel.pieces`

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

from gpcn.errors import ConfigError
from gpcn.nn.adjacency import AdjacencyLike
from gpcn.nn.bank_model import BankModel
from gpcn.nn.base import Features, NodeClassifier, as_features
from gpcn.nn.polynomial import bank_horner

FEATURES, BIAS = "features", "bias"


@dataclass(frozen=True)
class Sources:
    """What each of `nodes` gives to one node through one part: `gives` `[m, C]`."""

    part: str
    nodes: Tensor
    gives: Tensor


def can_be_decomposed(kind: type[NodeClassifier], settings: Mapping[str, Any]) -> bool:
    """Whether the logits of such a model are a sum over hops."""
    return issubclass(kind, BankModel) and settings.get("blocks", 1) == 1


@torch.no_grad()
def parts(model: NodeClassifier, x: Features, adjacency: AdjacencyLike) -> Iterator[tuple[str, Tensor]]:
    """Name and `[N, C]` of each part, one at a time; they add up to `model(x, adjacency)`."""
    model, x = _checked(model), as_features(x)
    reading = model.read(adjacency, None, x.shape[0])
    pieces, names = model.pieces(), iter(model.part_names())
    hidden = model.hidden(x, reading)  # [N, h]
    yield next(names), F.linear(hidden, pieces.terms[0])
    index = 0
    for operator, depth in zip(reading.operators, model.depths, strict=True):
        for k in range(1, depth + 1):
            index += 1
            part = F.linear(hidden, pieces.terms[index])
            for _ in range(k):
                part = operator @ part
            yield next(names), part
    for name, operator, link in zip(model.link_names(), reading.links, pieces.links, strict=True):
        yield name, operator @ link
    if pieces.bias is not None:
        yield BIAS, bank_horner(reading.operators, model.depths, pieces.bias.expand(len(hidden), *pieces.bias.shape))


@torch.no_grad()
def sources(model: NodeClassifier, x: Features, adjacency: AdjacencyLike, node: int) -> Iterator[Sources]:
    """What every node gives to `node` at each hop and through links; biases come from no node."""
    model, x = _checked(model), as_features(x)
    reading = model.read(adjacency, None, x.shape[0])
    pieces, names = model.pieces(), iter(model.part_names())
    hidden = model.hidden(x, reading)
    itself = hidden.new_zeros(len(hidden), 1)
    itself[node] = 1

    def through(name: str, row: Tensor, term: Tensor) -> Sources:
        near = row.squeeze(1).nonzero().squeeze(1)
        return Sources(name, near, row[near] * F.linear(hidden[near], term))

    yield through(next(names), itself, pieces.terms[0])
    index = 0
    for operator, depth in zip(reading.operators, model.depths, strict=True):
        row = itself  # row `node` of O^k, standing
        for _ in range(depth):
            row, index = operator.T @ row, index + 1
            yield through(next(names), row, pieces.terms[index])
    for name, operator, link in zip(model.link_names(), reading.links, pieces.links, strict=True):
        row = operator.T @ itself
        linked = row.squeeze(1).nonzero().squeeze(1)
        yield Sources(name, linked, row[linked] * link[linked])


def _checked(model: NodeClassifier) -> BankModel:
    if not isinstance(model, BankModel) or getattr(model, "blocks", 1) > 1:
        raise ConfigError(f"{type(model).__name__} cannot be decomposed: its logits are not a sum over hops")
    if model.training:
        raise ConfigError("a model in training drops entries at random; call model.eval() before decomposing it")
    return model
