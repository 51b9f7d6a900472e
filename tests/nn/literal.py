"""The paper's formulas, transcribed with dense matrices and matrix powers; no code of the package is used."""

from __future__ import annotations

from math import comb

import torch
from torch import Tensor


def normalized(adjacency: Tensor) -> Tensor:
    """Ā = D̂^-1/2 (A + I) D̂^-1/2 with D̂ the row sums of A + I."""
    looped = adjacency + torch.eye(len(adjacency), dtype=adjacency.dtype)
    scale = looped.sum(1) ** -0.5
    return scale[:, None] * looped * scale[None, :]


def feature_layers(x: Tensor, weights: list[Tensor], biases: list[Tensor] | None) -> Tensor:
    for layer, weight in enumerate(weights):
        x = x @ weight + (biases[layer] if biases else 0)
        x = torch.where(x > 0, x, torch.zeros_like(x))
    return x


def power(matrix: Tensor, exponent: int) -> Tensor:
    result = torch.eye(len(matrix), dtype=matrix.dtype)
    for _ in range(exponent):
        result = result @ matrix
    return result


def polynomial(
    bar: Tensor, x: Tensor, coefficients: list[Tensor | float], weight: Tensor, bias: Tensor | None
) -> Tensor:
    """Σ_k c_k Ā^k X W^k, and with a bias in every residual layer Σ_{k≥1} c_k Ā^k 1 bᵀ W^{k-1}."""
    ones = torch.ones(len(bar), 1, dtype=x.dtype)
    total = coefficients[0] * x
    for k in range(1, len(coefficients)):
        inner = x @ power(weight, k)
        if bias is not None:
            inner = inner + ones @ bias[None, :] @ power(weight, k - 1)
        total = total + coefficients[k] * (power(bar, k) @ inner)
    return total


def binomial(layers: int, gamma: float) -> list[float]:
    return [comb(layers, k) * gamma**k for k in range(layers + 1)]


def printed(layers: int, gamma: float) -> list[float]:
    return [1.0] + [layers * gamma**k for k in range(1, layers)] + [gamma**layers]


def elementary_symmetric(scales: Tensor) -> list[Tensor]:
    from itertools import combinations

    return [
        sum(
            (torch.stack(list(chosen)).prod() for chosen in combinations(scales.unbind(), k)),
            torch.zeros((), dtype=scales.dtype),
        )
        if k
        else torch.ones((), dtype=scales.dtype)
        for k in range(len(scales) + 1)
    ]


def generalized(bar: Tensor, x: Tensor, gamma: float, weights: list[Tensor], biases: list[Tensor] | None) -> Tensor:
    """X_i = X_{i-1} + γ Ā (X_{i-1} W_i + b_i), as matrices on vec(X): sums over all subsets of layers."""
    from itertools import combinations

    layers = len(weights)
    total = x
    ones = torch.ones(len(bar), 1, dtype=x.dtype)
    for k in range(1, layers + 1):
        for chosen in combinations(range(layers), k):
            product = torch.eye(x.shape[1], dtype=x.dtype)
            for layer in chosen:
                product = product @ weights[layer]
            total = total + gamma**k * (power(bar, k) @ x @ product)
            if biases is not None:
                rest = torch.eye(x.shape[1], dtype=x.dtype)
                for layer in chosen[1:]:
                    rest = rest @ weights[layer]
                total = total + gamma**k * (power(bar, k) @ ones @ biases[chosen[0]][None, :] @ rest)
    return total
