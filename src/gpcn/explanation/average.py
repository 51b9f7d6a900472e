"""Why an average of several runs predicts what it predicts: the average of their members' exact decompositions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from gpcn.explanation.account import Explanation, FeatureShare, Member, Part, Shares, Source
from gpcn.explanation.explainable import common_explained_split, explainable_runs
from gpcn.explanation.explained_model import ExplainedModel, explained_node_position
from gpcn.explanation.neighbour_shares import largest_neighbour_shares
from gpcn.explanation.one_prediction import finished_explanation, node_explanation
from gpcn.graph import Graph
from gpcn.runs.predictions.fitted import Fitted
from gpcn.runs.run import Run

Weighted = Sequence[tuple[float, Explanation]]
"""Accounts of members, and how much each counts."""


def explain_average(
    runs: Sequence[Run], graph: Graph, node: str, *, split: int | None = None, top: int = 5
) -> Explanation:
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
    weights = np.array([counts[run.path] for run in explainable]) / sum(counts[run.path] for run in explainable)
    models = [ExplainedModel.of(run, graph, number) for run in explainable]
    accounts, by_nodes = zip(
        *(node_explanation(model, index, (winner, runner_up), top) for model in models), strict=True
    )
    weighted = list(zip(weights.tolist(), accounts, strict=True))
    by_node = torch.stack([weight * given for weight, given in zip(weights.tolist(), by_nodes, strict=True)]).sum(0)
    classes, first = distinct[0].label_names(), accounts[0]
    members = average_members(runs, explainable)
    notes = dict.fromkeys(note for account in accounts for note in account.notes)
    found = replace(
        first,
        run=str(distinct[0].path.parent.parent),
        model="auto",
        predicted=classes[winner],
        probability=float(probabilities[winner]),
        runner_up=classes[runner_up],
        runner_up_probability=float(probabilities[runner_up]),
        mu=None,
        sum=Shares(*_mean([(weight, account.sum) for weight, account in weighted])),
        parts=_parts(weighted),
        sources=_sources(weighted, top),
        features=_features(weighted),
        origins={name: sum(weight * account.origins[name] for weight, account in weighted) for name in first.origins},
        members=members,
        notes=(*notes, *average_member_notes(members)),
    )
    return finished_explanation(found, largest_neighbour_shares(models[0], by_node, index, top), top)


def average_members(runs: Sequence[Run], explainable: Sequence[Run]) -> tuple[Member, ...]:
    """The members of an average, how much each counts, and whether it is `explainable`: its logits are taken apart."""
    counts = Counter(run.path for run in runs)
    return tuple(
        Member(run.path.name, run.config.model, counts[run.path] / len(runs), run in explainable)
        for run in {run.path: run for run in runs}.values()
    )


def average_member_notes(members: Sequence[Member]) -> list[str]:
    """Which members are not taken apart, and that parts are means where several are."""
    notes, opaque = [], [member for member in members if not member.decomposed]
    if opaque:
        share = sum(member.share for member in opaque)
        listed = ", ".join(f"{member.model} ({member.run})" for member in opaque)
        notes.append(f"{share:.0%} of the average comes from members that cannot be decomposed: {listed}")
    decomposed = len(members) - len(opaque)
    if decomposed > 1:
        notes.append(f"parts are means over {decomposed} members' logits; the probabilities are of all members")
    return notes


@torch.no_grad()
def _probabilities(run: Run, graph: Graph, split: int) -> npt.NDArray[np.float64]:
    fitted = Fitted.of(run, graph, torch.float64)
    logits = fitted.model(split)(fitted.problem.x, fitted.problem.adjacency)
    return np.asarray(run.task().activation(logits.double()).numpy())


def _mean(weighted: Sequence[tuple[float, Any]]) -> tuple[float, float]:
    """The weighted sums of `winner` and `margin`."""
    return (
        sum(weight * shares.winner for weight, shares in weighted),
        sum(weight * shares.margin for weight, shares in weighted),
    )


def _by_name(weighted: Sequence[tuple[float, Sequence[Any]]], name: str) -> dict[str, list[tuple[float, Any]]]:
    """Group things of all members by name, with the weights of the members; one without a thing gives nothing to it."""
    together: dict[str, list[tuple[float, Any]]] = {}
    for weight, things in weighted:
        for thing in things:
            together.setdefault(getattr(thing, name), []).append((weight, thing))
    return together


def _parts(weighted: Weighted) -> tuple[Part, ...]:
    named = _by_name([(weight, account.parts) for weight, account in weighted], "part")
    return tuple(Part(name, *_mean(shares)) for name, shares in named.items())


def _features(weighted: Weighted) -> tuple[FeatureShare, ...]:
    """The mean share of each feature, the largest first."""
    named = _by_name([(weight, account.features) for weight, account in weighted], "feature")
    features = [
        FeatureShare(
            name,
            sum(weight * share.margin for weight, share in shares),
            sum(weight * share.itself for weight, share in shares),
            sum(weight * share.others for weight, share in shares),
        )
        for name, shares in named.items()
    ]
    return tuple(sorted(features, key=lambda feature: -abs(feature.margin)))


def _sources(weighted: Weighted, top: int) -> tuple[Source, ...]:
    """The nodes behind each part, of the members that list them among those that count most."""
    merged = []
    for part, sources in _by_name([(weight, account.sources) for weight, account in weighted], "part").items():
        nodes = _by_name([(weight, source.top) for weight, source in sources], "node")
        listed = []
        for others in nodes.values():
            winner, margin = _mean(others)
            listed.append(replace(others[0][1], winner=winner, margin=margin))
        listed.sort(key=lambda other: -abs(other.margin))
        merged.append(Source(part, max(source.nodes for _, source in sources), tuple(listed[:top])))
    return tuple(merged)
