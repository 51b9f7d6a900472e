"""Every baseline against its formula with dense matrices, on a directed, weighted graph with a node without links."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import scipy.integrate
import torch
from scipy.sparse import csgraph
from torch import Tensor

from gpcn.nn import Adjacency, NodeClassifier, ResidualGCN
from gpcn.nn.baselines import (
    APPNP,
    GCN,
    GCNII,
    GODE,
    GPRGNN,
    H2GCN,
    LINK,
    LINKX,
    MLP,
    SGC,
    AdaGPR,
    LabelPropagation,
    LogisticRegression,
    MixHop,
)
from tests.graphs import graph_with_isolated_node_and_loop
from tests.nn import literal

NODES, FEATURES, HIDDEN, CLASSES = 24, 9, 6, 3
LONER, LOOPED = NODES - 1, 2


GRAPH = graph_with_isolated_node_and_loop()
A = torch.tensor(GRAPH.adjacency.toarray(), dtype=torch.float64)
BAR = literal.normalized(A)
X = torch.tensor(GRAPH.features, dtype=torch.float64)
LINKS = Adjacency.of(GRAPH)


def build(kind: type[NodeClassifier], **options: object) -> NodeClassifier:
    torch.manual_seed(6)
    model = kind(FEATURES, HIDDEN, CLASSES, **options)
    with torch.no_grad():  # away from any special starting point
        for parameter in model.parameters():
            parameter.add_(torch.rand_like(parameter) * 0.2)
    return model.double().eval()


def affine(layer: torch.nn.Module, x: Tensor) -> Tensor:
    return x @ layer.weight + (0 if layer.bias is None else layer.bias)


def first_layers(model: NodeClassifier) -> Tensor:
    hidden = X
    for layer in model.features.layers:
        hidden = affine(layer, hidden).clamp(min=0)
    return hidden


def plus(bias: Tensor | None) -> Tensor | float:
    return 0 if bias is None else bias


def mlp(model: MLP) -> Tensor:
    return affine(model.out, first_layers(model))


def logistic_regression(model: LogisticRegression) -> Tensor:
    return affine(model.out, X)


def gcn(model: GCN) -> Tensor:
    hidden = X
    for index, layer in enumerate(model.convolutions):
        hidden = BAR @ (hidden.clamp(min=0) if index else hidden) @ layer.linear.weight + plus(layer.bias)
    return hidden


def sgc(model: SGC) -> Tensor:
    return literal.power(BAR, model.layers) @ X @ model.linear.weight + plus(model.bias)


def gcnii(model: GCNII) -> Tensor:
    start = hidden = first_layers(model)
    eye = torch.eye(HIDDEN, dtype=X.dtype)
    for layer in range(model.layers):
        beta = math.log(model.theta / (layer + 1) + 1)
        mixed = (1 - beta) * eye + beta * model.convolutions[layer].weight
        mixed_initial = mixed if model.initial is None else (1 - beta) * eye + beta * model.initial[layer].weight
        hidden = ((1 - model.alpha) * BAR @ hidden @ mixed + model.alpha * start @ mixed_initial).clamp(min=0)
    return affine(model.out, hidden)


def polynomial(coefficients: Tensor, x: Tensor) -> Tensor:
    return sum((c * literal.power(BAR, k) @ x for k, c in enumerate(coefficients.unbind())), torch.zeros_like(x))


def appnp(model: APPNP) -> Tensor:
    alpha, last = model.alpha, model.layers
    weights = [alpha * (1 - alpha) ** k for k in range(last)] + [(1 - alpha) ** last]
    return polynomial(torch.tensor(weights, dtype=X.dtype), affine(model.out, first_layers(model)))


def gprgnn(model: GPRGNN) -> Tensor:
    return polynomial(model.gamma, affine(model.out, first_layers(model)))


def mixhop(model: MixHop) -> Tensor:
    hidden = X
    for layer in model.convolutions:
        weights = layer.linear.weight.chunk(len(layer.powers), dim=1)
        blocks = [literal.power(BAR, p) @ hidden @ w for p, w in zip(layer.powers, weights, strict=True)]
        hidden = (torch.cat(blocks, dim=1) + plus(layer.bias)).clamp(min=0)
    return affine(model.out, hidden)


def exact_hops() -> tuple[Tensor, Tensor]:
    """One and two steps by breadth-first search, each normalized by its own row sums."""
    steps = torch.tensor(csgraph.shortest_path(A.numpy() > 0, unweighted=True))
    hops = []
    for chosen in (torch.where(steps == 1, A, 0.0), (steps == 2).double()):
        rows = chosen.sum(1)
        scale = torch.where(rows > 0, rows, 1.0) ** -0.5 * (rows > 0)
        hops.append(scale[:, None] * chosen * scale[None, :])
    return hops[0], hops[1]


def h2gcn(model: H2GCN) -> Tensor:
    near, far = exact_hops()
    rounds = [first_layers(model)]
    for _ in range(model.layers):
        rounds.append(torch.cat([near @ rounds[-1], far @ rounds[-1]], dim=1))
    return affine(model.out, torch.cat(rounds, dim=1))


def link(model: LINK) -> Tensor:
    return affine(model.links, A)


def normalized_layers(layers: torch.nn.Module, x: Tensor) -> Tensor:
    for layer, norm in zip(layers.layers, layers.norms, strict=False):
        active = affine(layer, x).clamp(min=0)
        centred = (active - norm.running_mean) / (norm.running_var + norm.eps) ** 0.5
        x = centred * norm.weight + norm.bias
    return affine(layers.layers[-1], x)


def linkx(model: LINKX) -> Tensor:
    edges, nodes = normalized_layers(model.edge_mlp, A), normalized_layers(model.node_mlp, X)
    halves = torch.cat([model.from_edges.weight, model.from_nodes.weight])
    shift = plus(model.from_edges.bias) + plus(model.from_nodes.bias)
    mixed = torch.cat([edges, nodes], dim=1) @ halves + shift + edges + nodes
    return normalized_layers(model.final_mlp, mixed.clamp(min=0))


def adagpr(model: AdaGPR) -> Tensor:
    start = hidden = first_layers(model)
    eye = torch.eye(HIDDEN, dtype=X.dtype)
    for layer in range(model.layers):
        beta = math.log(model.theta / (layer + 1) + 1)
        gates = model.gates[layer].exp() / model.gates[layer].exp().sum()
        support = (1 - model.alpha) * polynomial(gates, hidden) + model.alpha * start
        hidden = (support @ ((1 - beta) * eye + beta * model.convolutions[layer].weight)).clamp(min=0)
    return affine(model.out, hidden)


def derivative(model: GODE, x: Tensor) -> Tensor:
    return (BAR @ affine(model.residual[0], x)).clamp(min=0)


def gode(model: GODE) -> Tensor:
    hidden, step = first_layers(model), model.gamma
    for _ in range(model.layers):
        middle = hidden + step / 2 * derivative(model, hidden) if model.solver == "midpoint" else hidden
        hidden = hidden + step * derivative(model, middle)
    return affine(model.out, hidden)


CASES: dict[str, tuple[type[NodeClassifier], dict[str, object], Callable[..., Tensor]]] = {
    "mlp": (MLP, {"mlp_layers": 2}, mlp),
    "logistic regression": (LogisticRegression, {}, logistic_regression),
    "gcn": (GCN, {"layers": 3}, gcn),
    "sgc": (SGC, {"layers": 3}, sgc),
    "gcnii": (GCNII, {"layers": 4, "alpha": 0.3}, gcnii),
    "gcnii*": (GCNII, {"layers": 4, "mlp_layers": 2, "shared_weights": False}, gcnii),
    "appnp": (APPNP, {"layers": 6, "alpha": 0.2}, appnp),
    "gprgnn": (GPRGNN, {"layers": 6, "mlp_layers": 2}, gprgnn),
    "mixhop": (MixHop, {"powers": (0, 1, 3)}, mixhop),
    "h2gcn, 1 round": (H2GCN, {"layers": 1}, h2gcn),
    "h2gcn, 2 rounds": (H2GCN, {"layers": 2}, h2gcn),
    "h2gcn, 3 rounds": (H2GCN, {"layers": 3}, h2gcn),
    "link": (LINK, {"num_nodes": NODES}, link),
    "linkx": (LINKX, {"num_nodes": NODES, "layers": 3, "mlp_layers": 2, "edge_layers": 2}, linkx),
    "adagpr": (AdaGPR, {"layers": 3, "hops": 4, "alpha": 0.25, "theta": 0.8}, adagpr),
    "gode, euler": (GODE, {"layers": 3, "gamma": 0.4}, gode),
    "gode, midpoint": (GODE, {"layers": 3, "gamma": 0.4, "solver": "midpoint", "mlp_layers": 2}, gode),
}


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_logits_and_every_gradient_are_those_of_the_formula(name: str, bias: bool) -> None:
    kind, options, formula = CASES[name]
    if "solver" in options:
        pytest.importorskip("torchdiffeq")
    model = build(kind, bias=bias, **options)
    logits, expected = model(X, LINKS), formula(model)
    assert torch.isfinite(logits).all()
    torch.testing.assert_close(logits, expected, rtol=1e-9, atol=1e-10)
    chosen = torch.randn(logits.shape, dtype=logits.dtype, generator=torch.manual_seed(7))
    names, parameters = zip(*model.named_parameters(), strict=True)
    ours = torch.autograd.grad((logits.log_softmax(1) * chosen).sum(), parameters)
    theirs = torch.autograd.grad((expected.log_softmax(1) * chosen).sum(), parameters)
    for parameter, gradient, expected_gradient in zip(names, ours, theirs, strict=True):
        torch.testing.assert_close(
            gradient, expected_gradient, rtol=1e-9, atol=1e-10, msg=lambda text, p=parameter: f"{p}: {text}"
        )


@pytest.mark.parametrize("kind", [GPRGNN, APPNP, SGC])
def test_coefficients_are_those_of_the_polynomial(kind: type[NodeClassifier]) -> None:
    model = build(kind, layers=4)
    linear = X @ model.linear.weight if kind is SGC else affine(model.out, first_layers(model))
    expected = polynomial(model.coefficients(), linear) + (model.bias if kind is SGC else 0)
    torch.testing.assert_close(model(X, LINKS), expected, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("start", ["ppr", "nppr", "sgc", "random"])
def test_gprgnn_starts_where_it_is_told(start: str) -> None:
    coefficients = GPRGNN(FEATURES, HIDDEN, CLASSES, layers=4, alpha=0.3, start=start).coefficients()
    expected = {
        "ppr": [0.3, 0.3 * 0.7, 0.3 * 0.7**2, 0.3 * 0.7**3, 0.7**4],
        "nppr": [value / sum(0.3**k for k in range(5)) for value in (0.3**k for k in range(5))],
        "sgc": [0.0, 0.0, 0.0, 0.0, 1.0],
    }
    assert coefficients.abs().sum().item() == pytest.approx(1)
    if start in expected:
        assert coefficients.tolist() == pytest.approx(expected[start], rel=1e-6)


def test_adagpr_with_all_weight_on_one_step_is_gcnii() -> None:
    adaptive, plain = build(AdaGPR, layers=3, hops=2), build(GCNII, layers=3)
    plain.load_state_dict({name: value for name, value in adaptive.state_dict().items() if name != "gates"})
    with torch.no_grad():
        adaptive.gates.copy_(torch.tensor([-1e4, 0.0, -1e4]))
    torch.testing.assert_close(adaptive(X, LINKS), plain(X, LINKS), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("training", [True, False])
def test_gode_by_euler_is_the_residual_gcn_with_one_weight(training: bool) -> None:
    model = build(GODE, layers=4, gamma=0.3, dropout=0.4, mlp_layers=2).train(training)
    other = build(ResidualGCN, layers=4, gamma=0.3, dropout=0.4, mlp_layers=2, shared=True).train(training)
    other.load_state_dict(model.state_dict())
    results = []
    for network in (model, other):
        torch.manual_seed(1)
        results.append(network(X, LINKS))
    assert torch.equal(*results)


@pytest.mark.parametrize("gamma", [0.5, -0.5])
def test_gode_by_tolerance_agrees_with_scipy_and_with_many_small_steps(gamma: float) -> None:
    pytest.importorskip("torchdiffeq")
    model = build(GODE, layers=2, gamma=gamma, solver="dopri5", rtol=1e-9, atol=1e-10)
    fine = build(GODE, layers=1000, gamma=gamma / 500)
    fine.load_state_dict(model.state_dict())
    with torch.no_grad():
        logits = model(X, LINKS)
        assert (logits - fine(X, LINKS)).abs().max() < 3e-3 * logits.abs().max()

        def slope(time: float, state: np.ndarray) -> np.ndarray:
            return derivative(model, torch.tensor(state).reshape(NODES, HIDDEN)).numpy().ravel()

        start = first_layers(model).numpy().ravel()
        solved = scipy.integrate.solve_ivp(slope, (0, 2 * gamma), start, method="DOP853", rtol=1e-10, atol=1e-11)
        end = torch.tensor(solved.y[:, -1]).reshape(NODES, HIDDEN)
        torch.testing.assert_close(logits, affine(model.out, end), rtol=1e-6, atol=5e-6)  # both solvers err at a kink


@pytest.mark.parametrize("mask", [True, False])
@pytest.mark.parametrize("loops", [True, False])
def test_label_propagation_is_the_polynomial_of_its_formula(loops: bool, mask: bool) -> None:
    labels, train = torch.tensor(GRAPH.labels), torch.arange(0, NODES - 1, 3)
    model = LabelPropagation(FEATURES, HIDDEN, CLASSES, layers=9, alpha=0.7, self_loops=loops).double()
    model.observe(labels, torch.isin(torch.arange(NODES), train) if mask else train)
    matrix = A + (torch.eye(NODES, dtype=A.dtype) if loops else 0)
    rows = matrix.sum(1)
    scale = torch.where(rows > 0, rows, 1.0) ** -0.5 * (rows > 0)
    S = scale[:, None] * matrix * scale[None, :]
    start = torch.zeros(NODES, CLASSES, dtype=A.dtype)
    start[train, labels[train]] = 1
    weights = [0.3 * 0.7**k for k in range(9)] + [0.7**9]
    Y = sum((c * literal.power(S, k) @ start for k, c in enumerate(weights)), torch.zeros_like(start))
    assert model.coefficients().tolist() == pytest.approx(weights)
    shares = (start.sum(0) + 1) / (start.sum() + CLASSES)
    expected = Y + 1e-12 * shares
    expected = (expected / expected.sum(1, keepdim=True)).log()
    logits = model(X, LINKS)
    torch.testing.assert_close(logits, expected, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(logits[LONER].exp(), shares, rtol=1e-9, atol=1e-9)  # no label reaches it


@pytest.mark.parametrize("loops", [False, True])
def test_link_and_linkx_count_a_node_as_its_own_neighbour_where_asked(loops: bool) -> None:
    seen = A + torch.eye(NODES, dtype=torch.float64) if loops else A
    if loops:
        seen[LOOPED, LOOPED] = A[LOOPED, LOOPED] + 1
    link = build(LINK, num_nodes=NODES, self_loops=loops)
    torch.testing.assert_close(link(X, LINKS), seen @ link.links.weight + link.links.bias)
    linkx = build(LINKX, num_nodes=NODES, layers=1, self_loops=loops)
    links = seen @ linkx.edge_mlp.layers[0].weight + linkx.edge_mlp.layers[0].bias
    nodes = X @ linkx.node_mlp.layers[0].weight + linkx.node_mlp.layers[0].bias
    mixed = links + nodes + linkx.from_edges(links) + linkx.from_nodes(nodes)
    torch.testing.assert_close(linkx(X, LINKS), linkx.final_mlp(torch.relu(mixed)))
