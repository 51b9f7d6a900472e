"""How alike the states of neighbours are, layer by layer."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from gpcn.core.errors import ConfigError
from gpcn.nn import Adjacency
from gpcn.nn.base import Features
from gpcn.nn.engine.bank import PAPER_OPERATOR
from gpcn.nn.gpcn import AGPCN, GPCN

Array = np.ndarray[Any, np.dtype[np.float64]]


def layer_states(model: Any, x: Features, adjacency: Adjacency) -> list[Array]:
    """`X_T` and what it is after each further power of the adjacency, `L + 1` states `[N, h]`.

    For GPCN the states of the recursion; for AGPCN the sum up to each power.
    """
    if not isinstance(model, (GPCN, AGPCN)):
        raise ConfigError(f"{type(model).__name__} has no residual layers to look into; expected a GPCN or AGPCN model")
    if model.bank != (PAPER_OPERATOR,):
        raise ConfigError("states layer by layer are those of one operator, the paper's; train with operators=paper")
    model.eval()
    with torch.no_grad():
        operator = adjacency.operator(dtype=model.out.weight.dtype)
        hidden = model.features(x)
        states = []
        coefficients = model.coefficients()
        if isinstance(model, AGPCN):
            power, total = hidden, coefficients[0] * hidden
            states.append(total)
            for k in range(1, model.layers + 1):
                power = operator @ model.residual(power)
                total = total + coefficients[k] * power
                states.append(total)
        else:
            states.append(hidden)
            for _ in range(model.layers):
                hidden = hidden + model.gamma * (operator @ model.residual(hidden))
                states.append(hidden)
    return [state.double().numpy() for state in states]


def dirichlet_energy(state: Array, links: sp.csr_array) -> float:
    """Share of the state that neighbours do not have in common: 0 where it is smooth, up to 2 where they oppose.

    The quadratic form `tr Xᵀ(I - Ā)X / tr XᵀX` with every link both ways.
    """
    both = links.maximum(links.T) + sp.eye_array(links.shape[0])
    scale = 1 / np.sqrt(np.asarray(both.sum(axis=1)).ravel())
    bar = sp.csr_array(sp.diags_array(scale) @ both @ sp.diags_array(scale))
    total = float((state**2).sum())
    return 0.0 if total == 0 else float(1 - (state * (bar @ state)).sum() / total)


def mean_average_distance(state: Array, links: sp.csr_array) -> float:
    """Mean over nodes of the mean cosine distance to their neighbours (Chen et al., 2020); 0 where all are alike."""
    coo = sp.coo_array(links)
    rows, columns = coo.coords
    apart = rows != columns
    rows, columns = rows[apart], columns[apart]
    norms = np.linalg.norm(state, axis=1)
    unit = state / np.where(norms > 0, norms, 1.0)[:, None]
    distances = 1 - (unit[rows] * unit[columns]).sum(1)
    sums = np.bincount(rows, distances, len(state))
    counts = np.bincount(rows, minlength=len(state))
    return float((sums[counts > 0] / counts[counts > 0]).mean()) if counts.any() else 0.0
