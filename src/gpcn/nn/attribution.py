"""Every logit as the sum over (operator, hop, source node, input feature), exactly: no sampling, no surrogate.

After `X_T` the models are linear (`nn.decomposition`): through hop `k` of operator `o` node `j` gives the combination
`w` of the logits of node `i`

    (O_o^k)_ij  X_T[j] V_{o,k} w

A ReLU network without biases is positively homogeneous, so `X_T[j] = x_j J_j` with `J_j` its Jacobian at `x_j`: a
product of weights, with the columns of the units that are off set to zero. Feature `f` of node `j` therefore gives

    (O_o^k)_ij  x_jf  (J_j V_{o,k} w)_f

and with biases there is one more term per source, what the biases of the layers add.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor

from gpcn.nn.base import Features, NodeClassifier, as_features
from gpcn.nn.decomposition import BIAS, as_decomposable, routes_to_nodes
from gpcn.nn.engine.adjacency import AdjacencyLike
from gpcn.nn.engine.matrix import CsrMatrix
from gpcn.nn.engine.operator import SparseOperator
from gpcn.nn.engine.polynomial import bank_horner
from gpcn.nn.layers import FeatureLayers, Linear

MOST_ENTRIES = 1 << 22  # products of a gradient with a row of W_0 that are made at once


@dataclass(frozen=True)
class Attribution:
    """The shares that reach one combination of logits through one part.

    Args:
        part: as `decomposition.parts` names it.
        nodes: `[n]`, the source node of each share.
        features: `[n]`, its input feature; -1 for what comes from a node as a whole (links, the layers' biases, or the
            bias of the logits, whose node is -1 too).
        shares: `[n]`; they sum to the part.
    """

    part: str
    nodes: Tensor
    features: Tensor
    shares: Tensor


@torch.no_grad()
def attributions(
    model: NodeClassifier, x: Features, adjacency: AdjacencyLike, nodes: Tensor, logits: Tensor
) -> Iterator[Attribution]:
    """The shares of `nodesᵀ model(x, adjacency) logits`, part by part.

    Args:
        model: of the family or over a bank, with one block, in evaluation mode.
        x: features `[N, q]`.
        adjacency: as for the model.
        nodes: `[N]`, the weight of each node: one for a node, 1/n for the mean of n.
        logits: `[C]`, the weight of each logit: one for a class, and -1 for another to explain the lead over it.
    """
    model, x = as_decomposable(model), as_features(x)
    bound = model.bind(adjacency, None, x.shape[0])
    terms = model.polynomial_terms()
    for route in routes_to_nodes(model, bound, nodes.unsqueeze(1).to(model.dtype)):
        sources = route.weights.nonzero().squeeze(1)
        if route.link is not None:
            shares = route.weights[sources] * (terms.links[route.link][sources] @ logits)
            yield Attribution(route.part, sources, torch.full_like(sources, -1), shares)
            continue
        direction = terms.weight[route.power].T @ logits  # [h]
        yield _through(route.part, model.features, x, sources, route.weights[sources], direction)
    if terms.bias is not None:
        spread = bank_horner(bound.operators, model.depths, terms.bias.expand(x.shape[0], *terms.bias.shape))
        nowhere = torch.full((1,), -1)
        yield Attribution(BIAS, nowhere, nowhere, (nodes.to(spread.dtype) @ (spread @ logits)).reshape(1))


def _through(
    part: str, layers: FeatureLayers, x: Features, sources: Tensor, weights: Tensor, direction: Tensor
) -> Attribution:
    """`weights_j X_T[j] · direction` of each source `j`, by the features of `j`."""
    rows, linear = _rows(x, sources), cast(list[Linear], list(layers.layers))
    active: list[Tensor] = []
    hidden = rows
    for layer in linear:
        before = hidden.product(layer.weight) if isinstance(hidden, CsrMatrix) else hidden @ layer.weight
        before = before if layer.bias is None else before + layer.bias
        active.append(before > 0)
        hidden = F.relu(before)
    gradient = direction.expand(len(sources), -1) * weights.unsqueeze(1)
    bias_shares = gradient.new_zeros(len(sources))
    for number, layer in reversed(list(enumerate(linear))):
        gradient = gradient * active[number]  # of the layer's sums, [m, h]
        if layer.bias is not None:
            bias_shares += gradient @ layer.bias
        if number:
            gradient = gradient @ layer.weight.T
    at, features, values = _entries(rows)
    block = max(1, MOST_ENTRIES // max(1, gradient.shape[1]))
    pieces = [
        (gradient[at[start : start + block]] * linear[0].weight[features[start : start + block]]).sum(1)
        for start in range(0, len(at), block)
    ]
    shares = values * (torch.cat(pieces) if pieces else values)
    if any(layer.bias is not None for layer in linear):
        at = torch.cat([at, torch.arange(len(sources))])
        features = torch.cat([features, torch.full_like(sources, -1)])
        shares = torch.cat([shares, bias_shares])
    return Attribution(part, sources[at], features, shares)


def _rows(x: Features, nodes: Tensor) -> Tensor | CsrMatrix:
    if not isinstance(x, SparseOperator):
        return x[nodes]
    return CsrMatrix.from_scipy(x.csr.to_scipy()[nodes.numpy()], x.dtype)


def _entries(rows: Tensor | CsrMatrix) -> tuple[Tensor, Tensor, Tensor]:
    """Return row, column and value of what is not zero."""
    if isinstance(rows, CsrMatrix):
        return rows.entries()
    at, features = rows.nonzero(as_tuple=True)
    return at, features, rows[at, features]
