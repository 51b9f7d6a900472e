"""The baselines that learn a vector per node from who is linked to whom: LINK and LINKX."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from torch import Tensor, nn
from torch.nn import functional as F

from gpcn.nn.argument_checks import check_channels, check_count, check_num_nodes
from gpcn.nn.base import Features, NodeClassifier, as_features
from gpcn.nn.engine.adjacency import AdjacencyLike
from gpcn.nn.engine.dropout import check_probability, dropout_sparse
from gpcn.nn.engine.dropout import dropout as drop
from gpcn.nn.engine.node_ids import check_node_ids
from gpcn.nn.engine.operator import SparseOperator
from gpcn.nn.layers import Linear


class LinkNetwork(NodeClassifier):
    """What `LINK` and `LINKX` share: a vector per node of one graph, learned from its links as they are."""

    def __init__(self, num_nodes: int | None, self_loops: bool) -> None:
        super().__init__()
        self.num_nodes, self.self_loops = check_num_nodes(type(self).__name__, num_nodes), self_loops

    def forward(
        self,
        x: Features,
        adjacency: AdjacencyLike,
        edge_weight: Tensor | None = None,
        node_ids: Tensor | None = None,
    ) -> Tensor:
        """Logits `[N, C]`; on a subgraph `node_ids` `[N]` are the numbers of its nodes in the whole graph."""
        rows = check_node_ids(type(self).__name__, self.num_nodes, x.shape[0], node_ids)
        operator = self.operator(adjacency, edge_weight, x.shape[0], "none", self_loops=self.self_loops)
        return self.logits_of_links(x, operator, rows)

    def logits_of_links(self, x: Features, operator: SparseOperator, rows: Tensor | None) -> Tensor:
        """Return logits `[N, C]`; `rows` are those of the vectors that belong to these nodes, `None`: all."""
        raise NotImplementedError


class LINK(LinkNetwork):
    """LINK of Zheleva and Getoor, *To Join or Not to Join: The Illusion of Privacy in Social Networks with Mixed
    Public and Private User Profiles* (WWW 2009): logistic regression on the rows of the adjacency.

        logits = A W + b

    with `A` the links as they are: weighted, not normalized, no self-loops added unless asked for. On a directed graph
    row `i` holds the links from node `i`. Features are ignored.

    Args:
        in_channels: accepted so that models can be exchanged; not used.
        hidden_channels: accepted so that models can be exchanged; not used.
        out_channels: number of classes, `C`.
        num_nodes: size of the graph, `N`; required.
        self_loops: whether a node counts as its own neighbour, `A + I`; then `W_i` is also learned from those that
            node `i` is linked by, which helps where neighbours agree.
        dropout: share of links zeroed while training; the paper has none.
        bias: whether there is a `b`.

    Shapes:
        features `[N, q]`, of which only `N` is looked at, and links among `N` nodes to logits `[N, C]`.
    """

    per_node_weights = ("links.weight",)

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        num_nodes: int | None = None,
        self_loops: bool = False,
        dropout: float = 0.0,
        bias: bool = True,
    ) -> None:
        check_channels(in_channels, hidden_channels, out_channels, reads_features=False)
        super().__init__(num_nodes, self_loops)
        self.dropout = check_probability(dropout)
        self.links = Linear(self.num_nodes, out_channels, bias, per_node=True)

    def logits_of_links(self, x: Features, operator: SparseOperator, rows: Tensor | None) -> Tensor:
        """Return logits `[N, C]`."""
        result: Tensor = self.links(dropout_sparse(operator, self.dropout, self.training), rows)
        return result


class LINKX(LinkNetwork):
    """LINKX of Lim et al., *Large Scale Learning on Non-Homophilous Graphs: New Benchmarks and Strong Simple Methods*
    (NeurIPS 2021, https://arxiv.org/abs/2110.14446).

        H_A = MLP_A(A),    H_X = MLP_X(X)
        logits = MLP_f(ReLU([H_A, H_X] W + H_A + H_X))

    with `A` the links as they are: weighted, not normalized, no self-loops added unless asked for. The perceptrons
    have ReLU, then batch normalization, between their layers; the last layer of each is plain.

    This is the computation of `torch_geometric.nn.LINKX` given an `edge_index`. Of a matrix or a `Graph` row `i` holds
    the links from node `i`, as the formula says.

    Args:
        in_channels: number of features, `q`.
        hidden_channels: width, `h`.
        out_channels: number of classes, `C`.
        num_nodes: size of the graph, `N`; required.
        layers: linear layers of `MLP_f`.
        mlp_layers: linear layers of `MLP_X`.
        edge_layers: linear layers of `MLP_A`, the first of them `[N, h]`.
        self_loops: whether a node counts as its own neighbour, `A + I`.
        dropout: share of entries zeroed while training, between the layers of `MLP_f`.
        bias: whether layers have biases.

    Shapes:
        features `[N, q]`, dense or sparse, and links among `N` nodes to logits `[N, C]`.
    """

    per_node_weights = ("edge_mlp.layers.0.weight",)

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        num_nodes: int | None = None,
        layers: int = 2,
        mlp_layers: int = 1,
        edge_layers: int = 1,
        self_loops: bool = False,
        dropout: float = 0.0,
        bias: bool = True,
    ) -> None:
        check_channels(in_channels, hidden_channels, out_channels)
        super().__init__(num_nodes, self_loops)
        check_count("layers", layers)
        check_count("mlp_layers", mlp_layers)
        check_count("edge_layers", edge_layers)
        h = hidden_channels
        self.edge_mlp = NormalizedLayers([self.num_nodes, *[h] * edge_layers], bias=bias)
        self.node_mlp = NormalizedLayers([in_channels, *[h] * mlp_layers], bias=bias)
        self.from_edges = Linear(h, h, bias)  # the two halves of W
        self.from_nodes = Linear(h, h, bias)
        self.final_mlp = NormalizedLayers([*[h] * layers, out_channels], dropout, bias)

    def logits_of_links(self, x: Features, operator: SparseOperator, rows: Tensor | None) -> Tensor:
        """Return logits `[N, C]`."""
        edges, nodes = self.edge_mlp(operator, rows), self.node_mlp(as_features(x))  # [N, h] each
        mixed = edges + nodes + self.from_edges(edges) + self.from_nodes(nodes)
        result: Tensor = self.final_mlp(F.relu(mixed))
        return result


class NormalizedLayers(nn.Module):
    """Linear layers with ReLU, batch normalization and dropout between them; the last layer is plain.

    Args:
        sizes: widths, from the input to the result.
        dropout: share of entries zeroed between layers while training.
        bias: whether layers have biases.
    """

    def __init__(self, sizes: Sequence[int], dropout: float = 0.0, bias: bool = True) -> None:
        super().__init__()
        self.dropout = check_probability(dropout)
        self.layers = nn.ModuleList(Linear(a, b, bias) for a, b in pairwise(sizes))
        self.norms = nn.ModuleList(nn.BatchNorm1d(size) for size in sizes[1:-1])

    def reset_parameters(self) -> None:
        """Draw all weights anew and forget all statistics."""
        for layer in (*self.layers, *self.norms):
            layer.reset_parameters()

    def forward(self, x: Features, rows: Tensor | None = None) -> Tensor:
        """`[N, sizes[0]]`, dense or sparse, to `[N, sizes[-1]]`; `rows` of the first layer as for `Linear`."""
        hidden = x
        for layer, norm in zip(self.layers, self.norms, strict=False):
            hidden, rows = drop(norm(F.relu(layer(hidden, rows))), self.dropout, self.training), None
        result: Tensor = self.layers[-1](hidden, rows)
        return result
