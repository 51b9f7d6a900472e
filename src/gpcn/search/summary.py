"""The findings of a study as data: the best configurations, how far each setting matters, how it went."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import optuna
from msgspec import Struct
from optuna.trial import TrialState, create_trial

from gpcn.nn.zoo.hyperparameters import Value
from gpcn.search.ledger import Ledger
from gpcn.search.proposal import optuna_distributions
from gpcn.search.schedule import Trial
from gpcn.search.study import best
from gpcn.search.tasks import Outcome
from gpcn.tasks.metrics import find_metric

ENOUGH = 8  # scored trials before importances mean anything


class RankedTrial(Struct, frozen=True, kw_only=True):
    """A configuration among the best: its validation score under the rule that chose its epoch, and how far it came."""

    number: int
    state: str
    score: float
    select: str
    model: str
    splits: int
    test: float | None
    settings: dict[str, Value]


class FailedTrial(Struct, frozen=True):
    """A configuration that diverged or failed, and why."""

    number: int
    why: str
    settings: dict[str, Value]


class ProposedPoint:
    """A configuration in the order of proposals: its point, its score, and the best of those that came furthest."""

    def __init__(
        self, number: int, state: str, score: float | None, best: float | None, point: Mapping[str, Value]
    ) -> None:
        self.number, self.state, self.score, self.best, self.point = number, state, score, best, point

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ProposedPoint) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return self.number

    def to_json(self) -> dict[str, Any]:
        """Return all of it as one flat row."""
        row = {"number": self.number, "state": self.state, "score": self.score, "best": self.best}
        return row | dict(self.point)


class StudySummary(Struct, frozen=True, kw_only=True):
    """What a study found.

    Args:
        space: the number of configurations in it.
        states: how many configurations ended how.
        seconds: of one core, all evaluations together.
        importance: the share of the score's variance that each setting explains.
    """

    graph: str
    metric: str
    models: tuple[str, ...]
    space: int
    configurations: int
    states: dict[str, int]
    evaluations: int
    seconds: float
    best: tuple[RankedTrial, ...]
    diverged: tuple[FailedTrial, ...]
    importance: dict[str, float]
    history: tuple[ProposedPoint, ...]


def describe_study(ledger: Ledger, top: int = 10) -> StudySummary:
    """Return what a study found so far, with the `top` best configurations."""
    ranking = best(ledger)
    states = [trial.state for trial in ledger.trials]
    return StudySummary(
        graph=ledger.graph.name,
        metric=ledger.graph.metric,
        models=tuple(ledger.space.models),
        space=ledger.space.size(),
        configurations=len(ledger.trials),
        states={state: states.count(state) for state in ("complete", "pruned", "diverged", "running")},
        evaluations=sum(len(trial.outcomes) for trial in ledger.trials),
        seconds=round(sum(outcome["seconds"] for trial in ledger.trials for outcome in trial.outcomes.values()), 1),
        best=tuple(_ranked(ledger, *ranked) for ranked in ranking[:top]),
        diverged=tuple(
            FailedTrial(trial.number, _why(trial.outcomes), trial.point)
            for trial in ledger.trials
            if trial.state == "diverged"
        ),
        importance=setting_importance(ledger),
        history=tuple(study_score_history(ledger)),
    )


def study_score_history(ledger: Ledger) -> list[ProposedPoint]:
    """Return every configuration in the order they were proposed."""
    rows = []
    top, sign = None, find_metric(ledger.metric).sign
    for trial in ledger.trials:
        if trial.state == "complete" and trial.value is not None and (top is None or trial.value > top):
            top = trial.value
        score, highest = (None if gain is None else sign * gain for gain in (trial.value, top))
        rows.append(ProposedPoint(trial.number, trial.state, score, highest, trial.point))
    return rows


def setting_importance(ledger: Ledger) -> dict[str, float]:
    """The share of the score's variance that each dimension explains (fANOVA), largest first; empty with few trials."""
    scored = [trial for trial in ledger.trials if trial.value is not None]
    varied = [name for name in ledger.space.dimensions() if len({trial.point[name] for trial in scored}) > 1]
    if len(scored) < ENOUGH or len({trial.value for trial in scored}) < 2 or not varied:
        return {}
    dimensions = optuna_distributions(ledger.space)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study = optuna.create_study(direction="maximize")
        study.add_trials(
            [
                create_trial(state=TrialState.COMPLETE, value=trial.value, params=trial.point, distributions=dimensions)
                for trial in scored
            ]
        )
        judge = optuna.importance.FanovaImportanceEvaluator(seed=ledger.seed)
        importances = optuna.importance.get_param_importances(study, evaluator=judge, params=varied)
    return {name: round(float(value), 4) for name, value in importances.items()}


def _ranked(ledger: Ledger, trial: Trial, score: float, rule: str) -> RankedTrial:
    config = trial.config
    rung = ledger.plan.rungs[(trial.furthest(ledger.plan) or (0,))[0]]
    outcomes = [trial.outcome(split, rung, ledger.plan) for split in rung.splits]
    tests = [value for outcome in outcomes if outcome is not None and (value := outcome["test"][rule]) is not None]
    return RankedTrial(
        number=trial.number,
        state=trial.state,
        score=score,
        select=rule,
        model=config.model,
        splits=len(rung.splits),
        test=sum(tests) / len(tests) if tests else None,
        settings={name: config[name] for name in ledger.space.choices[config.model]},
    )


def _why(outcomes: Mapping[str, Outcome]) -> str:
    return next((outcome["failed"] for outcome in outcomes.values() if "failed" in outcome), "")
