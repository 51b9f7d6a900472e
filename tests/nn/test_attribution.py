"""Every logit as a sum over operator, hop, source node and input feature, against autograd and against the logits."""

from __future__ import annotations

import pytest
import torch

from gpcn.nn import inputs_of, zoo
from gpcn.nn.attribution import Attribution, attributions
from gpcn.nn.base import NodeClassifier
from tests.graphs import graph_of_random_links

MODELS = ("gpcn", "gpcn-link", "agpcn", "agpcn-link", "generalized-gpcn", "multi-gpcn", "multi-gpcn-link")
NODES, FEATURES, CLASSES = 14, 6, 3


def build(name: str, *, bias: bool, mlp_layers: int) -> NodeClassifier:
    torch.manual_seed(1)
    settings = {"hidden": 8, "layers": 2, "mlp_layers": mlp_layers, "bias": bias}
    sizes = {"in_channels": FEATURES, "out_channels": CLASSES, "num_nodes": NODES, "directed": True}
    return zoo.build(name, **sizes, **settings).double().eval()


def total(shares: list[Attribution]) -> float:
    return float(sum(part.shares.sum() for part in shares))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_the_shares_of_every_part_add_up_to_the_logits(name: str, bias: bool, sparse: bool) -> None:
    model = build(name, bias=bias, mlp_layers=2)
    x, adjacency = inputs_of(graph_of_random_links(sparse=sparse), dtype=torch.float64)
    logits = model(x, adjacency).detach()
    for node in (0, 5, 13):
        one = torch.nn.functional.one_hot(torch.tensor(node), NODES)
        for wanted in (torch.tensor([1.0, 0, 0]), torch.tensor([0.0, 1, -1])):
            shares = list(attributions(model, x, adjacency, one, wanted.double()))
            assert total(shares) == pytest.approx(float(logits[node] @ wanted.double()), abs=1e-9)
            if not bias:
                assert "bias" not in [part.part for part in shares]
                assert all((part.features >= 0).all() for part in shares if not part.part.startswith("links"))


@pytest.mark.parametrize("name", MODELS)
def test_without_biases_a_share_is_gradient_times_input_as_autograd_has_it(name: str) -> None:
    model = build(name, bias=False, mlp_layers=3)
    x, adjacency = inputs_of(graph_of_random_links(sparse=False), dtype=torch.float64)
    assert isinstance(x, torch.Tensor)
    x = x.clone().requires_grad_()
    model(x, adjacency)[4, 2].backward()
    expected = x.grad * x.detach()
    one = torch.nn.functional.one_hot(torch.tensor(4), NODES)
    summed = torch.zeros(NODES, FEATURES, dtype=torch.float64)
    for part in attributions(model, x.detach(), adjacency, one, torch.tensor([0.0, 0, 1]).double()):
        real = part.features >= 0
        summed.index_put_((part.nodes[real], part.features[real]), part.shares[real], accumulate=True)
    torch.testing.assert_close(summed, expected, rtol=0, atol=1e-10)


def test_taking_a_feature_away_changes_the_logit_by_its_share_while_no_unit_switches() -> None:
    model = build("gpcn", bias=True, mlp_layers=1)
    x, adjacency = inputs_of(graph_of_random_links(sparse=False), dtype=torch.float64)
    assert isinstance(x, torch.Tensor)
    node, source, feature, step = 3, int(graph_of_random_links(sparse=False).adjacency[[3]].indices[0]), 0, 1e-6
    x[source, feature] = 1.0
    one = torch.nn.functional.one_hot(torch.tensor(node), NODES)
    wanted = torch.tensor([1.0, -1, 0]).double()
    share = sum(
        float(part.shares[(part.nodes == source) & (part.features == feature)].sum())
        for part in attributions(model, x, adjacency, one, wanted)
    )
    lower = x.clone()
    lower[source, feature] -= step
    with torch.no_grad():
        change = (model(x, adjacency) - model(lower, adjacency))[node] @ wanted
    assert share == pytest.approx(float(change) / step, rel=1e-6)


def test_the_mean_of_nodes_is_explained_at_once() -> None:
    model = build("multi-gpcn-link", bias=True, mlp_layers=1)
    x, adjacency = inputs_of(graph_of_random_links(sparse=True), dtype=torch.float64)
    chosen = torch.tensor([1, 2, 7])
    weights = torch.zeros(NODES, dtype=torch.float64)
    weights[chosen] = 1 / 3
    wanted = torch.tensor([0.0, 1, 0]).double()
    shares = list(attributions(model, x, adjacency, weights, wanted))
    assert total(shares) == pytest.approx(float(model(x, adjacency)[chosen, 1].detach().mean()), abs=1e-9)
