"""Several models on the same splits of one graph: differences to the best, tested, and the majority as reference."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpcn.graph import Graph
from gpcn.tasks.metrics import oriented_score
from gpcn.tasks.task import Task
from gpcn.training.scores.evaluation import compare_pairs, summarize

MAJORITY = "majority"
"""The name of the row for who knows the class shares of the training nodes and nothing else."""


def compare(graph: Graph, results: list[dict[str, Any]]) -> dict[str, Any]:
    """Rows sorted by mean test score, each with its difference to the best over the same splits.

    The best is the one with the best mean on *validation* nodes, so that the reference is not chosen on test nodes;
    where no model has a score there (ROC-AUC of nodes of one class), none is, and `chosen_on_validation` is `None`.
    The row `majority` is what the class shares of the training nodes alone achieve; it is never the best, and every
    row says whether it `beats_majority` in its mean test score (`None` where one of the two is undefined).
    """
    share = float(np.mean([split.test.size / (split.test.size + split.train.size) for split in graph.splits]))
    return {"graph": graph.name, "metric": graph.metric, **_ranked(results, graph.metric, share, graph.task)}


def compare_finished(results: list[dict[str, Any]], task: Task) -> dict[str, Any]:
    """The same from results alone, where the graph is not at hand: their splits say how many nodes each part has."""
    sizes = [
        [sum(split["metrics"][role]["support"]) for role in ("train", "test")]
        for result in results
        for split in result["splits"]
    ]
    share = float(np.mean([test / (test + train) for train, test in sizes]))
    metric = results[0]["metric"]
    return {"graph": results[0]["graph"], "metric": metric, **_ranked(results, metric, share, task)}


def _ranked(results: list[dict[str, Any]], metric: str, share: float, task: Task) -> dict[str, Any]:
    majority = majority_result(results, metric, task)
    ranked = sorted([*results, majority], key=lambda result: oriented_score(metric, result["test_mean"]), reverse=True)
    scored = [result for result in results if result["val_mean"] is not None]
    best = max(scored, key=lambda result: oriented_score(metric, result["val_mean"]), default=None)
    rows = []
    for result in ranked:
        row = {key: result[key] for key in ("model", "test_mean", "test_std", "val_mean", "seconds", "parameters")}
        row["splits"] = [
            {key: split[key] for key in ("split", "test", "val", "epochs", "seconds")} for split in result["splits"]
        ]
        row["against_best"] = None if best is None or result is best else _paired(result, best, share)
        row["best"] = result is best
        row["reference"] = result is majority
        row["beats_majority"] = _beats(result, majority, metric)
        rows.append(row)
    return {"chosen_on_validation": None if best is None else best["model"], "models": rows}


def _beats(result: dict[str, Any], majority: dict[str, Any], metric: str) -> bool | None:
    """Whether the mean is better, over the splits that both have."""
    both = {split["split"] for split in result["splits"]}
    mean, _ = summarize([split["test"] for split in majority["splits"] if split["split"] in both])
    if mean is None or result["test_mean"] is None:
        return None
    return oriented_score(metric, result["test_mean"]) > oriented_score(metric, mean)


def majority_result(results: list[dict[str, Any]], metric: str, task: Task) -> dict[str, Any]:
    """As `train` gives it, for all splits that some model has; nothing is trained."""
    finished = {split["split"]: split["metrics"] for result in results for split in result["splits"]}
    splits = []
    for number, parts in sorted(finished.items()):
        scores = {role: task.baseline_score(parts["train"], parts[role], metric) for role in ("test", "val")}
        splits.append({"split": number, **scores, "epochs": 0, "seconds": 0.0})
    test_mean, test_std = summarize([split["test"] for split in splits])
    val_mean, _ = summarize([split["val"] for split in splits])
    means = {"test_mean": test_mean, "test_std": test_std, "val_mean": val_mean}
    return {"model": MAJORITY, **means, "seconds": 0.0, "parameters": 0, "splits": splits}


def _paired(first: dict[str, Any], second: dict[str, Any], share: float) -> dict[str, Any] | None:
    other = {split["split"]: split["test"] for split in second["splits"]}
    pairs = [
        (split["test"], other[split["split"]])
        for split in first["splits"]
        if split["test"] is not None and other.get(split["split"]) is not None
    ]
    if not pairs:
        return None
    first_scores, second_scores = zip(*pairs, strict=True)
    return compare_pairs(first_scores, second_scores, share)
