"""The account of a prediction by a model whose logits are no sum over hops: integrated gradients, residual stated."""

from __future__ import annotations

import torch
from torch import Tensor

from gpcn.explanation.account import Explanation, Part, Shares, Source
from gpcn.explanation.explained_model import ExplainedModel
from gpcn.explanation.neighbour_shares import HOPS, zero_neighbour_shares
from gpcn.nn.integrated_gradients import IntegratedGradients, integrated_gradients

FEATURES, OTHERS, WITHOUT, RESIDUAL = "features", "features of others", "links and biases", "residual"


def explanation_by_gradients(
    explained: ExplainedModel, node: int, pair: tuple[int, int] | None, top: int
) -> tuple[Explanation, Tensor]:
    """As `one_prediction.node_explanation`, with four parts: the node's own features, those of other nodes, what links
    and biases say where all features are zero, and the residual of the approximation."""
    logits = explained.logits()[node]
    winner, runner_up = pair or (int(index) for index in logits.topk(2).indices)
    unit = torch.eye(len(logits), dtype=torch.float64)
    of_winner = model_integrated_gradients(explained, explained.indicator(node), unit[winner])
    of_lead = model_integrated_gradients(explained, explained.indicator(node), unit[winner] - unit[runner_up])
    winners, margins = _parts(of_winner, node), _parts(of_lead, node)
    lead = float(logits[winner] - logits[runner_up])
    by_node = zero_neighbour_shares(explained)
    by_node[HOPS] = of_lead.shares.sum(1)
    own, total = of_lead.shares[node], of_lead.shares.sum(0)
    found = explained.explanation(
        node,
        logits,
        winner,
        runner_up,
        method="integrated gradients",
        sum=Shares(float(logits[winner]), lead),
        parts=tuple(Part(name, winners[name], margins[name]) for name in margins),
        sources=_sources(explained, node, of_winner.shares.sum(1), of_lead.shares.sum(1), top),
        features=explained.feature_shares(total, own, total - own),
        origins={
            "features": margins[FEATURES] + margins[OTHERS],
            WITHOUT: margins[WITHOUT],
            RESIDUAL: margins[RESIDUAL],
        },
        notes=(*explained.fitted.notes, gradient_approximation_note(of_lead, lead)),
    )
    return found, by_node


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


def _sources(explained: ExplainedModel, node: int, winners: Tensor, leads: Tensor, top: int) -> tuple[Source, ...]:
    """The other nodes whose features count most; nothing where no other counts."""
    margins = leads.clone()
    margins[node] = 0
    count = int(margins.count_nonzero())
    nodes = margins.abs().argsort(descending=True, stable=True)[: min(top, count)].tolist()
    listed = tuple(
        explained.source_node(other, Shares(float(winners[other]), float(leads[other])), itself=False)
        for other in nodes
    )
    return (Source(OTHERS, count, listed),) if listed else ()
