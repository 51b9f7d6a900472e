"""The written-out pass against autograd, in float64: loss, logits and every gradient; and when it is used."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from gpcn import Graph, TrainConfig, synthesize
from gpcn.nn import AGPCN, GPCN, GeneralizedGPCN, GPCNLink, NodeClassifier, SparseOperator
from gpcn.nn.bank_model import PolynomialTerms
from gpcn.nn.multi_gpcn import MultiGPCN, MultiGPCNLink
from gpcn.nn.training_step import row_region
from gpcn.nn.training_step.direct_pass import DirectPass, can_step_directly
from gpcn.nn.training_step.direct_terms import AutogradTerms, FamilyTerms, FreeTerms, terms_rule
from gpcn.tasks.cross_entropy import CrossEntropyWithError
from gpcn.training.problem import Problem, View
from gpcn.training.trainer import Trainer
from tests.graphs import typed_graph
from tests.nn.test_bank import CLASSES, KINDS, OPERATORS, build

LINEAR = [name for name in KINDS if "blocks" not in name]
TRAIN = torch.tensor([0, 3, 4, 7, 11, 12, 18])


def by_autograd(model: NodeClassifier, x: object, graph: Graph, labels, weights, train: torch.Tensor = TRAIN):
    model.zero_grad()
    logits = model(x, graph)
    loss = F.cross_entropy(logits[train], labels[train], weights)
    loss.backward()
    return loss.detach(), {name: parameter.grad.clone() for name, parameter in model.named_parameters()}


def cross_entropy(
    model: NodeClassifier, labels: torch.Tensor, weights: torch.Tensor | None = None
) -> CrossEntropyWithError:
    return CrossEntropyWithError(labels, weights, torch.empty(0, dtype=model.dtype), model.num_classes)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("dropout", [0.0, 0.4])
@pytest.mark.parametrize(("count", "layers"), [(1, 1), (1, 4), (2, 2), (6, 3)])
@pytest.mark.parametrize("name", LINEAR)
def test_the_pass_equals_autograd(name: str, count: int, layers: int, dropout: float, sparse: bool) -> None:
    graph = typed_graph()
    labels = torch.tensor(graph.labels)
    model = build(name, ",".join(OPERATORS[:count]), layers, bias=layers != 2)
    model.order = "collapsed"
    model.dropout = model.features.dropout = model.features.last_dropout = dropout
    x = torch.tensor(graph.features, dtype=torch.float64)
    x = SparseOperator.from_torch((x * (x > 0)).to_sparse_csr()) if sparse else x
    weights = torch.tensor([0.5, 2.0, 1.0], dtype=torch.float64)[:CLASSES] if layers == 3 else None

    model.train()
    torch.manual_seed(7)
    loss, wanted = by_autograd(model, x, graph, labels, weights)
    with torch.no_grad():
        expected = model.eval()(x, graph)

    model.zero_grad()
    torch.manual_seed(7)
    direct_loss, logits = DirectPass(model, x, graph, TRAIN, cross_entropy(model, labels[TRAIN], weights))(dropout > 0)
    torch.testing.assert_close(direct_loss, loss, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(logits, expected, rtol=1e-9, atol=1e-9)
    for parameter, gradient in ((name, tensor.grad) for name, tensor in model.named_parameters()):
        torch.testing.assert_close(gradient, wanted[parameter], rtol=1e-9, atol=1e-9, msg=parameter)
        assert gradient.stride() == wanted[parameter].stride(), parameter  # fused Adam reads memory, not indices


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("dropout", [0.0, 0.4])
@pytest.mark.parametrize(("count", "layers"), [(1, 1), (1, 2), (2, 2), (6, 1)])
@pytest.mark.parametrize("name", LINEAR)
def test_rows_that_nothing_depends_on_are_left_out(
    name: str, count: int, layers: int, dropout: float, sparse: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever part of the graph it is: the same loss, gradients, and logits of the nodes judged."""
    monkeypatch.setattr(row_region, "WORTHWHILE", 1.0)
    graph = typed_graph(degree=1)
    labels, train, judged = torch.tensor(graph.labels), TRAIN[:3], torch.tensor([1, 5])
    model = build(name, ",".join(OPERATORS[:count]), layers, bias=layers != 2)
    model.order = "collapsed"
    model.dropout = model.features.dropout = model.features.last_dropout = dropout
    x = torch.tensor(graph.features, dtype=torch.float64)
    x = SparseOperator.from_torch((x * (x > 0)).to_sparse_csr()) if sparse else x
    model.train()
    torch.manual_seed(7)
    loss, wanted = by_autograd(model, x, graph, labels, None, train)
    with torch.no_grad():
        expected = model.eval()(x, graph)
    direct = DirectPass(model, x, graph, train, cross_entropy(model, labels[train]), judged=judged)
    for _ in range(2):  # the memory of the first pass serves the second
        model.zero_grad()
        torch.manual_seed(7)
        direct_loss, logits = direct(dropout > 0)
    assert all(len(plan.training) < graph.num_nodes for plan in direct.plans.values()) or count == 6
    torch.testing.assert_close(direct_loss, loss, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(logits[judged], expected[judged], rtol=1e-9, atol=1e-9)
    for parameter, gradient in ((name, tensor.grad) for name, tensor in model.named_parameters()):
        torch.testing.assert_close(gradient, wanted[parameter], rtol=1e-9, atol=1e-9, msg=parameter)
        assert gradient.stride() == wanted[parameter].stride(), parameter


def test_a_region_is_what_the_powers_of_its_operators_touch() -> None:
    graph = synthesize(nodes=80, degree=2, directed=True, features=4, splits=1, seed=2)
    operators = tuple(SparseOperator.from_scipy(matrix) for matrix in (graph.adjacency, graph.adjacency.T))
    nodes = np.array([3, 40])
    dense = [operator.to_dense().numpy() != 0 for operator in operators]
    for depths in ((1, 1), (2, 0), (3, 1)):
        touched = np.zeros(80, dtype=bool)
        for links, depth in zip(dense, depths, strict=True):
            inside = np.isin(np.arange(80), nodes)
            for _ in range(depth):
                inside = inside | links[inside].any(axis=0)
            touched |= inside
        assert np.array_equal(row_region.rows_within_reach(operators, depths, nodes, 80), touched)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("model", [GPCN, GPCNLink, AGPCN])
def test_training_and_evaluation_as_one_pass_are_the_two_passes(
    model: type, sparse: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = synthesize(nodes=60, degree=2, directed=True, features=8, splits=1, seed=4)
    labels, split = torch.tensor(graph.labels), graph.splits[0]
    train, judged = torch.tensor(split.train), torch.tensor(split.val)
    x = torch.tensor(graph.features, dtype=torch.float64)
    x = SparseOperator.from_torch((x * (x > 0)).to_sparse_csr()) if sparse else x
    options = {"num_nodes": 60} if model is GPCNLink else {}
    passes = []
    for widest in (row_region.WIDEST_JOINED, 0):
        monkeypatch.setattr(row_region, "WIDEST_JOINED", widest)
        torch.manual_seed(3)
        twin = model(8, 16, graph.num_classes, layers=2, mlp_layers=2, dropout=0.4, **options).double()
        direct = DirectPass(twin, x, graph, train, cross_entropy(twin, labels[train]), judged=judged)
        for seed in (5, 6):
            torch.manual_seed(seed)
            loss, logits = direct(True)
        assert (direct.plans[True].both is None) == (widest == 0)
        passes.append((loss, logits[judged], *(parameter.grad for parameter in twin.parameters())))
    for one, two in zip(*passes, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-12, atol=1e-12)


def test_of_large_data_only_a_small_part_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = synthesize(nodes=200, degree=1, directed=True, features=6, splits=1, seed=3)
    operator = SparseOperator.from_scipy(graph.adjacency)
    whole_graph = row_region.region_of_all_rows(torch.tensor(graph.features), (operator,), ())
    many, few = torch.arange(90), torch.arange(12)
    assert all(row_region.region_around(nodes, whole_graph, (1,)).rows is not None for nodes in (many, few))
    monkeypatch.setattr(row_region, "LARGE", whole_graph.size_in_bytes())
    assert row_region.region_around(many, whole_graph, (1,)) is whole_graph
    assert len(row_region.region_around(few, whole_graph, (1,))) < 80


def test_a_pass_takes_turns_with_and_without_dropout() -> None:
    graph = synthesize(nodes=120, degree=2, directed=True, features=6, splits=1, seed=3)
    labels, split = torch.tensor(graph.labels), graph.splits[0]
    train, val = torch.tensor(split.train[:9]), torch.tensor(split.val[:9])
    model = GPCN(6, 16, graph.num_classes, layers=1, dropout=0.5, order="collapsed").double()
    x = torch.tensor(graph.features, dtype=torch.float64)
    direct = DirectPass(model, x, graph, train, cross_entropy(model, labels[train]), judged=val)
    with torch.no_grad():
        expected = model.eval()(x, graph)[val]
    for drops in (False, True, False, True):
        _, logits = direct(drops)
        torch.testing.assert_close(logits[val], expected, rtol=1e-9, atol=1e-9)
    rows = {drops: (len(plan.training), len(plan.evaluation)) for drops, plan in direct.plans.items()}
    assert max(rows[True]) < max(rows[False]) < 120


@pytest.mark.parametrize("dropout", [0.0, 0.4])
@pytest.mark.parametrize("name", LINEAR)
def test_a_step_writes_into_the_memory_of_the_step_before(name: str, dropout: float) -> None:
    graph = typed_graph()
    labels = torch.tensor(graph.labels)
    model = build(name, ",".join(OPERATORS[:2]), 2)
    model.order = "collapsed"
    model.dropout = model.features.dropout = model.features.last_dropout = dropout
    direct = DirectPass(
        model, torch.tensor(graph.features, dtype=torch.float64), graph, TRAIN, cross_entropy(model, labels[TRAIN])
    )
    written_out = not isinstance(direct.terms_rule, AutogradTerms)
    locations = []
    for _ in range(3):
        model.zero_grad()
        _, logits = direct(dropout > 0)
        gradients = {key: parameter.grad for key, parameter in model.named_parameters()}
        kept = [key for key in gradients if written_out or key.startswith("features")]
        kept = [key for key in kept if key not in ("theta", "scales")]  # a few numbers, new each time
        locations.append([logits.data_ptr(), *(gradients[key].data_ptr() for key in kept)])
    assert locations[0] == locations[1] == locations[2]


def test_the_terms_of_family_and_free_models_are_written_out() -> None:
    class Other(GPCN):
        def polynomial_terms(self) -> PolynomialTerms:
            return super().polynomial_terms()

    sizes = (4, 8, 3)
    for model in (GPCN(*sizes), GPCNLink(*sizes, num_nodes=5), AGPCN(*sizes), AGPCN(*sizes, adaptive="scales")):
        assert type(terms_rule(model)) is FamilyTerms
    for model in (MultiGPCN(*sizes), MultiGPCNLink(*sizes, num_nodes=5)):
        assert type(terms_rule(model)) is FreeTerms
    for model in (GeneralizedGPCN(*sizes), Other(*sizes)):
        assert type(terms_rule(model)) is AutogradTerms


@pytest.mark.parametrize("options", ["'generalized-gpcn'", "'agpcn', adaptive='scales'"])
def test_a_step_through_autograd_does_not_import_sympy(options: str) -> None:
    """It takes half a second, in every process, for nothing."""
    lines = "import sys, gpcn; graph = gpcn.synthesize(nodes=60, features=4, splits=1)"
    lines += f"; gpcn.train(graph, gpcn.TrainConfig.of({options}, hidden=8, epochs=2), jobs=1)"
    lines += "; print('sympy' in sys.modules)"
    answer = subprocess.run([sys.executable, "-W", "ignore", "-c", lines], capture_output=True, text=True, check=True)
    assert answer.stdout == "False\n"


def test_a_share_that_changes_between_steps_is_followed() -> None:
    graph = typed_graph()
    labels = torch.tensor(graph.labels)
    x = torch.tensor(graph.features, dtype=torch.float64)
    x = SparseOperator.from_torch((x * (x > 0)).to_sparse_csr())
    model = GPCN(x.shape[1], 16, CLASSES, order="collapsed").double()
    direct = DirectPass(model, x, graph, TRAIN, cross_entropy(model, labels[TRAIN]))
    for share in (0.4, 0.4, 0.7):
        model.dropout = model.features.dropout = model.features.last_dropout = share
        model.train()
        torch.manual_seed(3)
        loss, wanted = by_autograd(model, x, graph, labels, None)
        model.zero_grad()
        torch.manual_seed(3)
        torch.testing.assert_close(direct(True)[0], loss, rtol=1e-9, atol=1e-12)
        for name, parameter in model.named_parameters():
            torch.testing.assert_close(parameter.grad, wanted[name], rtol=1e-9, atol=1e-9)


def test_the_pass_covers_collapsible_models_alone() -> None:
    graph = typed_graph()
    x = torch.tensor(graph.features)
    sizes = (x.shape[1], 64, CLASSES)

    def covered(model: NodeClassifier) -> bool:
        return can_step_directly(model, x, graph)

    assert covered(GPCN(*sizes, order="collapsed"))
    assert covered(GPCN(*sizes))
    assert covered(GPCN(*sizes, dropout_mode="residual", dropout=0.0))
    assert covered(MultiGPCN(*sizes, operators="rich"))
    assert not covered(GPCN(*sizes, dropout_mode="residual", dropout=0.3))
    assert not covered(GPCN(*sizes, order="recursive"))
    assert not covered(MultiGPCN(*sizes, blocks=2))
    assert not covered(torch.nn.Linear(2, 2))  # type: ignore[arg-type]


@pytest.mark.parametrize("model", ["gpcn", "gpcn-link", "agpcn", "agpcn-link", "multi-gpcn-link", "gcn"])
def test_training_is_the_same_either_way(
    model: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    torch.set_default_dtype(torch.float64)
    request.addfinalizer(lambda: torch.set_default_dtype(torch.float32))
    graph = synthesize(nodes=150, directed=True, features=12, splits=1, seed=1)
    config = TrainConfig.of(model, hidden=16, epochs=30, dropout=0.3)

    def trained() -> Trainer:
        problem = Problem.of(graph, config)
        view = View(problem.x.to(dtype=torch.float64), problem.adjacency)
        problem = replace(problem, training=view, evaluation=view)
        trainer = Trainer(problem, config, graph.splits[0], 0)
        trainer.run()
        return trainer

    written_out = trained()
    assert (written_out.direct is not None) == (model != "gcn")
    monkeypatch.setattr("gpcn.training.trainer.can_step_directly", lambda *_: False)
    torch.testing.assert_close(written_out.best_logits(), trained().best_logits(), rtol=1e-7, atol=1e-7)
