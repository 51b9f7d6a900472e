"""The fast path against the slow, literal one: logits and every gradient, in float64."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from gpcn import Graph
from gpcn.core.errors import ConfigError
from gpcn.nn import AGPCN, GPCN, Adjacency, AGPCNLink, GeneralizedGPCN, GPCNLink, NodeClassifier, SparseOperator
from tests.graphs import optionally_weighted_graph
from tests.nn import literal

NODES, FEATURES, HIDDEN, CLASSES = 23, 9, 6, 3
DEPTHS = [1, 2, 3, 4, 8, 16]
FAMILY = {
    "gpcn": (GPCN, {"gamma": 0.3}),
    "gpcn-printed": (GPCN, {"gamma": 0.3, "coefficients": "printed"}),
    "gpcn-link": (GPCNLink, {"gamma": -0.5, "num_nodes": NODES, "mu": 0.3}),
    "gpcn-link-fixed": (GPCNLink, {"gamma": 0.5, "num_nodes": NODES, "mu": 0.7, "learn_mu": False}),
    "agpcn": (AGPCN, {"gamma": 0.4}),
    "agpcn-scales": (AGPCN, {"gamma": 0.4, "adaptive": "scales"}),
    "agpcn-relative": (AGPCN, {"gamma": 0.4, "adaptive": "relative"}),
    "agpcn-link": (AGPCNLink, {"gamma": 0.4, "num_nodes": NODES}),
    "generalized": (GeneralizedGPCN, {"gamma": 0.4}),
}


def build(name: str, layers: int, mlp_layers: int, bias: bool, **changes: object) -> NodeClassifier:
    torch.manual_seed(layers * 10 + mlp_layers)
    kind, options = FAMILY[name]
    model = kind(FEATURES, HIDDEN, CLASSES, layers=layers, mlp_layers=mlp_layers, bias=bias, **(options | changes))
    with torch.no_grad():  # away from any special starting point
        for parameter in model.parameters():
            parameter.add_(torch.rand_like(parameter) * 0.2)
    return model.double().eval()


def literal_logits(model: NodeClassifier, x: Tensor, adjacency: Tensor) -> Tensor:
    bar = literal.normalized(adjacency)
    layers = list(model.features.layers)
    biases = None if layers[0].bias is None else [layer.bias for layer in layers]
    hidden = literal.feature_layers(x, [layer.weight for layer in layers], biases)
    if isinstance(model, GeneralizedGPCN):
        steps = list(model.residual)
        shifts = None if steps[0].bias is None else [step.bias for step in steps]
        hidden = literal.generalized(bar, hidden, model.gamma, [step.weight for step in steps], shifts)
    else:
        if isinstance(model, GPCN):
            make = literal.printed if model.kind == "printed" else literal.binomial
            coefficients = make(model.layers, model.gamma)
        elif model.adaptive == "theta":
            coefficients = list(model.theta.unbind())
        elif model.adaptive == "relative":
            start = literal.binomial(model.layers, model.gamma)
            coefficients = [share * value for share, value in zip(model.theta.unbind(), start, strict=True)]
        else:
            coefficients = literal.elementary_symmetric(model.theta)
        hidden = literal.polynomial(bar, hidden, coefficients, model.residual.weight, model.residual.bias)
    if model.link is not None:
        mu = torch.sigmoid(model.mu_logit) if model.mu_logit is not None else model.initial_mu
        hidden = mu * hidden + (1 - mu) * bar @ model.link
    return hidden @ model.out.weight + (0 if model.out.bias is None else model.out.bias)


def gradients(logits: Tensor, model: NodeClassifier) -> dict[str, Tensor]:
    weights = torch.randn(logits.shape, dtype=logits.dtype, generator=torch.manual_seed(7))
    names, parameters = zip(*model.named_parameters(), strict=True)
    values = torch.autograd.grad((torch.log_softmax(logits, 1) * weights).sum(), parameters)
    return dict(zip(names, values, strict=True))


def assert_close(actual: Tensor, expected: Tensor, what: str) -> None:
    scale = expected.abs().max().clamp(min=1e-12)
    assert ((actual - expected).abs().max() / scale) < 1e-9, what


def compare(model: NodeClassifier, graph: Graph, sparse: bool) -> None:
    x = torch.tensor(graph.features, dtype=torch.float64)
    x = torch.where(x.abs() < 0.5, torch.zeros_like(x), x)
    given = x.to_sparse_coo() if sparse else x
    expected = literal_logits(model, x, torch.tensor(graph.adjacency.toarray(), dtype=torch.float64))
    wanted = gradients(expected, model)
    for order in ("collapsed", "recursive"):
        model.order = order
        logits = model(given, graph)
        assert_close(logits, expected, f"{order} logits")
        for name, gradient in gradients(logits, model).items():
            assert_close(gradient, wanted[name], f"{order} gradient of {name}")


@pytest.mark.parametrize("layers", DEPTHS)
@pytest.mark.parametrize("name", FAMILY)
def test_three_ways_agree_at_every_depth(name: str, layers: int) -> None:
    if name in ("generalized", "agpcn-scales") and layers == 16:
        layers = 10  # the literal sum over subsets of layers has 2^L terms
    compare(
        build(name, layers, 1 + layers % 4, bias=True),
        optionally_weighted_graph(directed=True, weighted=True),
        sparse=False,
    )


@pytest.mark.parametrize("mlp_layers", [1, 2, 3, 4])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", FAMILY)
def test_three_ways_agree_for_every_front(name: str, mlp_layers: int, bias: bool, sparse: bool) -> None:
    compare(build(name, 3, mlp_layers, bias), optionally_weighted_graph(directed=True, weighted=False), sparse)


@pytest.mark.parametrize("name", FAMILY)
def test_three_ways_agree_on_undirected_graphs(name: str) -> None:
    compare(build(name, 4, 2, bias=True), optionally_weighted_graph(directed=False, weighted=False), sparse=True)


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_printed_and_binomial_agree_up_to_three_layers(layers: int) -> None:
    first, second = (build(name, layers, 1, True) for name in ("gpcn", "gpcn-printed"))
    torch.testing.assert_close(first.coefficients(), second.coefficients())


def test_printed_and_binomial_differ_from_four_layers_on() -> None:
    graph = optionally_weighted_graph(True, False)
    x = torch.tensor(graph.features, dtype=torch.float64)
    first, second = (build(name, 4, 1, True) for name in ("gpcn", "gpcn-printed"))
    second.load_state_dict(first.state_dict())
    assert (first(x, graph) - second(x, graph)).abs().max() > 1e-3
    torch.testing.assert_close(second.coefficients()[2], torch.tensor(4 * 0.3**2, dtype=torch.float64))


def transplanted(target: NodeClassifier, source: NodeClassifier) -> NodeClassifier:
    target.load_state_dict(
        target.state_dict() | {k: v for k, v in source.state_dict().items() if k in target.state_dict()}
    )
    return target


def test_agpcn_with_binomial_theta_is_gpcn() -> None:
    graph, source = optionally_weighted_graph(True, True), build("gpcn", 5, 2, True)
    x = torch.tensor(graph.features, dtype=torch.float64)
    adaptive = transplanted(build("agpcn", 5, 2, True), source)
    with torch.no_grad():
        adaptive.theta.copy_(source.coefficients())
    assert_close(adaptive(x, graph), source(x, graph), "logits")


def test_agpcn_with_scales_is_agpcn_with_symmetric_theta() -> None:
    graph, source = optionally_weighted_graph(True, True), build("agpcn-scales", 5, 2, True)
    x = torch.tensor(graph.features, dtype=torch.float64)
    free = transplanted(build("agpcn", 5, 2, True), source_without(source, "theta"))
    with torch.no_grad():
        free.theta.copy_(torch.stack(literal.elementary_symmetric(source.theta)))
    assert_close(free(x, graph), source(x, graph), "logits")


def source_without(model: NodeClassifier, name: str) -> NodeClassifier:
    class Part(torch.nn.Module):
        def state_dict(self) -> dict[str, Tensor]:  # type: ignore[override]
            return {key: value for key, value in model.state_dict().items() if key != name}

    return Part()  # type: ignore[return-value]


@pytest.mark.parametrize("names", [("gpcn-link", "gpcn"), ("agpcn-link", "agpcn")])
def test_a_link_model_with_mu_1_is_the_plain_one(names: tuple[str, str]) -> None:
    graph, source = optionally_weighted_graph(True, True), build(names[1], 4, 2, True)
    x = torch.tensor(graph.features, dtype=torch.float64)
    linked = transplanted(build(names[0], 4, 2, True, mu=1.0, learn_mu=False, gamma=0.3), source)
    if hasattr(source, "theta"):
        with torch.no_grad():
            linked.theta.copy_(source.theta)
    assert linked.mix() == 1
    assert_close(linked(x, graph), source(x, graph), "logits")


def test_a_link_model_with_mu_0_sees_links_only() -> None:
    graph = optionally_weighted_graph(True, True)
    model = build("gpcn-link", 3, 1, True, mu=0.0, learn_mu=False)
    first, second = (torch.randn(NODES, FEATURES, dtype=torch.float64) for _ in range(2))
    torch.testing.assert_close(model(first, graph), model(second, graph))


def test_the_cheaper_order_is_chosen() -> None:
    from gpcn.nn.engine.polynomial import choose_order

    assert choose_order(5201, [222_000], 512, 5, [8]) == "collapsed"
    assert choose_order(5201, [222_000], 16, 40, [2]) == "recursive"
    assert choose_order(183, [500], 64, 64, [1]) == "recursive"


@pytest.mark.parametrize("name", FAMILY)
def test_residual_dropout_is_the_recursion_and_trains(name: str) -> None:
    graph = optionally_weighted_graph(True, False)
    x = torch.tensor(graph.features, dtype=torch.float64)
    model = build(name, 3, 2, True, dropout=0.5, dropout_mode="residual")
    plain = build(name, 3, 2, True)
    torch.testing.assert_close(model(x, graph), plain(x, graph))
    model.train()
    assert not torch.equal(model(x, graph), model(x, graph))
    model.order = "collapsed"
    with pytest.raises(ConfigError, match="cannot be collapsed"):
        model(x, graph)


def test_collapsible_dropout_gives_both_orders_the_same_masks() -> None:
    graph = optionally_weighted_graph(True, False)
    x = torch.tensor(graph.features, dtype=torch.float64)
    model = build("gpcn", 3, 2, True, dropout=0.5).train()
    results = []
    for order in ("collapsed", "recursive"):
        torch.manual_seed(11)
        model.order = order
        results.append(model(x, graph))
    assert_close(*results, "logits")


def test_replicas_under_vmap_are_the_models_one_by_one() -> None:
    graph = optionally_weighted_graph(True, True)
    x = torch.tensor(graph.features, dtype=torch.float64)
    links = Adjacency.of(graph).operator(dtype=torch.float64)
    models = [build("agpcn-link", 3, 2, True) for _ in range(3)]
    for number, model in enumerate(models):
        torch.manual_seed(number)
        model.reset_parameters()
    stacked, buffers = torch.func.stack_module_state(models)

    def loss(parameters: dict[str, Tensor]) -> Tensor:
        logits = torch.func.functional_call(models[0], parameters, (x, links))
        return torch.log_softmax(logits, 1)[:, 0].sum()

    replica_gradients = torch.func.vmap(torch.func.grad(loss))(stacked)
    assert not buffers
    for number, model in enumerate(models):
        names, parameters = zip(*model.named_parameters(), strict=True)
        alone = torch.autograd.grad(torch.log_softmax(model(x, links), 1)[:, 0].sum(), parameters)
        for name, gradient in zip(names, alone, strict=True):
            assert_close(replica_gradients[name][number], gradient, name)


def test_features_may_be_an_operator_a_sparse_tensor_or_dense() -> None:
    graph, model = optionally_weighted_graph(True, False), build("gpcn", 2, 2, True)
    x = torch.tensor(graph.features, dtype=torch.float64)
    expected = model(x, graph)
    for given in (x.to_sparse_coo(), x.to_sparse_csr(), SparseOperator.from_torch(x.to_sparse_coo())):
        torch.testing.assert_close(model(given, graph), expected)


def test_relative_theta_is_theta_and_starts_at_gpcn() -> None:
    graph, source = optionally_weighted_graph(True, True), build("gpcn", 6, 1, True)
    x = torch.tensor(graph.features, dtype=torch.float64)
    relative = transplanted(build("agpcn-relative", 6, 1, True), source)
    relative.gamma = source.gamma
    with torch.no_grad():
        relative.theta.fill_(1)
    assert_close(relative(x, graph), source(x, graph), "logits at the start")
    plain = transplanted(build("agpcn", 6, 1, True), source)
    with torch.no_grad():
        relative.theta.uniform_(0.5, 2)
        plain.theta.copy_(relative.coefficients())
    assert_close(relative(x, graph), plain(x, graph), "logits")
