"""Banks of operators and blocks: ours, the same model in PyTorch Geometric, and the floor of bare kernels."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.contenders import WeightedSum
from gpcn import Graph
from gpcn.nn import SparseOperator, inputs_of, zoo
from gpcn.nn.multi_gpcn import MultiGPCN

BANK_MODELS = {
    "multi-gpcn-link": {"operators": "directions", "link_operators": "out-raw"},
    "deep-gpcn": {"operators": "directions", "blocks": 4},
}


def ours(graph: Graph, name: str, hidden: int, layers: int, dropout: float) -> MultiGPCN:
    """Our model."""
    return zoo.build(
        name,
        in_channels=graph.num_features,
        out_channels=graph.num_classes,
        num_nodes=graph.num_nodes,
        directed=graph.directed,
        hidden=hidden,
        layers=layers,
        dropout=dropout,
        **BANK_MODELS[name],
    )  # type: ignore[return-value]


class Passing(nn.Module):
    """The same network of `torch.nn` layers and PyTorch Geometric message passing on `edge_index`, power by power."""

    def __init__(self, model: MultiGPCN, graph: Graph, dropout: float) -> None:
        super().__init__()
        hidden, powers = model.terms.weight.shape[2], model.terms.weight.shape[0]
        self.depths, self.dropout, self.mu = model.depths, dropout, model.mu
        self.front = nn.Linear(graph.num_features, hidden)
        self.blocks = nn.ModuleList(
            nn.ModuleList([nn.BatchNorm1d(hidden), nn.Linear(powers * hidden, hidden), nn.Linear(hidden, hidden)])
            for _ in range(model.blocks - 1)
        )
        self.last_norm = nn.BatchNorm1d(hidden) if model.blocks > 1 else nn.Identity()
        self.out = nn.Linear(powers * hidden, graph.num_classes)
        links = len(model.link_bank)
        self.link = nn.Parameter(torch.randn(links, graph.num_nodes, hidden)) if links else None
        self.link_out = nn.Parameter(torch.randn(links, hidden, graph.num_classes)) if links else None
        self.conv = WeightedSum()

    def powers(self, x: Tensor, operators: Any) -> Tensor:
        stack = [x]
        for operator, depth in zip(operators, self.depths, strict=True):
            current = x
            for _ in range(depth):
                current = self.conv(current, *operator)
                stack.append(current)
        return torch.cat(stack, dim=1)

    def forward(self, x: Tensor, links: Any) -> Tensor:
        operators, link_operators = links
        front = self.dropout if not self.blocks else 0.0
        x = F.relu(self.front(F.dropout(x, front, self.training)))
        x = F.dropout(x, self.dropout, self.training)
        for norm, spread, mixing in self.blocks:
            active = F.dropout(F.relu(spread(self.powers(norm(x), operators))), self.dropout, self.training)
            x = x + F.dropout(mixing(active), self.dropout, self.training)
        total = self.out(self.powers(self.last_norm(x), operators))
        if self.link is None:
            return total
        linked = [
            self.conv(vectors @ weights, *operator)
            for operator, vectors, weights in zip(link_operators, self.link, self.link_out, strict=True)
        ]
        return self.mu * total + (1 - self.mu) * sum(linked)


def passing_inputs(model: MultiGPCN, graph: Graph) -> tuple[Tensor, Any]:
    """Dense features; every operator as `edge_index` (from neighbour to node) and weights."""
    features = graph.features.toarray() if graph.has_sparse_features else graph.features
    bound = model.bind(inputs_of(graph)[1], None, graph.num_nodes)

    def edges(operator: SparseOperator) -> tuple[Tensor, Tensor]:
        matrix = operator.csr.tensor.to_sparse(layout=torch.sparse_coo).coalesce()
        rows, columns = matrix.indices()
        return torch.stack([columns, rows]).long(), matrix.values()

    return torch.tensor(features), tuple(
        [edges(operator) for operator in group] for group in (bound.operators, bound.links)
    )


class Floor:
    """The products and the optimizer's update of one epoch with validation, and nothing else."""

    def __init__(self, model: MultiGPCN, graph: Graph, dropout: float) -> None:
        self.x, links = inputs_of(graph)
        bound = model.bind(links, None, graph.num_nodes)
        self.operators, self.link_operators = bound.operators, bound.links
        self.model, self.passes = model, 2 if dropout > 0 or model.blocks > 1 else 1
        powers, classes, hidden = model.terms.weight.shape
        self.narrow, self.hidden = torch.randn(graph.num_nodes, classes), torch.randn(graph.num_nodes, hidden)
        self.first, self.square = torch.randn(graph.num_features, hidden), torch.randn(hidden, hidden)
        self.terms, self.wide = torch.randn(hidden, powers * classes), torch.randn(hidden, powers * hidden)
        self.back, self.back_wide = (torch.randn(graph.num_nodes, powers * width) for width in (classes, hidden))
        for parameter in model.parameters():
            parameter.grad = torch.randn_like(parameter)
        self.optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-3, fused=True)

    @torch.no_grad()
    def __call__(self) -> None:
        for _ in range(self.passes):
            self.forward()
        self.backward()
        self.optimizer.step()

    def spread(self, x: Tensor, side: str) -> None:
        for operator, depth in zip(self.operators, self.model.depths, strict=True):
            for _ in range(depth):
                getattr(operator, side).product(x)

    def forward(self) -> None:
        _ = self.x.matrix.product(self.first) if isinstance(self.x, SparseOperator) else self.x @ self.first
        for _ in self.model.inner:
            _ = self.hidden @ self.wide
            self.spread(self.hidden, "matrix")
            _ = self.hidden @ self.square
        _ = self.hidden @ self.terms
        self.spread(self.narrow, "matrix")
        for operator in self.link_operators:
            _ = self.hidden @ self.square[:, : self.narrow.shape[1]]
            operator.matrix.product(self.narrow)

    def backward(self) -> None:
        self.spread(self.narrow, "transposed")
        _ = self.back @ self.terms.T
        _ = self.back.T @ self.hidden
        for operator in self.link_operators:
            operator.transposed.product(self.narrow)
            _ = self.narrow @ self.square[:, : self.narrow.shape[1]].T
            _ = self.hidden.T @ self.narrow
        for _ in self.model.inner:
            _ = self.hidden @ self.square.T
            _ = self.hidden.T @ self.hidden
            self.spread(self.hidden, "transposed")
            _ = self.back_wide @ self.wide.T
            _ = self.back_wide.T @ self.hidden
        if isinstance(self.x, SparseOperator):
            self.x.transposed.product(self.hidden)
        else:
            _ = self.x.T @ self.hidden
