"""Bound against gap: train, measure the bound's terms, and put them beside what happened on test nodes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpcn.graph import Graph
from gpcn.nn import Adjacency
from gpcn.theory.bounds import Quantities, corrected, printed
from gpcn.theory.oversmoothing import dirichlet_energy, layer_states, mean_average_distance
from gpcn.theory.quantities import measure, normalized
from gpcn.theory.rademacher import estimate
from gpcn.theory.spectrum import PowerSums, power_sums
from gpcn.training.config import TrainConfig
from gpcn.training.fit import fit
from gpcn.training.problem import Problem

DEEPEST = 16


@dataclass(frozen=True)
class Trained:
    """A model at its best epoch, and what the theorems say of it."""

    model: Any
    problem: Problem
    logits: Tensor
    quantities: Quantities
    epochs: int


def train(graph: Graph, config: TrainConfig, number: int) -> Trained:
    """Train split `number`, and measure what the theorems speak of."""
    problem = Problem.of(graph, config)
    split = graph.splits[number]
    trainer = fit(problem, config, split, number)
    logits = trainer.best_logits().double()
    sums = spectrum_of(problem.graph, problem.adjacency)
    model: Any = trainer.model
    quantities = measure(
        model, problem.x, problem.adjacency, train=len(split.train), test=len(split.test), spectrum=sums
    )
    return Trained(model, problem, logits, quantities, trainer.epoch)


def bound_and_gap(graph: Graph, config: TrainConfig, number: int) -> dict[str, Any]:
    """Train split `number`; both bounds, the gap between test and training, and how smooth each layer's states are.

    All at the best epoch. The gap in loss is test minus training, in accuracy training minus test: both grow with
    overfitting.
    """
    trained = train(graph, config, number)
    problem, logits, quantities = trained.problem, trained.logits, trained.quantities
    split = graph.splits[number]
    states = layer_states(trained.model, problem.x, problem.adjacency)
    links = problem.adjacency.links
    labels = problem.truth
    parts = {"train": torch.tensor(split.train), "test": torch.tensor(split.test)}
    loss = {role: float(graph.task.loss(logits[part], labels[part])) for role, part in parts.items()}
    right = {
        role: 100 * float((logits[part].argmax(1) == labels[part]).double().mean()) for role, part in parts.items()
    }
    as_printed, as_corrected = printed(quantities), corrected(quantities)
    return {
        "printed": as_printed.total,
        "printed_dominant": as_printed.dominant,
        "corrected": as_corrected.total,
        "corrected_dominant": as_corrected.dominant,
        "mu": quantities.mu,
        "train": right["train"],
        "test": right["test"],
        "gap": right["train"] - right["test"],
        "loss_gap": loss["test"] - loss["train"],
        "residual_norm": quantities.residual_norm,
        "energy": [dirichlet_energy(state, links) for state in states],
        "distance": [mean_average_distance(state, links) for state in states],
        "epochs": trained.epochs,
    }


def bound_and_reached(graph: Graph, config: TrainConfig, number: int, draws: int = 10) -> dict[str, Any]:
    """Train split `number`; both bounds for its norms, and what random signs can reach within them."""
    trained = train(graph, config, number)
    quantities = trained.quantities
    reached = estimate(trained.model, trained.problem.x, trained.problem.adjacency, quantities, draws=draws)
    return {
        "printed": printed(quantities).total,
        "corrected": corrected(quantities).total,
        "reached": reached.mean,
        "error": reached.error,
        "draws": reached.draws,
        "epochs": trained.epochs,
    }


def spectrum_of(graph: Graph, adjacency: Adjacency) -> PowerSums:
    """Power sums of `Ā` up to what the deepest model of the study needs, computed once per graph and direction."""
    key = graph.fingerprint(), adjacency.direction
    if key not in _spectra():
        _spectra()[key] = power_sums(normalized(adjacency), 2 * DEEPEST)
    return _spectra()[key]


@lru_cache
def _spectra() -> dict[tuple[str, str], PowerSums]:
    return {}


def rank_correlation(first: Any, second: Any) -> float:
    """Spearman's: 1 where both order the same way; nan where one of them does not vary."""
    from scipy.stats import spearmanr

    if len(set(first)) < 2 or len(set(second)) < 2:
        return float("nan")
    return float(np.asarray(spearmanr(first, second).statistic))
