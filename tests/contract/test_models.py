"""One battery of checks over every model of the zoo."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from gpcn import ConfigError, Graph, to_pyg
from gpcn.nn import Adjacency, NodeClassifier, inputs_of, zoo
from gpcn.nn.self_fitting import SelfFitting, fit
from tests.graphs import graph_with_isolated_node

NODES, CLASSES = 40, 3
MODELS = zoo.names()
PER_NODE = {"gpcn-link": "link", "agpcn-link": "link"}


def build(name: str, graph: Graph, dtype: torch.dtype = torch.float64, **changes: object) -> NodeClassifier:
    torch.manual_seed(0)
    declared = {hyperparameter.name for hyperparameter in zoo.specification_of(name).hyperparameters}
    options = {
        key: value for key, value in ({"hidden": 8, "layers": 3, "dropout": 0.0} | changes).items() if key in declared
    }
    model = zoo.build(
        name, in_channels=graph.num_features, out_channels=CLASSES, num_nodes=graph.num_nodes, **options
    ).to(dtype)
    labels, train = torch.tensor(graph.labels), torch.tensor(graph.splits[0].train)
    model.observe(labels, train)
    if isinstance(model, SelfFitting):
        fit(model, dense(graph, dtype), Adjacency(graph.adjacency), labels, train, rounds=12)
    return model.eval()


def dense(graph: Graph, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.tensor(graph.features, dtype=dtype)


@pytest.mark.parametrize("name", MODELS)
def test_logits_have_the_right_shape_and_are_finite_even_for_isolated_nodes(name: str) -> None:
    graph = graph_with_isolated_node()
    logits = build(name, graph)(dense(graph), graph)
    assert logits.shape == (NODES, CLASSES)
    assert logits.isfinite().all()


@pytest.mark.parametrize("name", MODELS)
def test_gradients_reach_every_parameter(name: str) -> None:
    graph = graph_with_isolated_node()
    model = build(name, graph)
    if not list(model.parameters()):
        return
    (model(dense(graph), graph) * torch.randn(NODES, CLASSES, dtype=torch.float64)).sum().backward()
    for key, parameter in model.named_parameters():
        assert parameter.grad is not None, key
        assert parameter.grad.isfinite().all(), key
        assert parameter.grad.abs().sum() > 0, key


@pytest.mark.parametrize("name", MODELS)
def test_a_model_reads_what_its_specification_says(name: str) -> None:
    graph, reads = graph_with_isolated_node(), zoo.specification_of(name).reads
    x, model = dense(graph), build(name, graph)
    order = np.random.default_rng(1).permutation(NODES)
    other = Graph(adjacency=graph.adjacency[order][:, order], features=graph.features, labels=graph.labels)
    logits = model(x, graph)
    assert ("features" in reads) == (not torch.equal(model(x[torch.tensor(order)], graph), logits))
    assert ("links" in reads) == (not torch.equal(model(x, other), logits))
    assert ("labels" in reads) == ("seeds" in model.state_dict())


@pytest.mark.parametrize("name", MODELS)
def test_weights_with_a_decay_or_rate_of_their_own_are_weights_of_the_model(name: str) -> None:
    weights = {key for key, _ in build(name, graph_with_isolated_node()).named_parameters()}
    assert zoo.specification_of(name).parameter_groups.keys() == weights & {"theta", "gamma", "link", "mu_logit"}


@pytest.mark.parametrize("name", MODELS)
def test_permuting_nodes_permutes_logits_and_the_vectors_per_node(name: str) -> None:
    graph = graph_with_isolated_node()
    order = np.random.default_rng(1).permutation(NODES)
    shuffled = Graph(
        adjacency=graph.adjacency[order][:, order], features=graph.features[order], labels=graph.labels[order]
    )
    first, second = build(name, graph), build(name, graph)
    where = torch.tensor(order)
    entry, state = zoo.specification_of(name), first.state_dict()
    per_node = {key: value for key, value in state.items() if value.ndim and len(value) == NODES}
    if entry.keeps_labels:
        per_node = {"seeds": state["seeds"]}  # trees may have as many leaves as there are nodes
    assert per_node.keys() == entry.per_node_tensors & state.keys()
    moved = {key: value[where] for key, value in per_node.items()}
    assert (entry.per_node or entry.keeps_labels) == bool(moved)
    second.load_state_dict(first.state_dict() | moved)
    torch.testing.assert_close(second(dense(shuffled), shuffled), first(dense(graph), graph)[where])


@pytest.mark.parametrize("name", MODELS)
def test_eval_is_deterministic_and_training_drops(name: str) -> None:
    graph = graph_with_isolated_node()
    if "dropout" not in {hyperparameter.name for hyperparameter in zoo.specification_of(name).hyperparameters}:
        model = build(name, graph)
        assert torch.equal(model(dense(graph), graph), model(dense(graph), graph))
        return
    model = build(name, graph, dropout=0.5)
    assert torch.equal(model(dense(graph), graph), model(dense(graph), graph))
    model.train()
    torch.manual_seed(3)
    first = model(dense(graph), graph)
    assert not torch.equal(first, model(dense(graph), graph))
    torch.manual_seed(3)
    assert torch.equal(first, model(dense(graph), graph))


@pytest.mark.parametrize("name", MODELS)
def test_float32_follows_float64(name: str) -> None:
    graph = graph_with_isolated_node()
    exact = build(name, graph)
    single = build(name, graph, torch.float32)
    single.load_state_dict(exact.state_dict())
    logits = single(dense(graph, torch.float32), graph)
    assert logits.dtype == torch.float32
    torch.testing.assert_close(logits.double(), exact(dense(graph), graph), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", MODELS)
def test_weights_survive_safetensors(name: str, tmp_path: Path) -> None:
    graph = graph_with_isolated_node()
    first, second = build(name, graph), build(name, graph)
    if first.state_dict():
        save_file({key: value.contiguous() for key, value in first.state_dict().items()}, tmp_path / "w.safetensors")
        with torch.no_grad():
            for parameter in second.parameters():
                parameter.fill_(0.1)
        second.load_state_dict(load_file(tmp_path / "w.safetensors"))
    assert torch.equal(second(dense(graph), graph), first(dense(graph), graph))


@pytest.mark.parametrize("name", MODELS)
def test_sparse_features_and_dense_ones_agree(name: str) -> None:
    graph = graph_with_isolated_node()
    model, x = build(name, graph), dense(graph)
    expected = model(x, graph)
    operator, _ = inputs_of(
        Graph(adjacency=graph.adjacency, features=_sparse(graph), labels=graph.labels), dtype=x.dtype
    )
    for given in (x.to_sparse_coo(), x.to_sparse_csr(), operator):
        torch.testing.assert_close(model(given, graph), expected)


def _sparse(graph: Graph):
    import scipy.sparse as sp

    return sp.csr_array(graph.features)


@pytest.mark.parametrize("name", MODELS)
def test_links_may_come_in_any_form(name: str) -> None:
    graph = graph_with_isolated_node()
    model, x = build(name, graph), dense(graph)
    expected = model(x, graph)
    edge_index = to_pyg(graph).edge_index
    ones = torch.ones(edge_index.shape[1])
    coo = torch.sparse_coo_tensor(edge_index, ones, (NODES, NODES), check_invariants=True).coalesce()
    for given in (coo, coo.to_sparse_csr(), graph.adjacency, Adjacency(graph.adjacency)):
        torch.testing.assert_close(model(x, given), expected)
    flowing = model(x, Adjacency(graph.adjacency, direction="in"))  # as PyTorch Geometric reads an edge_index
    torch.testing.assert_close(model(x, edge_index), flowing)
    torch.testing.assert_close(model(x, edge_index, ones), flowing)
    model.direction = "out"
    torch.testing.assert_close(model(x, edge_index), expected)


@pytest.mark.parametrize("name", sorted(set(MODELS) - {"mlp", "logistic"}))
def test_weights_of_links_that_wait_for_a_gradient_are_refused(name: str) -> None:
    graph = graph_with_isolated_node()
    weights = torch.ones(graph.num_edges, requires_grad=True)
    with pytest.raises(ConfigError, match=r"edge_weight has requires_grad=True, .* pass its .detach\(\)"):
        build(name, graph)(dense(graph), torch.tensor(graph.edge_index), weights)


@pytest.mark.parametrize("name", MODELS)
def test_reset_draws_new_weights_from_the_seed(name: str) -> None:
    graph = graph_with_isolated_node()
    model = build(name, graph)
    if not list(model.parameters()):
        return
    before = {key: value.clone() for key, value in model.named_parameters()}
    torch.manual_seed(9)
    model.reset_parameters()
    first = {key: value.clone() for key, value in model.named_parameters()}
    torch.manual_seed(9)
    model.reset_parameters()
    assert all(torch.equal(first[key], value) for key, value in model.named_parameters())
    assert any(not torch.equal(first[key], before[key]) for key in before)


@pytest.mark.parametrize("name", MODELS)
def test_training_lowers_the_loss(name: str) -> None:
    graph = graph_with_isolated_node()
    model = build(name, graph, torch.float32).train()
    if not list(model.parameters()):
        return
    x, train = dense(graph, torch.float32), torch.tensor(graph.splits[0].train)
    labels = torch.tensor(graph.labels)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x, graph)[train], labels[train])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.8 * losses[0]


@pytest.mark.parametrize("name", MODELS)
def test_a_graph_of_another_size_is_refused_in_one_sentence(name: str) -> None:
    graph = graph_with_isolated_node()
    from gpcn.core.errors import GpcnError

    if name in ("mlp", "logistic"):
        return  # they read no links
    with pytest.raises(GpcnError):
        build(name, graph)(dense(graph)[:-1], graph)


def test_what_the_family_learned_can_be_read() -> None:
    graph = graph_with_isolated_node()
    assert build("gpcn", graph, gamma=0.5).coefficients().tolist() == pytest.approx([1, 1.5, 0.75, 0.125])
    assert build("gpcn", graph).mix() is None
    assert build("gpcn-link", graph, mu=0.25).mix() == pytest.approx(0.25)
    assert build("mlp", graph).coefficients() is None
    assert build("gprgnn", graph).coefficients().shape == (4,)
