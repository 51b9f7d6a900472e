"""What all baselines promise alike: inputs, types, isolated nodes, dropout, replicas, errors."""

from __future__ import annotations

import inspect
import sys

import numpy as np
import pytest
import torch
from torch import Tensor

from gpcn import Graph, synthesize
from gpcn.core.errors import ConfigError
from gpcn.nn import Adjacency, NodeClassifier, SparseOperator, baselines
from gpcn.nn.self_fitting import SelfFitting, fit

NODES, FEATURES, HIDDEN, CLASSES = 30, 8, 5, 3
NAMES = baselines.__all__
NO_LINKS = {"MLP", "LogisticRegression"}
NO_FEATURES = {"LINK", "LabelPropagation"}
BY_GRADIENTS = [name for name in NAMES if name not in {"LabelPropagation", "Trees"}]
GRAPH = synthesize(nodes=NODES, classes=CLASSES, degree=4, directed=True, features=FEATURES, splits=0, seed=2)
LABELS = torch.tensor(GRAPH.labels)


def build(name: str, **options: object) -> NodeClassifier:
    torch.manual_seed(3)
    kind = getattr(baselines, name)
    if "num_nodes" in inspect.signature(kind).parameters:
        options.setdefault("num_nodes", NODES)
    model = kind(FEATURES, HIDDEN, CLASSES, **options)
    train = torch.arange(0, NODES, 2)
    model.observe(LABELS, train)
    return fit(model, features(), GRAPH, LABELS, train, rounds=9) if isinstance(model, SelfFitting) else model


def features(dtype: torch.dtype = torch.float32) -> Tensor:
    x = torch.tensor(GRAPH.features, dtype=dtype)
    return torch.where(x.abs() < 0.7, 0.0, x)


def test_every_baseline_is_among_those_checked() -> None:
    assert set(NAMES) == {
        name for name, value in vars(baselines).items() if isinstance(value, type) and issubclass(value, NodeClassifier)
    }


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", NAMES)
def test_sparse_and_dense_features_and_all_kinds_of_links_agree(name: str, dtype: torch.dtype) -> None:
    model, x = build(name).to(dtype).eval(), features(dtype)
    expected = model(x, GRAPH)
    assert expected.shape == (NODES, CLASSES)
    assert expected.dtype == dtype
    edge_index = torch.tensor(GRAPH.edge_index)
    for given in (x.to_sparse_coo(), x.to_sparse_csr(), SparseOperator.from_torch(x.to_sparse_coo())):
        torch.testing.assert_close(model(given, GRAPH), expected)
    for links in (Adjacency.of(GRAPH), GRAPH.adjacency):
        torch.testing.assert_close(model(x, links), expected)
    flowing = model(x, Adjacency(GRAPH.adjacency, direction="in"))
    torch.testing.assert_close(model(x, edge_index), flowing)
    torch.testing.assert_close(model(x, edge_index, torch.ones(edge_index.shape[1])), flowing)


@pytest.mark.parametrize("name", NAMES)
def test_links_and_features_matter_exactly_where_they_should(name: str) -> None:
    model, x = build(name).eval(), features()
    result, fewer = model(x, GRAPH), torch.tensor(GRAPH.edge_index)[:, :40]
    assert torch.equal(model(x, fewer), result) == (name in NO_LINKS)
    assert torch.equal(model(x + 1, GRAPH), result) == (name in NO_FEATURES)


@pytest.mark.parametrize("name", NAMES)
def test_nodes_without_links_get_finite_logits_and_gradients(name: str) -> None:
    model, nothing = build(name), torch.zeros(2, 0, dtype=torch.long)
    one_way = torch.tensor([[0], [1]])  # node 1 is a target and has no link of its own
    for links in (nothing, one_way):
        logits = model(features(), links)
        assert torch.isfinite(logits).all()
        if name in BY_GRADIENTS:
            logits.log_softmax(1)[:, 0].sum().backward()
            assert all(torch.isfinite(parameter.grad).all() for parameter in model.parameters())


@pytest.mark.parametrize("name", NAMES)
def test_reset_draws_every_weight_anew(name: str) -> None:
    model = build(name)
    before = {key: value.clone() for key, value in model.named_parameters()}
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(7.0)
    torch.manual_seed(8)
    model.reset_parameters()
    for key, parameter in model.named_parameters():
        assert parameter.shape == before[key].shape
        assert not (parameter == 7).any(), key


@pytest.mark.parametrize("name", BY_GRADIENTS)
def test_dropout_is_for_training_only_and_follows_the_seed(name: str) -> None:
    model, x = build(name, dropout=0.5), features()
    with torch.no_grad():  # batch normalization would change between calls
        seen = []
        for seed in (1, 1, 2):
            torch.manual_seed(seed)
            seen.append(model.train()(x, GRAPH))
        assert torch.equal(seen[0], seen[1])
        assert not torch.equal(seen[0], seen[2])
        assert torch.equal(model.eval()(x, GRAPH), model(x, GRAPH))


def test_appnp_drops_links_while_training() -> None:
    model, x = build("APPNP", link_dropout=0.5), features()
    torch.manual_seed(0)
    noisy = model(x, GRAPH)
    noisy.sum().backward()
    assert not torch.allclose(noisy, model(x, GRAPH))
    torch.testing.assert_close(model.eval()(x, GRAPH), build("APPNP").eval()(x, GRAPH))


def test_h2gcn_computes_the_same_with_and_without_dropout_in_the_way() -> None:
    model, x = build("H2GCN", dropout=1e-9).double(), features(torch.float64)  # too rare to drop anything
    torch.testing.assert_close(model.train()(x, GRAPH), model.eval()(x, GRAPH), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", BY_GRADIENTS)
def test_every_baseline_learns_its_training_labels(name: str) -> None:
    options: dict[str, object] = {"layers": 2} if name == "GCNII" else {}
    model, x, links = build(name, **options), features(), Adjacency.of(GRAPH)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x, links), LABELS)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.9 * losses[0]


@pytest.mark.parametrize("name", [name for name in BY_GRADIENTS if name != "LINKX"])
def test_replicas_under_vmap_are_the_models_one_by_one(name: str) -> None:
    x, links = features(torch.float64), Adjacency.of(GRAPH)
    models = [build(name).double() for _ in range(2)]
    torch.manual_seed(20)
    models[1].reset_parameters()
    models[0](x, links)  # normalized once, outside
    stacked, _ = torch.func.stack_module_state(models)

    def loss(parameters: dict[str, Tensor]) -> Tensor:
        return torch.func.functional_call(models[0], parameters, (x, links)).log_softmax(1)[:, 0].sum()

    replica_gradients = torch.func.vmap(torch.func.grad(loss))(stacked)
    for number, model in enumerate(models):
        names, parameters = zip(*model.named_parameters(), strict=True)
        alone = torch.autograd.grad(model(x, links).log_softmax(1)[:, 0].sum(), parameters)
        for key, gradient in zip(names, alone, strict=True):
            torch.testing.assert_close(replica_gradients[key][number], gradient)


@pytest.mark.parametrize("name", NAMES)
def test_a_saved_model_is_the_same_model(name: str) -> None:
    model, kind = build(name).eval(), getattr(baselines, name)
    options = {"num_nodes": NODES} if "num_nodes" in inspect.signature(kind).parameters else {}
    other = kind(FEATURES, HIDDEN, CLASSES, **options).eval()
    other.load_state_dict(model.state_dict())
    assert torch.equal(other(features(), GRAPH), model(features(), GRAPH))


WRONG = [
    *[(name, {"layers": 0}, "layers is 0") for name in NAMES if name not in {*NO_LINKS, "LINK", "Trees"}],
    *[(name, {"dropout": 1.0}, "dropout is 1") for name in BY_GRADIENTS],
    *[(name, {"alpha": 1.5}, "alpha is 1.5") for name in ("APPNP", "GCNII", "AdaGPR", "GPRGNN", "LabelPropagation")],
    *[(name, {"theta": 0.0}, "theta is 0") for name in ("GCNII", "AdaGPR")],
    *[(name, {"mlp_layers": 0}, "mlp_layers is 0") for name in ("MLP", "GCNII", "APPNP", "GPRGNN", "LINKX", "GODE")],
    *[(name, {"num_nodes": None}, "pass num_nodes") for name in ("LINK", "LINKX")],
    ("GCN", {"layers": 2.5}, "layers is 2.5"),
    ("AdaGPR", {"hops": 0}, "hops is 0"),
    ("Trees", {"hops": 3}, "hops is 3"),
    ("Trees", {"learning_rate": 0.0}, "learning_rate is 0"),
    ("DeepGCN", {"norm": "group"}, "norm is 'group'"),
    ("LINKX", {"edge_layers": 0}, "edge_layers is 0"),
    ("MixHop", {"powers": (1, 1)}, "powers is"),
    ("MixHop", {"powers": ()}, "powers is"),
    ("MixHop", {"powers": (-1, 0)}, "powers is"),
    ("GPRGNN", {"start": "zeros"}, "start is 'zeros'"),
    ("GPRGNN", {"alpha": float("nan")}, "alpha is nan"),
    ("APPNP", {"link_dropout": -0.1}, "dropout is -0.1"),
    ("GODE", {"gamma": float("inf")}, "gamma is inf"),
    ("GODE", {"solver": "dopri"}, "did you mean dopri"),
    ("GODE", {"solver": "dopri5", "gamma": 0.0}, "gamma is 0"),
    ("GODE", {"solver": "dopri5", "rtol": 0.0}, "rtol is 0"),
]


@pytest.mark.parametrize(("name", "options", "message"), WRONG)
def test_nonsense_is_refused_in_one_sentence(name: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        build(name, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", NAMES)
def test_widths_are_checked(name: str) -> None:
    kind = getattr(baselines, name)
    with pytest.raises(ConfigError, match="out_channels is 0"):
        kind(FEATURES, HIDDEN, 0)


@pytest.mark.parametrize("name", ["LINK", "LINKX", "LabelPropagation", "Trees"])
def test_models_of_one_graph_refuse_another(name: str) -> None:
    small = Graph.from_edges(
        np.array([[0], [1]]), num_nodes=2, features=np.ones((2, FEATURES)), labels=np.array([0, 1])
    )
    with pytest.raises(ConfigError, match=f"{NODES} nodes,? but there are features for 2"):
        build(name)(torch.ones(2, FEATURES), small)


def test_h2gcn_refuses_a_single_operator() -> None:
    with pytest.raises(ConfigError, match="not a SparseOperator"):
        build("H2GCN")(features(), Adjacency.of(GRAPH).operator())


def test_other_models_take_an_operator_as_it_is() -> None:
    model, x = build("GCN").eval(), features()
    torch.testing.assert_close(model(x, Adjacency.of(GRAPH).operator()), model(x, GRAPH))
    link = build("LINK").eval()
    plain = Adjacency.of(GRAPH).operator("none", self_loops=False)
    torch.testing.assert_close(link(x, plain), link(x, GRAPH))


def test_gode_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torchdiffeq", None)
    with pytest.raises(ConfigError, match=r"solver=dopri5 needs torchdiffeq; .* 'gpcn\[ode\]'"):
        build("GODE", solver="dopri5")
    assert build("GODE", solver="euler")(features(), GRAPH).shape == (NODES, CLASSES)


def test_label_propagation_wants_labels_first_and_only_sensible_ones() -> None:
    model = baselines.LabelPropagation(FEATURES, HIDDEN, CLASSES)
    with pytest.raises(ConfigError, match="call observe"):
        model(features(), GRAPH)
    with pytest.raises(ConfigError, match="no training nodes"):
        model.observe(LABELS, torch.zeros(NODES, dtype=torch.bool))
    for label in (-1, CLASSES):
        with pytest.raises(ConfigError, match=f"has label {label}"):
            model.observe(torch.full_like(LABELS, label), torch.arange(3))
    model.observe(torch.where(torch.arange(NODES) < 10, LABELS, -1), torch.arange(10))  # others may be unknown
    assert model.seeds.sum() == 10


def test_label_propagation_does_not_look_at_other_labels() -> None:
    train = torch.arange(0, NODES, 2)
    hidden = LABELS.clone()
    hidden[1::2] = -1
    results = []
    for labels in (LABELS, hidden):
        model = baselines.LabelPropagation(FEATURES, HIDDEN, CLASSES)
        model.observe(labels, train)
        results.append(model(features(), GRAPH))
    assert torch.equal(*results)
