"""Who is behind a prediction: what each other node gives to the lead, through all hops and through links together."""

from __future__ import annotations

import torch
from torch import Tensor

from gpcn.explanation.account import Neighbour
from gpcn.explanation.explained_model import ExplainedModel

HOPS, LINKS = 0, 1
IN_SENTENCES = 2  # neighbours that a sentence names: the ones that give most


def zero_neighbour_shares(explained: ExplainedModel) -> Tensor:
    """`[2, N]` zeros: what each node gives through hops, and what through links, to be added up."""
    return torch.zeros(2, explained.graph.num_nodes, dtype=torch.float64)


def largest_neighbour_shares(explained: ExplainedModel, shares: Tensor, node: int, top: int) -> tuple[Neighbour, ...]:
    """The nodes with the largest share of the lead, for or against, but for `node` itself; `top` and a few that lead.

    Args:
        explained: whose names and roles.
        shares: `[2, N]`, of the lead.
        node: whose prediction it is.
        top: how many to list at least, if there are as many.
    """
    total = shares.sum(0)
    total[node] = 0
    largest = total.abs().argsort(descending=True, stable=True)
    leading = total.argsort(descending=True, stable=True)[:IN_SENTENCES]
    chosen = dict.fromkeys([*largest[:top].tolist(), *leading.tolist()])
    return tuple(
        Neighbour(
            node=explained.node_name(other),
            label=explained.label_name(other),
            role=explained.roles[other],
            margin=float(total[other]),
            hops=float(shares[HOPS, other]),
            links=float(shares[LINKS, other]),
        )
        for other in sorted(chosen, key=lambda other: -abs(float(total[other])))
        if shares[:, other].any() and other != node
    )
