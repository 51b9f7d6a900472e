"""Who is behind a prediction: what each other node gives to the lead, through all hops and through links together."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from gpcn.explained_model import ExplainedModel

HOPS, LINKS = 0, 1
NAMED = 2  # that a sentence names: the ones that give most


def no_shares(explained: ExplainedModel) -> Tensor:
    """`[2, N]` zeros: what each node gives through hops, and what through links, to be added up."""
    return torch.zeros(2, explained.graph.num_nodes, dtype=torch.float64)


def listed_neighbours(explained: ExplainedModel, shares: Tensor, node: int, top: int) -> list[dict[str, Any]]:
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
    leading = total.argsort(descending=True, stable=True)[:NAMED]
    chosen = dict.fromkeys([*largest[:top].tolist(), *leading.tolist()])
    return [
        {
            **explained.named(near),
            "role": explained.roles[near],
            "margin": float(total[near]),
            "hops": float(shares[HOPS, near]),
            "links": float(shares[LINKS, near]),
        }
        for near in sorted(chosen, key=lambda near: -abs(float(total[near])))
        if shares[:, near].any() and near != node
    ]
