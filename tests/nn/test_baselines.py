"""Every baseline that PyTorch Geometric has too, against it: same weights, same logits, same gradients, in float64."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
import scipy.sparse as sp
import torch
import torch_geometric.nn as pyg
from torch import Tensor, nn
from torch_geometric.nn.conv.gcn_conv import gcn_norm

from gpcn import Graph, synthesize
from gpcn.nn import NodeClassifier
from gpcn.nn.baselines import (
    APPNP,
    GCN,
    GCNII,
    LINKX,
    MLP,
    SGC,
    DeepGCN,
    DeepSAGE,
    LabelPropagation,
    LogisticRegression,
    MixHop,
)

NODES, FEATURES, HIDDEN, CLASSES = 23, 9, 6, 3
GRAPH_OPTIONS = {"nodes": NODES, "classes": CLASSES, "degree": 4, "features": FEATURES, "splits": 0, "seed": 1}
Pair = tuple[nn.Parameter, nn.Parameter, Callable[[Tensor], Tensor]]


def turn(weight: Tensor) -> Tensor:
    return weight.T


def same(weight: Tensor) -> Tensor:
    return weight


@pytest.fixture
def x(graph: Graph) -> Tensor:
    return torch.tensor(graph.features, dtype=torch.float64)


@pytest.fixture
def edge_index(graph: Graph) -> Tensor:
    return torch.tensor(graph.edge_index)


def build(kind: type[NodeClassifier], **options: object) -> NodeClassifier:
    torch.manual_seed(5)
    model = kind(FEATURES, HIDDEN, CLASSES, **options)
    with torch.no_grad():  # biases start at 0; move them
        for parameter in model.parameters():
            parameter.add_(torch.rand_like(parameter) * 0.2)
    return model.double()


def linear(ours: nn.Module, theirs: nn.Module) -> list[Pair]:
    pairs: list[Pair] = [(ours.weight, theirs.weight, turn)]
    return pairs if ours.bias is None else [*pairs, (ours.bias, theirs.bias, same)]


def compare(pairs: list[Pair], ours: Callable[[], Tensor], theirs: Callable[[], Tensor]) -> None:
    """Copies our weights to their module, then compares logits and the gradient of every weight."""
    for our_weight, their_weight, change in pairs:
        assert their_weight.shape == change(our_weight).shape
        their_weight.data = change(our_weight.data).clone()
    logits, expected = ours(), theirs()
    torch.testing.assert_close(logits, expected, rtol=1e-9, atol=1e-11)
    chosen = torch.randn(logits.shape, dtype=logits.dtype, generator=torch.manual_seed(7))
    our_gradients = torch.autograd.grad(
        (logits.log_softmax(1) * chosen).sum(), [our_weight for our_weight, _, _ in pairs]
    )
    their_gradients = torch.autograd.grad(
        (expected.log_softmax(1) * chosen).sum(), [their_weight for _, their_weight, _ in pairs]
    )
    for our_gradient, their_gradient, (_, _, change) in zip(our_gradients, their_gradients, pairs, strict=True):
        torch.testing.assert_close(change(our_gradient), their_gradient, rtol=1e-9, atol=1e-11)


def covers(pairs: list[Pair], model: NodeClassifier) -> None:
    assert {id(our_weight) for our_weight, _, _ in pairs} == {id(parameter) for parameter in model.parameters()}


@pytest.mark.parametrize("mlp_layers", [1, 3])
def test_mlp_computes_the_same_as_in_pyg(x: Tensor, edge_index: Tensor, mlp_layers: int) -> None:
    model = build(MLP, mlp_layers=mlp_layers)
    other = pyg.MLP([FEATURES, *[HIDDEN] * mlp_layers, CLASSES], norm=None).double()
    pairs = [
        pair
        for ours, theirs in zip([*model.features.layers, model.out], other.lins, strict=True)
        for pair in linear(ours, theirs)
    ]
    covers(pairs, model)
    compare(pairs, lambda: model(x, edge_index), lambda: other(x))


def test_logistic_regression_is_one_linear_layer(x: Tensor, edge_index: Tensor) -> None:
    model, other = build(LogisticRegression), nn.Linear(FEATURES, CLASSES).double()
    compare(linear(model.out, other), lambda: model(x, edge_index), lambda: other(x))


@pytest.mark.parametrize("hidden", [2, 12])
@pytest.mark.parametrize("layers", [1, 2, 4])
@pytest.mark.parametrize("bias", [True, False])
def test_gcn_computes_the_same_as_in_pyg(x: Tensor, edge_index: Tensor, layers: int, bias: bool, hidden: int) -> None:
    torch.manual_seed(5)
    model = GCN(FEATURES, hidden, CLASSES, layers=layers, bias=bias).double()
    sizes = [FEATURES, *[hidden] * (layers - 1), CLASSES]
    others = [pyg.GCNConv(a, b, bias=bias).double() for a, b in pairwise(sizes)]
    pairs: list[Pair] = []
    for ours, theirs in zip(model.convolutions, others, strict=True):
        pairs.append((ours.linear.weight, theirs.lin.weight, turn))
        pairs += [(ours.bias, theirs.bias, same)] if bias else []
    covers(pairs, model)

    def theirs() -> Tensor:
        hidden = x
        for index, layer in enumerate(others):
            hidden = layer(hidden.relu() if index else hidden, edge_index)
        return hidden

    compare(pairs, lambda: model(x, edge_index), theirs)


@pytest.mark.parametrize("layers", [1, 2, 5])
def test_sgc_computes_the_same_as_in_pyg(x: Tensor, edge_index: Tensor, layers: int) -> None:
    model, other = build(SGC, layers=layers), pyg.SGConv(FEATURES, CLASSES, K=layers).double()
    pairs = [(model.linear.weight, other.lin.weight, turn), (model.bias, other.lin.bias, same)]
    covers(pairs, model)
    compare(pairs, lambda: model(x, edge_index), lambda: other(x, edge_index))


@pytest.mark.parametrize("shared", [True, False])
def test_gcnii_computes_the_same_as_in_pyg(x: Tensor, edge_index: Tensor, shared: bool) -> None:
    model = build(GCNII, layers=4, alpha=0.2, theta=0.7, shared_weights=shared)
    first, last = nn.Linear(FEATURES, HIDDEN).double(), nn.Linear(HIDDEN, CLASSES).double()
    others = [
        pyg.GCN2Conv(HIDDEN, 0.2, 0.7, layer, shared_weights=shared, add_self_loops=True).double()
        for layer in range(1, 5)
    ]
    pairs = [*linear(model.features.layers[0], first), *linear(model.out, last)]
    for index, theirs in enumerate(others):
        pairs.append((model.convolutions[index].weight, theirs.weight1, same))
        pairs += [] if shared else [(model.initial[index].weight, theirs.weight2, same)]
    covers(pairs, model)

    def theirs_all() -> Tensor:
        start = hidden = first(x).relu()
        for layer in others:
            hidden = layer(hidden, start, edge_index).relu()
        return last(hidden)

    compare(pairs, lambda: model(x, edge_index), theirs_all)


def test_appnp_computes_the_same_as_in_pyg(x: Tensor, edge_index: Tensor) -> None:
    model = build(APPNP, layers=7, alpha=0.15, mlp_layers=2)
    mlp, spread = pyg.MLP([FEATURES, HIDDEN, HIDDEN, CLASSES], norm=None).double(), pyg.APPNP(K=7, alpha=0.15)
    pairs = [
        pair
        for ours, theirs in zip([*model.features.layers, model.out], mlp.lins, strict=True)
        for pair in linear(ours, theirs)
    ]
    covers(pairs, model)
    compare(pairs, lambda: model(x, edge_index), lambda: spread(mlp(x), edge_index))


@pytest.mark.parametrize("powers", [(0, 1, 2), (1, 3), (0,), (2,)])
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_mixhop_computes_the_same_as_in_pyg(
    x: Tensor, edge_index: Tensor, powers: tuple[int, ...], layers: int
) -> None:
    model = build(MixHop, layers=layers, powers=powers)
    wide = len(powers) * HIDDEN
    sizes = [FEATURES, *[wide] * (layers - 1)]
    others = [pyg.MixHopConv(size, HIDDEN, list(powers)).double() for size in sizes]
    last = nn.Linear(wide, CLASSES).double()
    pairs = linear(model.out, last)
    for ours, theirs in zip(model.convolutions, others, strict=True):
        pairs.append((ours.bias, theirs.bias, same))
        for index, power in enumerate(powers):
            part = slice(index * HIDDEN, (index + 1) * HIDDEN)
            pairs.append((ours.linear.weight, theirs.lins[power].weight, lambda w, part=part: w[:, part].T))
    covers(pairs, model)

    def theirs_all() -> Tensor:
        hidden = x
        for layer in others:
            hidden = layer(hidden, edge_index).relu()
        return last(hidden)

    compare(pairs, lambda: model(x, edge_index), theirs_all)


def linkx_pairs(model: LINKX, other: pyg.LINKX) -> list[Pair]:
    edge, *edges = model.edge_mlp.layers
    pairs: list[Pair] = [(edge.weight, other.edge_lin.weight, same), (edge.bias, other.edge_lin.bias, same)]
    linears = [(model.from_edges, other.cat_lin1), (model.from_nodes, other.cat_lin2)]
    linears += list(zip(model.node_mlp.layers, other.node_mlp.lins, strict=True))
    linears += list(zip(model.final_mlp.layers, other.final_mlp.lins, strict=True))
    norms = list(zip(model.node_mlp.norms, other.node_mlp.norms, strict=True))
    norms += list(zip(model.final_mlp.norms, other.final_mlp.norms, strict=True))
    if edges:
        linears += list(zip(edges, other.edge_mlp.lins, strict=True))
        norms += list(zip(model.edge_mlp.norms, [other.edge_norm, *other.edge_mlp.norms], strict=True))
    for ours, theirs in linears:
        pairs += linear(ours, theirs)
    for ours, wrapped in norms:
        theirs = getattr(wrapped, "module", wrapped)
        pairs += [(ours.weight, theirs.weight, same), (ours.bias, theirs.bias, same)]
    covers(pairs, model)
    return pairs


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("depths", [(1, 1, 1), (2, 1, 1), (3, 2, 3)])
def test_linkx_computes_the_same_as_in_pyg(
    x: Tensor, edge_index: Tensor, depths: tuple[int, int, int], training: bool
) -> None:
    layers, mlp_layers, edge_layers = depths
    model = build(LINKX, num_nodes=NODES, layers=layers, mlp_layers=mlp_layers, edge_layers=edge_layers).train(training)
    other = pyg.LINKX(NODES, FEATURES, HIDDEN, CLASSES, layers, edge_layers, mlp_layers).double().train(training)
    compare(linkx_pairs(model, other), lambda: model(x, edge_index), lambda: other(x, edge_index))
    compare(linkx_pairs(model, other), lambda: model.eval()(x, edge_index), lambda: other.eval()(x, edge_index))


def test_linkx_reads_a_graph_from_its_nodes_and_an_edge_index_as_pyg_does(x: Tensor) -> None:
    directed = synthesize(nodes=NODES, classes=3, degree=4, directed=True, features=FEATURES, splits=0, seed=2)
    edge_index = torch.tensor(directed.edge_index)
    model = build(LINKX, num_nodes=NODES).eval()
    other = pyg.LINKX(NODES, FEATURES, HIDDEN, CLASSES, 2).double().eval()
    compare(linkx_pairs(model, other), lambda: model(x, edge_index), lambda: other(x, edge_index))
    torch.testing.assert_close(model(x, directed), other(x, edge_index.flip(0)))
    assert not torch.allclose(model(x, directed), other(x, edge_index))


def test_a_directed_edge_carries_features_as_in_pyg(x: Tensor) -> None:
    edge_index = torch.tensor([[0], [1]])
    changed = x.clone()
    changed[0] += 1
    theirs = pyg.GCNConv(FEATURES, CLASSES).double()
    for kind in (GCN, SGC, MixHop, APPNP):
        model = build(kind).eval()
        for network in (theirs, model):
            reached = (network(changed, edge_index) != network(x, edge_index)).any(1)
            assert reached[:2].tolist() == [True, True]
            assert not reached[2:].any()
        links = sp.csr_array(([1.0], ([0], [1])), shape=(NODES, NODES))  # as a matrix: node 0 reads node 1
        assert not (model(changed, links) != model(x, links))[1].any()


def test_label_propagation_spreads_labels_as_in_pyg(graph: Graph, x: Tensor, edge_index: Tensor) -> None:
    labels, train = torch.tensor(graph.labels), torch.arange(0, NODES, 2)
    model = LabelPropagation(FEATURES, HIDDEN, CLASSES, layers=20, alpha=0.8).double()
    model.observe(labels, train)
    links, weight = gcn_norm(edge_index, num_nodes=NODES, add_self_loops=False, dtype=torch.float64)
    given = nn.functional.one_hot(labels, CLASSES).double()
    other = pyg.LabelPropagation(num_layers=20, alpha=0.8)
    expected = other(given, links, train, weight, post_step=lambda spread: spread)  # no clamping
    reached = expected.sum(1) > 0
    probabilities = model(x, edge_index).softmax(1)
    torch.testing.assert_close(probabilities[reached], (expected / expected.sum(1, keepdim=True))[reached])
    operator = model.operator(edge_index, None, NODES, self_loops=False)
    torch.testing.assert_close(model.spread(operator), expected, rtol=1e-9, atol=1e-12)


class Deep(nn.Module):
    """The deep residual network from PyTorch Geometric's layers."""

    def __init__(self, convolution: type[nn.Module], layers: int, norm: str) -> None:
        super().__init__()
        norms = {"layer": nn.LayerNorm, "batch": nn.BatchNorm1d, "none": nn.Identity}
        self.input, self.out = nn.Linear(FEATURES, HIDDEN), nn.Linear(HIDDEN, CLASSES)
        self.norms = nn.ModuleList(norms[norm](HIDDEN) for _ in range(layers))
        self.convolutions = nn.ModuleList(convolution(HIDDEN, HIDDEN) for _ in range(layers))

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        x = self.input(x)
        for norm, convolution in zip(self.norms, self.convolutions, strict=True):
            x = x + convolution(norm(x), edge_index).relu()
        return self.out(x)


@pytest.mark.parametrize("norm", ["layer", "batch", "none"])
@pytest.mark.parametrize("layers", [1, 4])
@pytest.mark.parametrize("kind", [DeepGCN, DeepSAGE])
def test_deep_networks_compute_the_same_from_layers_of_pyg(
    x: Tensor, edge_index: Tensor, kind: type[NodeClassifier], layers: int, norm: str
) -> None:
    model = build(kind, layers=layers, norm=norm)
    other = Deep(pyg.GCNConv if kind is DeepGCN else pyg.SAGEConv, layers, norm).double()
    pairs = [*linear(model.input, other.input), *linear(model.out, other.out)]
    for ours, theirs in zip(model.norms, other.norms, strict=True):
        pairs += [
            (our_weight, their_weight, same)
            for our_weight, their_weight in zip(ours.parameters(), theirs.parameters(), strict=True)
        ]
    for ours, theirs in zip(model.convolutions, other.convolutions, strict=True):
        if kind is DeepGCN:
            pairs += [(ours.linear.weight, theirs.lin.weight, turn), (ours.bias, theirs.bias, same)]
        else:
            pairs += [*linear(ours.neighbours, theirs.lin_l), (ours.own.weight, theirs.lin_r.weight, turn)]
    covers(pairs, model)
    compare(pairs, lambda: model.train()(x, edge_index), lambda: other.train()(x, edge_index))
    compare(pairs, lambda: model.eval()(x, edge_index), lambda: other.eval()(x, edge_index))
