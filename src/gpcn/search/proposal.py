"""What to try next: Optuna's tree-structured Parzen estimator, as a pure function of the past."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.trial import FrozenTrial, TrialState, create_trial

from gpcn.search.schedule import Trial
from gpcn.search.space import Space

WORST = 0.0  # what a configuration that diverged is worth at most


def optuna_distributions(space: Space) -> dict[str, BaseDistribution]:
    """The dimensions in Optuna's words."""
    return {name: CategoricalDistribution(values) for name, values in space.dimensions().items()}


def propose_point(space: Space, past: Sequence[Trial], number: int, seed: int) -> dict[str, Any]:
    """The point for trial `number`, from the trials that ended before its generation began.

    The same past, number and seed give the same point, in whatever process.
    """
    dimensions = optuna_distributions(space)
    sampler = optuna.samplers.TPESampler(
        seed=int(np.random.SeedSequence([seed, number]).generate_state(1)[0]),
        multivariate=True,
        constant_liar=False,
        n_startup_trials=1,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        study = optuna.create_study(direction="maximize", sampler=sampler)
        if past:
            worst = min([WORST, *(trial.value for trial in past if trial.value is not None)])  # gains of a loss are < 0
            study.add_trials([_finished(trial, dimensions, worst) for trial in past])
        return dict(study.ask(dimensions).params)


def _finished(trial: Trial, dimensions: dict[str, BaseDistribution], worst: float) -> FrozenTrial:
    value = worst if trial.value is None else trial.value
    return create_trial(state=TrialState.COMPLETE, value=value, params=trial.point, distributions=dimensions)
