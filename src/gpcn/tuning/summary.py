"""What a study found, as data: the best configurations, how far each setting matters, how it went."""

from __future__ import annotations

import warnings
from typing import Any

import optuna
from optuna.trial import TrialState, create_trial

from gpcn.tasks.metrics import find_metric
from gpcn.tuning.ledger import Ledger
from gpcn.tuning.proposal import optuna_distributions
from gpcn.tuning.study import best

ENOUGH = 8  # scored trials before importances mean anything


def describe_study(ledger: Ledger, top: int = 10) -> dict[str, Any]:
    """For people and for JSON."""
    ranking = best(ledger)
    states = [trial.state for trial in ledger.trials]
    return {
        "graph": ledger.graph.name,
        "metric": ledger.graph.metric,
        "models": list(ledger.space.models),
        "space": ledger.space.size(),
        "configurations": len(ledger.trials),
        "states": {state: states.count(state) for state in ("complete", "pruned", "diverged", "running")},
        "evaluations": sum(len(trial.outcomes) for trial in ledger.trials),
        "seconds": round(sum(outcome["seconds"] for trial in ledger.trials for outcome in trial.outcomes.values()), 1),
        "best": [_row(ledger, *ranked) for ranked in ranking[:top]],
        "diverged": [
            {"number": trial.number, "why": _why(trial.outcomes), "settings": trial.point}
            for trial in ledger.trials
            if trial.state == "diverged"
        ],
        "importance": setting_importance(ledger),
        "history": study_score_history(ledger),
    }


def study_score_history(ledger: Ledger) -> list[dict[str, Any]]:
    """The score of every configuration in the order they were proposed, and the best of the furthest so far."""
    rows: list[dict[str, Any]] = []
    top, sign = None, find_metric(ledger.metric).sign
    for trial in ledger.trials:
        if trial.state == "complete" and trial.value is not None and (top is None or trial.value > top):
            top = trial.value
        scores = {name: None if gain is None else sign * gain for name, gain in (("score", trial.value), ("best", top))}
        rows.append({"number": trial.number, "state": trial.state} | scores | trial.point)
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


def _row(ledger: Ledger, trial: Any, score: float, rule: str) -> dict[str, Any]:
    config = trial.config
    rung = ledger.plan.rungs[trial.furthest(ledger.plan)[0]]
    scores = [trial.outcome(split, rung, ledger.plan)["test"][rule] for split in rung.splits]
    tests = [value for value in scores if value is not None]
    return {
        "number": trial.number,
        "state": trial.state,
        "score": score,
        "select": rule,
        "model": config.model,
        "splits": len(rung.splits),
        "test": sum(tests) / len(tests) if tests else None,
        "settings": {name: config[name] for name in ledger.space.choices[config.model]},
    }


def _why(outcomes: dict[str, dict[str, Any]]) -> str:
    return next((outcome["failed"] for outcome in outcomes.values() if "failed" in outcome), "")
