"""The nodes of its graph that a model with a vector per node is called on, where these are not all."""

from __future__ import annotations

import torch
from torch import Tensor

from gpcn.core.errors import ConfigError


def check_node_ids(model: str, num_nodes: int, given: int, node_ids: Tensor | None) -> Tensor | None:
    """Return the rows of the model's vectors for `given` nodes, on a subgraph `node_ids` `[n]`; `None` means all."""
    if node_ids is None:
        if num_nodes != given:
            raise ConfigError(
                f"{model} learns a vector for each of its {num_nodes} nodes, but there are features for {given}; on a "
                "subgraph pass node_ids=, the number of each of its nodes in the whole graph (batch.n_id of a "
                "NeighborLoader); for another graph, make a model for this graph"
            )
        return None
    if not isinstance(node_ids, Tensor) or node_ids.dtype not in (torch.int32, torch.int64):
        kind = node_ids.dtype if isinstance(node_ids, Tensor) else type(node_ids).__name__
        raise ConfigError(f"node_ids is of type {kind}; expected a tensor of whole numbers, one per node")
    if node_ids.shape != (given,):
        raise ConfigError(f"node_ids has shape {list(node_ids.shape)}; expected [{given}], a number per node")
    least, most = (int(node_ids.min()), int(node_ids.max())) if given else (0, 0)
    if least < 0 or most >= num_nodes:
        raise ConfigError(f"node_ids has numbers from {least} to {most}; {model} knows 0 to {num_nodes - 1}")
    return node_ids
