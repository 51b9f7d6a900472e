"""The account of a prediction by a model whose logits are no sum over hops: integrated gradients, residual stated."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from gpcn.explanation.explained_model import ExplainedModel
from gpcn.explanation.neighbour_shares import HOPS, zero_neighbour_shares
from gpcn.nn.integrated_gradients import IntegratedGradients, integrated_gradients

FEATURES, OTHERS, WITHOUT, RESIDUAL = "features", "features of others", "links and biases", "residual"


def explanation_by_gradients(
    explained: ExplainedModel, node: int, pair: tuple[int, int] | None, top: int
) -> dict[str, Any]:
    """As `one_prediction.node_explanation`, with four parts: the node's own features, those of other nodes, what links
    and biases say where all features are zero, and the residual of the approximation."""
    logits = explained.logits()[node]
    winner, runner_up = pair or (int(index) for index in logits.topk(2).indices)
    unit = torch.eye(len(logits), dtype=torch.float64)
    both = {
        "winner": model_integrated_gradients(explained, explained.indicator(node), unit[winner]),
        "margin": model_integrated_gradients(explained, explained.indicator(node), unit[winner] - unit[runner_up]),
    }
    parts = {share: _parts(result, node) for share, result in both.items()}
    lead = float(logits[winner] - logits[runner_up])
    by_node = zero_neighbour_shares(explained)
    by_node[HOPS] = both["margin"].shares.sum(1)
    return {
        **explained.header(node, logits, winner, runner_up),
        "method": "integrated gradients",
        "sum": {"winner": float(logits[winner]), "margin": lead},
        "parts": [
            {"part": name, **{share: parts[share][name] for share in parts}}
            for name in (FEATURES, OTHERS, WITHOUT, RESIDUAL)
        ],
        "sources": _sources(explained, node, {share: result.shares.sum(1) for share, result in both.items()}, top),
        "by_node": by_node,
        "features": _features(explained, both["margin"].shares, node),
        "origins": {
            "features": parts["margin"][FEATURES] + parts["margin"][OTHERS],
            WITHOUT: parts["margin"][WITHOUT],
            RESIDUAL: parts["margin"][RESIDUAL],
        },
        "notes": [*explained.fitted.notes, gradient_approximation_note(both["margin"], lead)],
    }


def model_integrated_gradients(explained: ExplainedModel, nodes: Tensor, logits: Tensor) -> IntegratedGradients:
    """Integrated gradients of the model's logits, weighted by `nodes` `[N]` and `logits` `[C]`, on its graph."""
    problem = explained.fitted.problem
    return integrated_gradients(explained.model, problem.x, problem.adjacency, nodes, logits)


def gradient_approximation_note(result: IntegratedGradients, lead: float) -> str:
    """That shares are approximate, and how good they are."""
    return (
        "this model's logits are no sum over hops, so shares are integrated gradients, from all features zero, over "
        f"{result.steps} points; they leave {result.residual:+.4f} of the lead of {lead:+.4f} unexplained (residual)"
    )


def _parts(result: IntegratedGradients, node: int) -> dict[str, float]:
    of_node = float(result.shares[node].sum())
    others = float(result.shares.sum()) - of_node
    return {FEATURES: of_node, OTHERS: others, WITHOUT: result.without, RESIDUAL: result.residual}


def _sources(explained: ExplainedModel, node: int, shares: dict[str, Tensor], top: int) -> list[dict[str, Any]]:
    """The other nodes whose features count most; nothing where no other counts."""
    margins = shares["margin"].clone()
    margins[node] = 0
    nodes = margins.abs().argsort(descending=True, stable=True)[: min(top, int(margins.count_nonzero()))]
    listed = [
        {
            **explained.node_and_label(other),
            "role": explained.roles[other],
            "itself": False,
            **{share: float(values[other]) for share, values in shares.items()},
        }
        for other in nodes.tolist()
    ]
    return [{"part": OTHERS, "nodes": int(margins.count_nonzero()), "top": listed}] if listed else []


def _features(explained: ExplainedModel, shares: Tensor, node: int) -> list[dict[str, Any]]:
    """The share of the lead that each feature has, the largest first: of the node's own, and of others'."""
    total, of_node = shares.sum(0), shares[node]
    return [
        {
            "feature": explained.feature_name(feature),
            "margin": float(total[feature]),
            "itself": float(of_node[feature]),
            "others": float(total[feature] - of_node[feature]),
        }
        for feature in total.abs().argsort(descending=True, stable=True).tolist()
        if shares[:, feature].any()
    ]
