"""Why a run predicts what it predicts for one node: the parts of its logits, and the nodes and features behind them."""

from __future__ import annotations

from dataclasses import asdict, replace

import torch
from torch import Tensor

from gpcn.explanation.account import (
    BriefExplanation,
    ClassPart,
    Explanation,
    FeatureShare,
    Neighbour,
    Part,
    Shares,
    Source,
)
from gpcn.explanation.explainable import can_be_explained, explained_split
from gpcn.explanation.explained_model import ExplainedModel, explained_node_position
from gpcn.explanation.gradients import explanation_by_gradients
from gpcn.explanation.neighbour_shares import HOPS, LINKS, largest_neighbour_shares, zero_neighbour_shares
from gpcn.explanation.sentences import explanation_sentences
from gpcn.graph import Graph
from gpcn.nn import decomposition
from gpcn.nn.attribution import attributions
from gpcn.nn.bank_model import BankModel
from gpcn.runs.run import Run


def explain(run: Run, graph: Graph, node: str, *, split: int | None = None, top: int = 5) -> Explanation:
    """Explain one prediction by the model of one split (default: the first finished one).

    Adding the same number to all logits changes no probability, so `margin` is what can be compared between parts,
    and what the `top` nodes of each part and the `top` features are chosen by. A feature's share is exact
    (`nn.attribution`): what it gives as the node's own, and what it gives as a feature of `others`. `neighbours` are
    the other nodes by what each gives over all parts, `hops` and `links` apart. Models that are no sum over hops have
    integrated gradients instead, and a part `residual` (`gradients`).
    """
    explained = ExplainedModel.of(run, graph, explained_split(run, split))
    index = explained_node_position(graph, node)
    found, by_node = node_explanation(explained, index, None, top)
    return finished_explanation(found, largest_neighbour_shares(explained, by_node, index, top), top)


def finished_explanation(found: Explanation, neighbours: tuple[Neighbour, ...], top: int) -> Explanation:
    """An account with its sentences, the `top` features and `neighbours`."""
    sentences = explanation_sentences(replace(found, neighbours=neighbours))
    return replace(found, features=found.features[:top], neighbours=neighbours[:top], sentences=tuple(sentences))


def node_explanation(
    explained: ExplainedModel, node: int, pair: tuple[int, int] | None, top: int
) -> tuple[Explanation, Tensor]:
    """The account of `explain` with all features and no sentences, about a `pair` of classes.

    The default pair are the two that the model finds likeliest. Beside it stands `[2, N]`: what each node gives to the
    lead through hops, and by links.
    """
    if not can_be_explained(explained.run):
        return explanation_by_gradients(explained, node, pair, top)
    model, problem = explained.model, explained.fitted.problem
    inputs = problem.x, problem.adjacency
    parts = {name: part[node] for name, part in decomposition.parts(model, *inputs)}
    logits = torch.stack(list(parts.values())).sum(0)
    winner, runner_up = pair or (int(index) for index in logits.topk(2).indices)

    def shares(given: Tensor) -> Shares:
        return Shares(float(given[winner]), float(given[winner] - given[runner_up]))

    sources, by_node, links = [], zero_neighbour_shares(explained), decomposition.as_decomposable(model).link_names()
    for source in decomposition.sources(model, *inputs, node):
        if source.part == decomposition.FEATURES:
            continue  # of nobody but the node itself
        leads = source.gives[:, winner] - source.gives[:, runner_up]
        by_node[LINKS if source.part in links else HOPS].index_add_(0, source.nodes, leads)
        order = leads.abs().argsort(descending=True, stable=True)[:top]
        listed = tuple(
            explained.source_node(other, shares(source.gives[index]), itself=other == node)
            for index, other in zip(order, source.nodes[order].tolist(), strict=True)
        )
        sources.append(Source(source.part, len(source.nodes), listed))
    features, origins = _features(explained, decomposition.as_decomposable(model), node, winner, runner_up)
    found = explained.explanation(
        node,
        logits,
        winner,
        runner_up,
        method="exact",
        sum=shares(logits),
        parts=tuple(Part(name, **asdict(shares(part))) for name, part in parts.items()),
        sources=tuple(sources),
        features=features,
        origins=origins,
        notes=tuple(explained.fitted.notes),
    )
    return found, by_node


def _features(
    explained: ExplainedModel, model: BankModel, node: int, winner: int, runner_up: int
) -> tuple[tuple[FeatureShare, ...], dict[str, float]]:
    """The share of the lead that each input feature has, the largest first: of the node's own, and of others'.

    Beside it what all features, links and biases give together; these three are the lead.
    """
    problem = explained.fitted.problem
    lead = _lead_over(explained, winner, runner_up)
    shares = torch.zeros(2, explained.fitted.graph.num_features, dtype=torch.float64)
    origins = {"features": 0.0, "links": 0.0, "biases": 0.0}
    for part in attributions(model, problem.x, problem.adjacency, explained.indicator(node), lead):
        real = part.features >= 0
        of_others = (part.nodes[real] != node).long()
        shares.index_put_((of_others, part.features[real].long()), part.shares[real], accumulate=True)
        origins["links" if part.part in model.link_names() else "biases"] += float(part.shares[~real].sum())
    origins["features"] = float(shares.sum())
    return explained.feature_shares(shares.sum(0), shares[0], shares[1]), origins


def _lead_over(explained: ExplainedModel, winner: int, runner_up: int) -> Tensor:
    """`[C]`, the weights of the logits in the lead of `winner` over `runner_up`."""
    lead = torch.zeros(len(explained.run.label_names()), dtype=torch.float64)
    lead[winner], lead[runner_up] = 1, -1
    return lead


def brief_explanation(
    explained: ExplainedModel, node: int, winner: int, runner_up: int, top: int = 3
) -> BriefExplanation:
    """Parts, nodes and features of one lead, by one pass over its shares: as much of an account as a line needs."""
    lead = _lead_over(explained, winner, runner_up)
    problem = explained.fitted.problem
    features = torch.zeros(explained.fitted.graph.num_features, dtype=torch.float64)
    nodes = torch.zeros(explained.graph.num_nodes, dtype=torch.float64)
    parts = []
    for share in attributions(explained.model, problem.x, problem.adjacency, explained.indicator(node), lead):
        parts.append(ClassPart(share.part, float(share.shares.sum())))
        real = share.features >= 0
        features.index_add_(0, share.features[real].long(), share.shares[real])
        nodes.index_add_(0, share.nodes[share.nodes >= 0], share.shares[share.nodes >= 0])
    nodes[node] = 0
    largest = nodes.argsort(descending=True, stable=True)[:top].tolist()
    strongest = features.argsort(descending=True, stable=True)[:top].tolist()
    return BriefExplanation(
        tuple(parts),
        tuple((explained.node_name(other), float(nodes[other])) for other in largest),
        tuple((explained.feature_name(feature), float(features[feature])) for feature in strongest),
    )
