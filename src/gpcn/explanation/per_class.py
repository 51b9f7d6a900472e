"""What carries a class overall: the parts and features of its lead, averaged over nodes, and its most typical nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from gpcn.core.errors import ConfigError, DataError, near_matches
from gpcn.explanation.account import ClassExplanation, ClassFeature, ClassPart, TypicalNode
from gpcn.explanation.average import average_member_notes, average_members
from gpcn.explanation.explainable import can_be_explained, common_explained_split, explainable_runs, explained_split
from gpcn.explanation.explained_model import ExplainedModel
from gpcn.explanation.gradients import RESIDUAL, WITHOUT, gradient_approximation_note, model_integrated_gradients
from gpcn.explanation.sentences import class_explanation_sentences
from gpcn.graph import Graph
from gpcn.nn import decomposition
from gpcn.nn.attribution import attributions
from gpcn.runs.run import Run

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ClassShares:
    """What one model gives to the mean lead of a class over `n` nodes.

    Args:
        profiles: each part's share for every node, `[n]`; by gradients the lead alone, under an empty name.
        parts: each part's share of the mean lead.
        features: `[2, q]`, of each feature: directly, and through links; by gradients all in the first row.
        origins: all features, links and biases, and where there is one, the residual.
    """

    profiles: dict[str, Floats]
    parts: dict[str, float]
    features: Tensor
    origins: dict[str, float]
    notes: tuple[str, ...]


def explain_class(
    runs: Sequence[Run], graph: Graph, name: str, *, split: int | None = None, top: int = 5
) -> ClassExplanation:
    """Explain the class called `name`, by a run, or by the average of several.

    The lead of a class is its logit minus the mean logit of all others. It is averaged over the nodes that are
    predicted to be of the class; where there are none, over those whose label it is. Being linear in the logits, the
    mean lead is a sum over features, hops, links and biases as exactly as any single one. `members` says whose average
    it is.
    """
    distinct = list({run.path: run for run in runs}.values())
    number = explained_split(distinct[0], split) if len(distinct) == 1 else common_explained_split(distinct, split)
    label = _class_number(distinct[0], name)
    explainable = explainable_runs(distinct)
    counts = Counter(run.path for run in runs)
    explained = [ExplainedModel.of(run, graph, number) for run in distinct]
    weights = np.array([counts[run.path] for run in distinct]) / len(runs)
    member_probabilities = [model.run.task().activation(model.logits()).numpy() for model in explained]
    probabilities = np.average(member_probabilities, axis=0, weights=weights)
    nodes, chosen_by = _nodes_of_class(graph, probabilities, label, name)
    lead = class_lead(label, probabilities.shape[1])
    members = [model for model in explained if model.run in explainable]
    total = sum(counts[model.run.path] for model in members)
    weighted = [(counts[model.run.path] / total, class_lead_shares(model, nodes, lead)) for model in members]
    names = dict.fromkeys(part for _, shares in weighted for part in shares.parts)
    parts = {part: sum(weight * shares.parts.get(part, 0.0) for weight, shares in weighted) for part in names}
    labelled = [int(graph.labels[node]) for node in nodes if graph.labels[node] >= 0]
    others = [other for other in distinct[0].label_names() if other != name]
    listed = average_members(runs, explainable)
    member_notes = average_member_notes(listed)
    found = ClassExplanation(
        run=str(distinct[0].path),
        model=distinct[0].config.model if len(distinct) == 1 else "auto",
        graph=graph.name,
        split=number,
        name=name,
        over=others[0] if len(others) == 1 else "the mean of the other classes",
        nodes=len(nodes),
        chosen_by=chosen_by,
        right=sum(value == label for value in labelled) / len(labelled) if labelled else None,
        method="exact" if can_be_explained(members[0].run) else "integrated gradients",
        lead=sum(parts.values()),
        parts=tuple(ClassPart(part, margin) for part, margin in parts.items()),
        features=_features(members[0], weighted)[:top],
        origins={
            origin: sum(weight * shares.origins[origin] for weight, shares in weighted)
            for origin in weighted[0][1].origins
        },
        typical=_typical(members[0], nodes, weighted, probabilities[:, label], top),
        members=listed,
        notes=tuple(dict.fromkeys(text for _, shares in weighted for text in (*shares.notes, *member_notes))),
    )
    return replace(found, sentences=tuple(class_explanation_sentences(found)))


def class_lead(label: int, classes: int) -> Tensor:
    """`[C]`, the weights of the logits: one for the class, together minus one for all others."""
    lead = torch.full((classes,), -1 / (classes - 1), dtype=torch.float64)
    lead[label] = 1
    return lead


def class_lead_shares(explained: ExplainedModel, nodes: Sequence[int], lead: Tensor) -> ClassShares:
    """What the parts and features of one model give to the combination `lead` `[C]` of logits, mean over `nodes`."""
    chosen = torch.tensor(nodes)
    weights = torch.zeros(explained.graph.num_nodes, dtype=torch.float64)
    weights[chosen] = 1 / len(nodes)
    problem, model = explained.fitted.problem, explained.model
    features = torch.zeros(2, explained.fitted.graph.num_features, dtype=torch.float64)
    notes = explained.fitted.notes
    if not can_be_explained(explained.run):
        leads = (explained.logits() @ lead)[chosen]
        result = model_integrated_gradients(explained, weights, lead)
        features[0] = result.shares.sum(0)
        origins = {"features": float(features.sum()), WITHOUT: result.without, RESIDUAL: result.residual}
        notes = (*notes, gradient_approximation_note(result, float(leads.mean())))
        return ClassShares({"": leads.numpy()}, origins, features, origins, notes)
    profiles = {
        part: (values[chosen] @ lead).numpy()
        for part, values in decomposition.parts(model, problem.x, problem.adjacency)
    }
    links = decomposition.as_decomposable(model).link_names()
    origins = {"features": 0.0, "links": 0.0, "biases": 0.0}
    for share in attributions(model, problem.x, problem.adjacency, weights, lead):
        real = share.features >= 0
        row = 0 if share.part == decomposition.FEATURES else 1
        features[row].index_add_(0, share.features[real].long(), share.shares[real])
        origins["links" if share.part in links else "biases"] += float(share.shares[~real].sum())
    origins["features"] = float(features.sum())
    means = {part: float(values.mean()) for part, values in profiles.items()}
    return ClassShares(profiles, means, features, origins, notes)


def _class_number(run: Run, name: str) -> int:
    names = run.label_names()
    if name not in names:
        raise ConfigError(f"{run.path} has no class {name!r}; {near_matches(name, names)}")
    return names.index(name)


def _nodes_of_class(graph: Graph, probabilities: Floats, label: int, name: str) -> tuple[list[int], str]:
    predicted = np.flatnonzero(probabilities.argmax(axis=1) == label).tolist()
    if predicted:
        return predicted, "predicted"
    labelled = np.flatnonzero(graph.labels == label).tolist()
    if not labelled:
        raise DataError(
            f"no node of {graph.name} is predicted {name!r} and none has that label, so there is nothing to average; "
            "choose another class"
        )
    return labelled, "labelled"


def _features(explained: ExplainedModel, weighted: Sequence[tuple[float, ClassShares]]) -> tuple[ClassFeature, ...]:
    mean = torch.stack([weight * shares.features for weight, shares in weighted]).sum(0)
    order = mean.sum(0).abs().argsort(descending=True, stable=True).tolist()
    exact = can_be_explained(explained.run)
    return tuple(
        ClassFeature(
            feature=explained.feature_name(feature),
            margin=float(mean[:, feature].sum()),
            directly=float(mean[0, feature]) if exact else None,
            through_links=float(mean[1, feature]) if exact else None,
        )
        for feature in order
        if mean[:, feature].any()
    )


def _typical(
    explained: ExplainedModel,
    nodes: Sequence[int],
    weighted: Sequence[tuple[float, ClassShares]],
    probabilities: Floats,
    top: int,
) -> tuple[TypicalNode, ...]:
    """The nodes whose parts are nearest to the mean of the parts."""
    profiles: dict[str, Floats] = {}
    for weight, shares in weighted:
        for part, values in shares.profiles.items():
            profiles[part] = profiles.get(part, 0.0) + weight * values
    by_node = np.stack(list(profiles.values()), axis=1)  # [n, parts]
    distance = np.linalg.norm(by_node - by_node.mean(axis=0), axis=1)
    return tuple(
        TypicalNode(
            node=explained.node_name(nodes[index]),
            label=explained.label_name(nodes[index]),
            role=explained.roles[nodes[index]],
            probability=float(probabilities[nodes[index]]),
            lead=float(by_node[index].sum()),
        )
        for index in np.argsort(distance, kind="stable")[:top].tolist()
    )
