"""The transductive Rademacher complexity of a class, estimated: random signs, and the best member found for each.

For every draw of signs `ε` the weights climb `⟨ε, f⟩` inside the class, each step followed by a projection of every
column on its L1 ball. What a climb reaches is a lower estimate of the supremum; a bound must lie above it.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from gpcn.nn import Adjacency
from gpcn.nn.base import Features
from gpcn.nn.gpcn import AGPCN, GPCN
from gpcn.theory.bounds import Quantities


@dataclass(frozen=True)
class Complexity:
    """`E sup |⟨ε, f⟩|` (so divided by `Q`), from below, with the standard error of the mean over draws."""

    mean: float
    error: float
    draws: int


def estimate(
    model: Any,
    x: Features,
    adjacency: Adjacency,
    given: Quantities,
    *,
    draws: int = 32,
    starts: int = 3,
    steps: int = 200,
    lr: float = 0.05,
    seed: int = 0,
) -> Complexity:
    """The complexity of the class of `model` (one output, coefficients and `μ` as they are) with the norms of `given`.

    `model` stays as it is.
    """
    radii = norms_by_name(model, given)
    model = copy.deepcopy(model)
    model.out.weight = nn.Parameter(model.out.weight.detach()[:, :1].clone())
    rng = np.random.default_rng(seed)
    generator = torch.Generator().manual_seed(seed)
    model.eval()
    reached = []
    for _ in range(draws):
        signs = rng.choice([1.0, -1.0, 0.0], size=given.nodes, p=[given.p, given.p, 1 - 2 * given.p])
        epsilon = torch.tensor(signs, dtype=model.out.weight.dtype).unsqueeze(1)
        reached.append(max(_climb(model, x, adjacency, epsilon, radii, steps, lr, generator) for _ in range(starts)))
    return Complexity(float(np.mean(reached)), float(np.std(reached, ddof=1) / np.sqrt(draws)), draws)


def norms_by_name(model: GPCN | AGPCN, given: Quantities) -> dict[str, float]:
    """The radius of every weight that the class leaves free."""
    radii = {f"features.layers.{i}.weight": norm for i, norm in enumerate(given.feature_norms)}
    radii |= {"residual.weight": given.residual_norm, "out.weight": given.output_norm}
    return radii | ({"link": given.link_norm} if model.link is not None else {})


def project(weight: Tensor, radius: float) -> Tensor:
    """Every column of `weight` on the L1 ball of `radius`: the nearest point (Duchi et al., 2008)."""
    moduli = weight.abs()
    ordered = moduli.sort(dim=0, descending=True).values
    excess = ordered.cumsum(0) - radius
    counts = torch.arange(1, len(weight) + 1, dtype=weight.dtype).unsqueeze(1)
    last = (ordered - excess / counts > 0).sum(0).clamp(min=1) - 1
    threshold = (excess.gather(0, last.unsqueeze(0)) / (last + 1)).clamp(min=0)
    shrunk = weight.sign() * (moduli - threshold).clamp(min=0)
    return torch.where(moduli.sum(0) <= radius, weight, shrunk)


def _climb(
    model: nn.Module,
    x: Features,
    adjacency: Adjacency,
    epsilon: Tensor,
    radii: dict[str, float],
    steps: int,
    lr: float,
    generator: torch.Generator,
) -> float:
    """The largest `|⟨ε, f⟩|` that gradient steps from random weights reach, the weights inside their `radii`."""
    free = {name: parameter for name, parameter in model.named_parameters() if name in radii}
    with torch.no_grad():
        for name, parameter in free.items():
            parameter.normal_(generator=generator)
            parameter.mul_(radii[name] / parameter.abs().sum(0).clamp(min=1e-12))
    optimizer = torch.optim.Adam([{"params": [parameter], "lr": lr * radii[name]} for name, parameter in free.items()])
    best = 0.0
    for _ in range(steps):
        objective = (epsilon * model(x, adjacency)).sum().abs()
        best = max(best, float(objective.detach()))
        optimizer.zero_grad()
        (-objective).backward()
        optimizer.step()
        with torch.no_grad():
            for name, parameter in free.items():
                parameter.copy_(project(parameter, radii[name]))
    with torch.no_grad():
        return max(best, float((epsilon * model(x, adjacency)).sum().abs()))
