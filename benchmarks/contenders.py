"""What a user would run instead, and the floor below which nothing can go.

Every contender is `(model, x, links)` for `one_epoch`, except the floor, which is bare kernels.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import MessagePassing
from torch_geometric.nn.models import GCN, LINKX

from gpcn import Graph
from gpcn.nn import Adjacency, SparseOperator, inputs_of


class Published(nn.Module):
    """The family as published: dense features, COO products, layer by layer, PyTorch's dropout."""

    def __init__(
        self,
        q: int,
        h: int,
        c: int,
        layers: int,
        mlp_layers: int,
        dropout: float,
        gamma: float,
        n: int,
        *,
        link: bool,
        adaptive: bool,
    ) -> None:
        super().__init__()
        self.front = nn.ModuleList(nn.Linear(q if t == 0 else h, h) for t in range(mlp_layers))
        self.residual = nn.Linear(h, h)
        self.out = nn.Linear(h, c)
        self.link = nn.Parameter(torch.randn(n, h) / n**0.5) if link else None
        self.mix = nn.Parameter(torch.zeros(2)) if link else None
        self.scales = nn.Parameter(torch.full((layers,), gamma)) if adaptive else [gamma] * layers
        self.dropout = dropout

    def propagate(self, links: Any, x: Tensor) -> Tensor:
        return torch.sparse.mm(links, x)

    def forward(self, x: Tensor, links: Any) -> Tensor:
        for layer in self.front:
            x = F.relu(layer(F.dropout(x, self.dropout, self.training)))
        for scale in self.scales:
            x = x + scale * self.propagate(links, self.residual(x))
        if self.link is not None:
            mu, rest = torch.softmax(self.mix, 0)
            x = mu * x + rest * self.propagate(links, self.link)
        return self.out(F.dropout(x, self.dropout, self.training))


class Passing(Published):
    """The same as PyTorch Geometric message passing on `edge_index`."""

    def __init__(self, *sizes: Any, **options: Any) -> None:
        super().__init__(*sizes, **options)
        self.conv = WeightedSum()

    def propagate(self, links: Any, x: Tensor) -> Tensor:
        return self.conv(x, *links)


class WeightedSum(MessagePassing):
    """`Σ_j w_ij x_j`."""

    def forward(self, x: Tensor, edge_index: Tensor, weight: Tensor) -> Tensor:
        return self.propagate(edge_index, x=x, weight=weight)

    def message(self, x_j: Tensor, weight: Tensor) -> Tensor:
        return weight.unsqueeze(1) * x_j


def dense_inputs(graph: Graph) -> tuple[Tensor, Tensor, tuple[Tensor, Tensor]]:
    """Dense features, `Ā` as COO, `Ā` as `edge_index` (from neighbour to node) and weights."""
    features = graph.features if not graph.has_sparse_features else graph.features.toarray()
    matrix = Adjacency.of(graph).operator().csr.tensor.to_sparse(layout=torch.sparse_coo).coalesce()
    rows, columns = matrix.indices()
    coo = torch.sparse_coo_tensor(
        matrix.indices().long(), matrix.values(), matrix.shape, is_coalesced=True, check_invariants=True
    )
    return torch.tensor(features), coo, (torch.stack([columns, rows]).long(), matrix.values())


def pyg_gcn(graph: Graph, hidden: int, dropout: float) -> nn.Module:
    return GCN(graph.num_features, hidden, num_layers=2, out_channels=graph.num_classes, dropout=dropout)


def pyg_linkx(graph: Graph, hidden: int, dropout: float) -> nn.Module:
    return LINKX(graph.num_nodes, graph.num_features, hidden, graph.num_classes, num_layers=1, dropout=dropout)


class Floor:
    """The products and the optimizer's update of one epoch with validation, and nothing else."""

    def __init__(self, graph: Graph, hidden: int, layers: int, mlp_layers: int, dropout: float, link: bool) -> None:
        self.x, links = inputs_of(graph)
        self.bar = links.operator()
        n, q, c = graph.num_nodes, graph.num_features, graph.num_classes
        self.layers, self.mlp_layers, self.link, self.twice = layers, mlp_layers, link, dropout > 0
        self.first, self.squares = torch.randn(q, hidden), [torch.randn(hidden, hidden) for _ in range(mlp_layers - 1)]
        self.hidden, self.narrow = torch.randn(n, hidden), torch.randn(n, c)
        self.terms, self.back = torch.randn(hidden, (layers + 1) * c), torch.randn(n, (layers + 1) * c)
        self.table, self.out = torch.randn(n if link else 0, hidden), torch.randn(hidden, c)
        shapes = [self.first.shape, *[torch.Size([hidden, hidden])] * mlp_layers, self.out.shape] + (
            [self.table.shape] if link else []
        )
        self.parameters = [nn.Parameter(torch.zeros(shape)) for shape in shapes]
        for parameter in self.parameters:
            parameter.grad = torch.randn(parameter.shape)
        self.optimizer = torch.optim.Adam(self.parameters, lr=1e-3, weight_decay=1e-3, fused=True)

    @torch.no_grad()
    def __call__(self) -> None:
        for _ in range(2 if self.twice else 1):
            self.forward()
        self.backward()
        self.optimizer.step()

    def forward(self) -> None:
        self.multiply(self.first)
        for square in self.squares:
            _ = self.hidden @ square
        _ = self.hidden @ self.terms
        for _ in range(self.layers):
            self.bar.matrix.product(self.narrow)
        if self.link:
            _ = self.table @ self.out

    def backward(self) -> None:
        for _ in range(self.layers):
            self.bar.transposed.product(self.narrow)
        _ = self.back @ self.terms.T
        _ = self.back.T @ self.hidden
        for square in self.squares:
            _ = self.hidden @ square.T
            _ = self.hidden.T @ self.hidden
        if isinstance(self.x, SparseOperator):
            self.x.transposed.product(self.hidden)
        else:
            _ = self.x.T @ self.hidden
        if self.link:
            _ = self.narrow @ self.out.T
            _ = self.table.T @ self.narrow

    def multiply(self, weight: Tensor) -> None:
        _ = self.x.matrix.product(weight) if isinstance(self.x, SparseOperator) else self.x @ weight
