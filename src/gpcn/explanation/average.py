"""Why an average of several runs predicts what it predicts: the average of their members' exact decompositions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from gpcn.explanation.explainable import common_explained_split, explainable_runs
from gpcn.explanation.explained_model import ExplainedModel, explained_node_position
from gpcn.explanation.neighbour_shares import largest_neighbour_shares
from gpcn.explanation.one_prediction import node_explanation, shortened_explanation
from gpcn.explanation.sentences import explanation_sentences
from gpcn.graph import Graph
from gpcn.training.predictions.fitted import Fitted
from gpcn.training.runs.run import Run


def explain_average(
    runs: Sequence[Run], graph: Graph, node: str, *, split: int | None = None, top: int = 5
) -> dict[str, Any]:
    """As `explain`, for the average of the probabilities of `runs`; one that is named twice counts twice.

    Class and runner-up are those of all members together. Parts are of the members whose logits are a sum over hops,
    each part the mean over these by how often they count; `members` says which they are, and `notes` which are not.
    Where none is such a sum, parts are integrated gradients of the members that have gradients.
    """
    counts = Counter(run.path for run in runs)
    distinct = list({run.path: run for run in runs}.values())
    number = common_explained_split(distinct, split)
    explainable = explainable_runs(distinct)
    index = explained_node_position(graph, node)
    shares = np.array([counts[run.path] for run in distinct]) / len(runs)
    probabilities = np.average([_probabilities(run, graph, number)[index] for run in distinct], axis=0, weights=shares)
    winner, runner_up = (int(index) for index in np.argsort(-probabilities, kind="stable")[:2])
    total = sum(counts[run.path] for run in explainable)
    models = [ExplainedModel.of(run, graph, number) for run in explainable]
    weighted = [
        (counts[model.run.path] / total, node_explanation(model, index, (winner, runner_up), top)) for model in models
    ]
    by_node = torch.stack([weight * account["by_node"] for weight, account in weighted]).sum(0)
    classes = distinct[0].label_names()
    first = weighted[0][1]
    members = average_members(runs, explainable)
    notes = list(dict.fromkeys(note for _, account in weighted for note in account["notes"]))
    notes += average_member_notes(members)
    account = {
        **{name: first[name] for name in ("graph", "split", "node", "label", "role")},
        "run": str(distinct[0].path.parent.parent),
        "model": "auto",
        "predicted": classes[winner],
        "probability": float(probabilities[winner]),
        "runner_up": classes[runner_up],
        "runner_up_probability": float(probabilities[runner_up]),
        "mu": None,
        "method": first["method"],
        "sum": _mean([(weight, account["sum"]) for weight, account in weighted]),
        "parts": _parts(weighted),
        "sources": _sources(weighted, top),
        "neighbours": largest_neighbour_shares(models[0], by_node, index, top),
        "features": _features(weighted),
        "origins": {
            name: sum(weight * account["origins"][name] for weight, account in weighted) for name in first["origins"]
        },
        "members": members,
        "notes": notes,
    }
    return {**shortened_explanation(account, top), "sentences": explanation_sentences(account)}


def average_members(runs: Sequence[Run], explainable: Sequence[Run]) -> list[dict[str, Any]]:
    """The members of an average, how much each counts, and whether it is `explainable`: its logits are taken apart."""
    counts = Counter(run.path for run in runs)
    return [
        {
            "run": run.path.name,
            "model": run.config.model,
            "share": counts[run.path] / len(runs),
            "decomposed": run in explainable,
        }
        for run in {run.path: run for run in runs}.values()
    ]


def average_member_notes(members: Sequence[dict[str, Any]]) -> list[str]:
    """Which members are not taken apart, and that parts are means where several are."""
    notes, opaque = [], [member for member in members if not member["decomposed"]]
    if opaque:
        share = sum(member["share"] for member in opaque)
        listed = ", ".join(f"{member['model']} ({member['run']})" for member in opaque)
        notes.append(f"{share:.0%} of the average comes from members that cannot be decomposed: {listed}")
    decomposed = len(members) - len(opaque)
    if decomposed > 1:
        notes.append(f"parts are means over {decomposed} members' logits; the probabilities are of all members")
    return notes


@torch.no_grad()
def _probabilities(run: Run, graph: Graph, split: int) -> npt.NDArray[np.float64]:
    fitted = Fitted.of(run, graph, torch.float64)
    logits = fitted.model(split)(fitted.problem.x, fitted.problem.adjacency)
    return np.asarray(torch.softmax(logits.double(), dim=1).numpy())


def _mean(weighted: Sequence[tuple[float, dict[str, float]]]) -> dict[str, float]:
    return {name: sum(weight * shares[name] for weight, shares in weighted) for name in ("winner", "margin")}


def _parts(weighted: Sequence[tuple[float, dict[str, Any]]]) -> list[dict[str, Any]]:
    """Parts of the same name together; a member without a part gives nothing to it."""
    by_name: dict[str, list[tuple[float, dict[str, float]]]] = {}
    for weight, account in weighted:
        for part in account["parts"]:
            by_name.setdefault(part["part"], []).append((weight, part))
    return [{"part": name, **_mean(shares)} for name, shares in by_name.items()]


def _features(weighted: Sequence[tuple[float, dict[str, Any]]]) -> list[dict[str, Any]]:
    """The mean share of each feature, the largest first; a member that does not use one gives nothing to it."""
    shares: dict[str, dict[str, Any]] = {}
    for weight, account in weighted:
        for feature in account["features"]:
            total = shares.setdefault(feature["feature"], {"feature": feature["feature"]})
            for name in ("margin", "itself", "others"):
                total[name] = total.get(name, 0.0) + weight * feature[name]
    return sorted(shares.values(), key=lambda feature: -abs(feature["margin"]))


def _sources(weighted: Sequence[tuple[float, dict[str, Any]]], top: int) -> list[dict[str, Any]]:
    """The nodes behind each part, of the members that list them among those that count most."""
    by_part: dict[str, dict[str, Any]] = {}
    for weight, account in weighted:
        for source in account["sources"]:
            merged = by_part.setdefault(source["part"], {"part": source["part"], "nodes": 0, "listed": {}})
            merged["nodes"] = max(merged["nodes"], source["nodes"])
            for other in source["top"]:
                total = merged["listed"].setdefault(other["node"], {**other, "winner": 0.0, "margin": 0.0})
                total["winner"] += weight * other["winner"]
                total["margin"] += weight * other["margin"]
    return [
        {
            "part": merged["part"],
            "nodes": merged["nodes"],
            "top": sorted(merged["listed"].values(), key=lambda other: -abs(other["margin"]))[:top],
        }
        for merged in by_part.values()
    ]
