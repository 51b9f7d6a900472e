"""Banks of operators: names, and the engine against a literal dense transcription, in float64."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from gpcn import Graph, synthesize
from gpcn.core.errors import ConfigError
from gpcn.nn import AGPCN, GPCN, Adjacency, AGPCNLink, GeneralizedGPCN, GPCNLink, NodeClassifier, zoo
from gpcn.nn.engine import bank
from gpcn.nn.multi_gpcn import MultiGPCN, MultiGPCNLink
from tests.graphs import typed_graph
from tests.nn import literal
from tests.nn.test_exactness import assert_close, gradients

NODES, FEATURES, HIDDEN, CLASSES = 19, 7, 5, 3
OPERATORS = [
    "out-row",
    "in-raw^1",
    "both-symmetric+loops",
    "in-symmetric",
    "out-raw+loops^2",
    "in-row:pays",
]
KINDS = {
    "gpcn": (GPCN, {"gamma": 0.3}),
    "gpcn-printed": (GPCN, {"gamma": 0.3, "coefficients": "printed"}),
    "gpcn-link": (GPCNLink, {"gamma": 0.3, "mu": 0.3, "num_nodes": NODES}),
    "agpcn": (AGPCN, {"gamma": 0.4}),
    "agpcn-scales": (AGPCN, {"gamma": 0.4, "adaptive": "scales"}),
    "agpcn-relative": (AGPCN, {"gamma": 0.4, "adaptive": "relative"}),
    "agpcn-link": (AGPCNLink, {"gamma": 0.4, "num_nodes": NODES, "link_operators": "out-raw,in-raw"}),
    "generalized": (GeneralizedGPCN, {"gamma": 0.3}),
    "multi": (MultiGPCN, {}),
    "multi-link": (MultiGPCNLink, {"num_nodes": NODES, "link_operators": "out-raw,out-row"}),
    "blocks-2": (MultiGPCN, {"blocks": 2}),
    "blocks-2-degrees": (MultiGPCN, {"blocks": 2, "degrees": True}),
    "blocks-3": (MultiGPCNLink, {"blocks": 3, "norm": "none", "num_nodes": NODES}),
}


def dense_operator(graph: Graph, spec: bank.OperatorSpec) -> Tensor:
    """By hand, entry by entry."""
    links = graph.adjacency if spec.relation is None else graph.relations[spec.relation]
    given = links.toarray().astype(np.float64)
    matrix = {"out": given, "in": given.T, "both": np.maximum(given, given.T), None: given}[spec.direction]
    matrix = matrix + np.eye(NODES) if spec.self_loops else matrix
    rows = matrix.sum(1)
    result = np.zeros_like(matrix)
    for i in range(NODES):
        for j in range(NODES):
            if matrix[i, j] == 0:
                continue
            if spec.normalization == "none":
                result[i, j] = matrix[i, j]
            elif spec.normalization == "row":
                result[i, j] = matrix[i, j] / rows[i]
            else:
                result[i, j] = matrix[i, j] / np.sqrt(rows[i] * rows[j]) if rows[j] > 0 else 0.0
    return torch.tensor(result)


def build(name: str, operators: str, layers: int, bias: bool = True) -> NodeClassifier:
    torch.manual_seed(layers)
    kind, options = KINDS[name]
    options = {"link_operators": operators, **options} if "link" in name or name == "blocks-3" else options
    model = kind(FEATURES, HIDDEN, CLASSES, layers=layers, mlp_layers=2, bias=bias, operators=operators, **options)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.rand_like(parameter) * 0.2)
    return model.double().eval()


def literal_logits(model: NodeClassifier, x: Tensor, graph: Graph) -> Tensor:
    layers = list(model.features.layers)
    biases = None if layers[0].bias is None else [layer.bias for layer in layers]
    hidden = literal.feature_layers(x, [layer.weight for layer in layers], biases)
    operators = [dense_operator(graph, spec) for spec in model.bank]
    if isinstance(model, MultiGPCN):
        return _literal_multi(model, hidden, operators, graph)
    total = None
    for index, operator in enumerate(operators):
        depth = model.depths[index]
        layer = model.residual if len(operators) == 1 else model.residual[index]
        start = 1 + sum(model.depths[:index])
        if isinstance(model, GeneralizedGPCN):
            steps = list(layer)
            shifts = None if steps[0].bias is None else [step.bias for step in steps]
            spread = literal.generalized(operator, hidden, model.gamma, [step.weight for step in steps], shifts)
            first = 1.0
        else:
            if isinstance(model, GPCN):
                make = literal.printed if model.kind == "printed" else literal.binomial
                coefficients = make(depth, model.gamma)
            elif model.adaptive == "scales":
                coefficients = literal.elementary_symmetric(model.theta[start - 1 : start - 1 + depth])
            else:
                coefficients = [model.theta[0], *model.theta[start : start + depth]]
                if model.adaptive == "relative":
                    pairs = zip(coefficients, literal.binomial(depth, model.gamma), strict=True)
                    coefficients = [share * value for share, value in pairs]
            spread = literal.polynomial(operator, hidden, coefficients, layer.weight, layer.bias)
            first = coefficients[0]
        total = spread if total is None else total + spread - first * hidden
    if model.link is not None:
        mu = torch.sigmoid(model.mu_logit)
        vectors = [model.link] if model.link.dim() == 2 else [model.link[:, i] for i in range(model.link.shape[1])]
        linked = [dense_operator(graph, spec) @ link for spec, link in zip(model.link_bank, vectors, strict=True)]
        total = mu * total + (1 - mu) * sum(linked)
    return total @ model.out.weight + (0 if model.out.bias is None else model.out.bias)


def _literal_multi(model: MultiGPCN, hidden: Tensor, operators: list[Tensor], graph: Graph) -> Tensor:
    def spread(z: Tensor, terms: torch.nn.Module) -> Tensor:
        total, index = z @ terms.weight[0].T, 0
        for operator, depth in zip(operators, model.depths, strict=True):
            for k in range(1, depth + 1):
                index += 1
                total = total + torch.linalg.matrix_power(operator, k) @ z @ terms.weight[index].T
        return total if terms.bias is None else total + terms.bias

    if model.degree_terms is not None:
        directions = dict.fromkeys(spec.direction for spec in model.bank)
        raw = [dense_operator(graph, bank.OperatorSpec(direction, "none", False)) for direction in directions]
        hidden = hidden + torch.log(1 + torch.stack([matrix.sum(1) for matrix in raw], 1)) @ model.degree_terms
    for block in model.inner:
        active = torch.relu(spread(block.norm(hidden), block.terms))
        hidden = hidden + active @ block.mixing.weight + (0 if block.mixing.bias is None else block.mixing.bias)
    bias = 0 if model.terms.bias is None else model.terms.bias
    total = model.mu * (spread(model.last_norm(hidden), model.terms) - bias) + bias
    for index, spec in enumerate(model.link_bank):
        linked = dense_operator(graph, spec) @ model.link[:, index] @ model.link_terms[index]
        total = total + (1 - model.mu) * linked
    return total


@pytest.mark.parametrize("layers", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("count", [1, 2, 3, 6])
@pytest.mark.parametrize("name", KINDS)
def test_engine_equals_the_formula(name: str, count: int, layers: int) -> None:
    graph = typed_graph()
    model = build(name, ",".join(OPERATORS[:count]), layers, bias=layers % 2 == 1)
    x = torch.tensor(graph.features, dtype=torch.float64)
    expected = literal_logits(model, x, graph)
    wanted = gradients(expected, model)
    for order in ("collapsed", "recursive"):
        model.order = order
        logits = model(x, graph)
        assert_close(logits, expected, f"{order} logits")
        for parameter, gradient in gradients(logits, model).items():
            assert_close(gradient, wanted[parameter], f"{order} gradient of {parameter}")


@pytest.mark.parametrize("name", ["gpcn", "gpcn-link", "agpcn", "agpcn-link", "generalized-gpcn"])
def test_the_papers_operator_as_a_bank_is_the_papers_model_to_the_bit(name: str) -> None:
    graph = synthesize(nodes=50, directed=True, features=6, splits=0)
    x = torch.tensor(graph.features)
    sizes = {"in_channels": 6, "out_channels": 4, "num_nodes": 50, "layers": 3}
    torch.manual_seed(0)
    plain = zoo.build(name, **sizes).eval()
    torch.manual_seed(0)
    named = zoo.build(name, operators="out-symmetric+loops", **sizes).eval()
    assert torch.equal(plain(x, graph), named(x, graph))
    assert plain.state_dict().keys() == named.state_dict().keys()


def test_one_block_is_the_model_without_blocks() -> None:
    graph = typed_graph()
    x = torch.tensor(graph.features)
    torch.manual_seed(0)
    plain = zoo.build("multi-gpcn", in_channels=FEATURES, out_channels=3, num_nodes=NODES).eval()
    torch.manual_seed(0)
    options = {"blocks": 1, "operators": "rich", "layers": 2}
    deep = zoo.build("deep-gpcn", in_channels=FEATURES, out_channels=3, num_nodes=NODES, **options).eval()
    assert torch.equal(plain(x, graph), deep(x, graph))


def test_an_edge_index_with_types_is_the_graph_with_relations() -> None:
    graph = typed_graph()
    x = torch.tensor(graph.features)
    ends, weights, kinds = [], [], []
    for number, links in enumerate(graph.relations.values()):
        entries = links.tocoo()
        ends.append(np.stack([entries.row, entries.col]))
        weights.append(entries.data)
        kinds.append(np.full(entries.nnz, number))
    given = torch.tensor(np.concatenate(ends, axis=1).astype(np.int64))
    edge_weight, edge_type = torch.tensor(np.concatenate(weights)), torch.tensor(np.concatenate(kinds))
    torch.manual_seed(0)
    named = MultiGPCN(FEATURES, HIDDEN, CLASSES, operators="out-row:pays,in-row:owns,both-raw^1").eval()
    torch.manual_seed(0)
    numbered = MultiGPCN(FEATURES, HIDDEN, CLASSES, operators="out-row:0,in-row:1,both-raw^1").eval()
    torch.testing.assert_close(numbered(x, given, edge_weight, edge_type), named(x, graph))
    with pytest.raises(ConfigError, match="edge_type has shape"):
        numbered(x, given, edge_weight, edge_type[1:])
    with pytest.raises(ConfigError, match="no links of type '0'; the types of this graph: pays, owns"):
        numbered(x, graph)


def test_memory_does_not_grow_with_depth() -> None:
    graph = typed_graph()
    x = torch.tensor(graph.features)
    sizes = []
    for layers in (2, 12):
        model = AGPCN(FEATURES, HIDDEN, CLASSES, layers=layers, operators="out-row,in-row", order="collapsed")
        kept: list[int] = []
        with torch.autograd.graph.saved_tensors_hooks(
            lambda tensor, kept=kept: kept.append(tensor.numel() if NODES in tensor.shape else 0) or tensor,
            lambda tensor: tensor,
        ):
            model(x, graph)
        sizes.append(sum(kept))
    assert sizes[0] == sizes[1] > 0


def test_names_of_operators_and_banks_are_parsed_and_resolved() -> None:
    assert bank.parse("paper") == (bank.PAPER_OPERATOR,)
    for name in OPERATORS:
        assert str(bank.parse(name)[0]) == name
    assert [str(spec) for spec in bank.resolve(bank.parse("typed"), relations=("a", "b"))] == [
        "out-row:a",
        "out-row:b",
        "in-row:a",
        "in-row:b",
    ]
    assert [str(spec) for spec in bank.resolve(bank.parse("rich"), directed=False)] == [
        "both-symmetric+loops",
        "both-row",
        "both-raw^1",
    ]
    assert bank.resolve(bank.parse("typed"), directed=False) == bank.parse("both-row")
    for text, sentence in {
        "out-rows": "operator 'out-rows' is unknown; expected paper",
        "": "operator '' is unknown",
        "up-row": "such as out-row",
        "out-row^0": "at least 1",
        "out-row,out-row": "twice",
    }.items():
        with pytest.raises(ConfigError, match=sentence):
            bank.parse(text)
    with pytest.raises(ConfigError, match="the types of this graph: a"):
        bank.resolve(bank.parse("out-row:z"), relations=("a",))


def test_a_ready_operator_serves_one_way_of_reading_only() -> None:
    graph = typed_graph()
    x, operator = torch.tensor(graph.features), Adjacency.of(graph).operator("row")
    MultiGPCN(FEATURES, HIDDEN, CLASSES, operators="out-row")(x, operator)
    with pytest.raises(ConfigError, match="reads links in 2 ways"):
        MultiGPCN(FEATURES, HIDDEN, CLASSES, operators="out-row,in-row")(x, operator)
