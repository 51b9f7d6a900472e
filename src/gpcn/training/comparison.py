"""Several models on the same splits of one graph, with the difference to the best tested."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpcn.graph import Graph
from gpcn.training.evaluation import compare_pairs


def compare(graph: Graph, results: list[dict[str, Any]]) -> dict[str, Any]:
    """Rows sorted by mean test score, each with its difference to the best over the same splits.

    The best is the one with the highest mean on *validation* nodes, so that the reference is not chosen on test nodes.
    """
    share = float(np.mean([split.test.size / (split.test.size + split.train.size) for split in graph.splits]))
    return {"graph": graph.name, "metric": graph.metric, **_ranked(results, share)}


def compare_finished(results: list[dict[str, Any]]) -> dict[str, Any]:
    """The same from results alone, where the graph is not at hand: their splits say how many nodes each part has."""
    sizes = [
        [sum(split["metrics"][role]["support"]) for role in ("train", "test")]
        for each in results
        for split in each["splits"]
    ]
    share = float(np.mean([test / (test + train) for train, test in sizes]))
    return {"graph": results[0]["graph"], "metric": results[0]["metric"], **_ranked(results, share)}


def _ranked(results: list[dict[str, Any]], share: float) -> dict[str, Any]:
    ranked = sorted(results, key=lambda each: _or_low(each["test_mean"]), reverse=True)
    best = max(results, key=lambda each: _or_low(each["val_mean"]))
    rows = []
    for each in ranked:
        row = {key: each[key] for key in ("model", "test_mean", "test_std", "val_mean", "seconds", "parameters")}
        row["splits"] = [
            {key: split[key] for key in ("split", "test", "val", "epochs", "seconds")} for split in each["splits"]
        ]
        row["against_best"] = None if each is best else _paired(each, best, share)
        row["best"] = each is best
        rows.append(row)
    return {"chosen_on_validation": best["model"], "models": rows}


def _paired(first: dict[str, Any], second: dict[str, Any], share: float) -> dict[str, Any] | None:
    other = {split["split"]: split["test"] for split in second["splits"]}
    pairs = [
        (split["test"], other[split["split"]])
        for split in first["splits"]
        if split["test"] is not None and other.get(split["split"]) is not None
    ]
    if not pairs:
        return None
    mine, theirs = zip(*pairs, strict=True)
    return compare_pairs(mine, theirs, share)


def _or_low(value: float | None) -> float:
    return float("-inf") if value is None else value
