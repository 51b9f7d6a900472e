"""What the theorems speak of, measured on a trained model and its graph."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from gpcn.core.errors import ConfigError
from gpcn.nn import Adjacency, SparseOperator
from gpcn.nn.base import Features
from gpcn.nn.engine.bank import PAPER_OPERATOR
from gpcn.nn.engine.polynomial import binomial_coefficients, printed_coefficients
from gpcn.nn.gpcn import AGPCN, GPCN
from gpcn.theory.bounds import Quantities
from gpcn.theory.spectrum import Of, PowerSums, power_sums

Coefficients = Literal["model", "binomial", "printed"]


def normalized(adjacency: Adjacency) -> sp.csr_array:
    """`Ā` in float64."""
    return adjacency.operator(dtype=torch.float64).csr.to_scipy()


def measure(
    model: Any,
    x: Features,
    adjacency: Adjacency,
    *,
    train: int,
    test: int,
    spectrum: PowerSums | None = None,
    of: Of = "singular",
    coefficients: Coefficients = "model",
    constant: float = 1.0,
) -> Quantities:
    """The quantities of `model`, one of GPCN, GPCN-LINK, AGPCN, AGPCN-LINK without biases, on its graph.

    `train` and `test` are the numbers of nodes it was trained on and is tested on.
    `spectrum` holds power sums up to twice the number of layers; they are computed where it is not given.
    """
    if not isinstance(model, (GPCN, AGPCN)):
        raise ConfigError(f"the theorems are about GPCN, GPCN-LINK, AGPCN and AGPCN-LINK, not {type(model).__name__}")
    if {*model.bank, *model.link_bank} != {PAPER_OPERATOR}:
        raise ConfigError(
            "the theorems are about one operator, the paper's; no bound is known for other operators or several: train "
            "with operators=paper (and link_operators=same)"
        )
    if model.out.bias is not None:
        raise ConfigError("the theorems are about models without biases; train with bias=false")
    layers = model.layers
    bar = normalized(adjacency)
    sums = spectrum or power_sums(bar, 2 * layers, of=of)
    mix = model.mix()
    with torch.no_grad():
        model.eval()
        hidden = model.features(x)
        return Quantities(
            feature_norms=tuple(_column_norm(layer.weight) for layer in model.features.layers),
            residual_norm=_column_norm(model.residual.weight),
            output_norm=_column_norm(model.out.weight),
            link_norm=0.0 if model.link is None else _column_norm(model.link),
            coefficients=tuple(_coefficients(model, coefficients).tolist()),
            mu=1.0 if mix is None else mix,
            power_sums=tuple(float(sums[k]) for k in range(layers + 1)),
            frobenius=frobenius_norms(bar, layers, sums),
            features_frobenius=float(np.sqrt(_squares(x).sum())),
            features_column=float(np.sqrt(_squares(x).max())),
            nodes=adjacency.num_nodes,
            train=train,
            test=test,
            bound_on_outputs=float(hidden.abs().max()),
            constant=constant,
        )


def frobenius_norms(bar: sp.csr_array, layers: int, sums: PowerSums) -> tuple[float, ...]:
    """`‖Ā^k‖_F` for `k = 0..L`, or `√Σ σ^2k`, which is never smaller and the same where `Ā` is symmetric."""
    if len(sums.values) <= 2 * layers:
        raise ConfigError(f"norms up to Ā^{layers} need power sums up to {2 * layers}")
    if sums.of == "eigen":
        sums = power_sums(bar, 2 * layers)
    return tuple(float(np.sqrt(sums[2 * k])) for k in range(layers + 1))


def _coefficients(model: GPCN | AGPCN, kind: Coefficients) -> Tensor:
    if kind == "model":
        return model.coefficients().double()
    make = {"binomial": binomial_coefficients, "printed": printed_coefficients}[kind]
    return make(model.layers, model.gamma).double()


def _column_norm(weight: Any) -> float:
    """The largest L1 norm of a column; weights map `[in, out]`."""
    return float(weight.detach().abs().sum(0).max())


def _squares(x: Features) -> Any:
    """`‖X_c‖₂²` of every column."""
    if isinstance(x, SparseOperator):
        matrix = x.csr.to_scipy()
        return np.asarray(matrix.multiply(matrix).sum(axis=0)).ravel()
    return (x.double() ** 2).sum(0).cpu().numpy()
