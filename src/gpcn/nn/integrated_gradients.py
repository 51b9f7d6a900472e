"""The share of each input feature in a logit of any differentiable model, by integrated gradients.

    share_jf = x_jf ∫_0^1 ∂f(αx)/∂x_jf dα,    Σ_jf share_jf = f(x) - f(0)

(Sundararajan, Taly and Yan, ICML 2017), the path starting where all features are zero. What links and biases say
without any feature is `f(0)`. The integral is a sum over a few points, so shares miss `f(x) - f(0)` by a `residual`,
which is stated beside them. Points are close together near zero (`α = t³`): there normalized layers change fastest.
Captum computes the same; these few lines spare the dependency, and take features and links as every model here does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from gpcn.core import machine_memory
from gpcn.core.errors import ConfigError
from gpcn.nn.base import Features, NodeClassifier, as_features
from gpcn.nn.baselines.label_propagation import LabelPropagation
from gpcn.nn.engine.adjacency import AdjacencyLike
from gpcn.nn.engine.operator import SparseOperator
from gpcn.nn.self_fitting import SelfFitting

FEWEST, MOST = 32, 256  # points of the sum
NEGLIGIBLE = 0.01  # a residual this small beside the logit needs no more points
COPIES = 4  # of the features: themselves, scaled, their gradient, the sum


@dataclass(frozen=True)
class IntegratedGradients:
    """Of one combination of logits: `shares` `[N, q]` and `without` and `residual` add up to its value.

    Args:
        shares: of every feature of every node.
        without: the combination where all features are zero: links and biases.
        residual: what the sum over `steps` points leaves unexplained.
        steps: how many points.
    """

    shares: Tensor
    without: float
    residual: float
    steps: int


def integrated_gradients(
    model: NodeClassifier, x: Features, adjacency: AdjacencyLike, nodes: Tensor, logits: Tensor
) -> IntegratedGradients:
    """The shares of `nodesᵀ model(x, adjacency) logits`; with twice the points until the residual is small.

    Args:
        model: differentiable in its features, in evaluation mode.
        x: features `[N, q]`.
        adjacency: as for the model.
        nodes: `[N]`, the weight of each node.
        logits: `[C]`, the weight of each logit.
    """
    _check(model)
    dense = _dense(x)

    def value(features: Tensor) -> Tensor:
        output: Tensor = model(features, adjacency)
        return nodes.to(output.dtype) @ (output @ logits.to(output.dtype))

    with torch.no_grad():
        there, without = float(value(dense)), float(value(torch.zeros_like(dense)))
    steps = FEWEST
    while True:
        total = torch.zeros_like(dense)
        for alpha, weight in _points(steps):
            features = (dense * alpha).requires_grad_()
            with torch.enable_grad():
                output = value(features)
            if output.requires_grad:
                (gradient,) = torch.autograd.grad(output, features, allow_unused=True)
                if gradient is not None:
                    total += weight * gradient
        shares = total * dense
        residual = there - without - float(shares.sum())
        if abs(residual) <= NEGLIGIBLE * max(abs(there), abs(there - without)) or steps >= MOST:
            return IntegratedGradients(shares, without, residual, steps)
        steps *= 2


def why_no_gradients(kind: type[NodeClassifier]) -> str | None:
    """Return the reason that such a model has no integrated gradients; `None` where it has."""
    if issubclass(kind, SelfFitting):
        return "boosted trees are steps: they have neither a sum over hops nor gradients"
    if issubclass(kind, LabelPropagation):
        return "it spreads the labels of training nodes and reads no feature"
    return None


def _points(steps: int) -> list[tuple[float, float]]:
    """Return the points of the gradients with their weights: Gauss and Legendre's points in `t`, with `α = t³`."""
    abscissas, weights = np.polynomial.legendre.leggauss(steps)
    t = (abscissas + 1) / 2
    return list(zip((t**3).tolist(), (weights / 2 * 3 * t**2).tolist(), strict=True))


def _dense(x: Features) -> Tensor:
    features = as_features(x)
    needed = COPIES * features.shape[0] * features.shape[1] * (torch.finfo(features.dtype).bits // 8)
    machine_memory.require_memory(
        needed,
        f"integrated gradients of {features.shape[1]:,} features of {features.shape[0]:,} nodes",
        "explain a model of the family instead, whose shares are exact and need no such copies: gpcn-link",
    )
    return features.to_dense() if isinstance(features, SparseOperator) else features


def _check(model: NodeClassifier) -> None:
    reason = why_no_gradients(type(model))
    if reason is not None:
        raise ConfigError(f"{type(model).__name__} cannot be explained by gradients: {reason}")
    if model.training:
        raise ConfigError("a model in training drops entries at random; call model.eval() before explaining it")
