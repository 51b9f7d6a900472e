"""Integrated gradients of every model of the zoo that has gradients: shares, what is there without, and residual."""

from __future__ import annotations

import pytest
import torch

from gpcn import ConfigError, synthesize
from gpcn.nn import inputs_of, zoo
from gpcn.nn.attribution import attributions
from gpcn.nn.base import NodeClassifier
from gpcn.nn.integrated_gradients import MOST, NEGLIGIBLE, integrated_gradients, why_no_gradients

NODES, CLASSES = 60, 3
ABLE = [name for name in zoo.names() if why_no_gradients(zoo.specification_of(name).kind) is None]
LEAD = torch.tensor([1.0, -1, 0], dtype=torch.float64)
GRAPH = synthesize(nodes=NODES, classes=CLASSES, degree=4, features=5, splits=1)


def build(name: str, **options: object) -> NodeClassifier:
    torch.manual_seed(3)
    sizes = {"in_channels": GRAPH.num_features, "out_channels": CLASSES, "num_nodes": NODES}
    return zoo.build(name, **sizes, **options).double().eval()


def one(node: int) -> torch.Tensor:
    return torch.nn.functional.one_hot(torch.tensor(node), NODES).double()


@pytest.mark.parametrize("name", ABLE)
def test_shares_rest_and_residual_are_the_logit_and_the_residual_is_small(name: str) -> None:
    model = build(name)
    x, adjacency = inputs_of(GRAPH, dtype=torch.float64)
    value = float(model(x, adjacency)[7].detach() @ LEAD)
    result = integrated_gradients(model, x, adjacency, one(7), LEAD)
    assert float(result.shares.sum()) + result.without + result.residual == pytest.approx(value, abs=1e-9)
    bound = NEGLIGIBLE * max(abs(value), abs(value - result.without))
    assert abs(result.residual) <= bound or result.steps == MOST
    assert abs(result.residual) <= 0.1 * max(abs(value), abs(value - result.without)) + 1e-9


@pytest.mark.parametrize("name", ["gpcn", "agpcn-link", "sgc", "logistic"])
def test_where_the_model_is_homogeneous_or_linear_the_sum_is_exact(name: str) -> None:
    model = build(name)
    x, adjacency = inputs_of(GRAPH, dtype=torch.float64)
    result = integrated_gradients(model, x, adjacency, one(7), LEAD)
    assert abs(result.residual) < 1e-12
    if name.endswith(("gpcn", "link")):
        exact = torch.zeros_like(result.shares)
        for part in attributions(model, x, adjacency, one(7), LEAD):
            real = part.features >= 0
            exact.index_put_((part.nodes[real], part.features[real]), part.shares[real], accumulate=True)
        torch.testing.assert_close(result.shares, exact, rtol=0, atol=1e-12)


def test_shares_of_a_mean_over_nodes_are_the_same_for_sparse_features() -> None:
    model = build("gcn", bias=True)
    x, adjacency = inputs_of(GRAPH, dtype=torch.float64)
    weights = (one(1) + one(2)) / 2
    dense = integrated_gradients(model, x, adjacency, weights, LEAD)
    sparse = integrated_gradients(model, x.to_sparse_csr(), adjacency, weights, LEAD)
    torch.testing.assert_close(dense.shares, sparse.shares, rtol=0, atol=1e-12)
    value = float((model(x, adjacency)[[1, 2]].mean(0) @ LEAD).detach())
    assert float(dense.shares.sum()) + dense.without + dense.residual == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize(
    ("name", "reason"), [("trees", "boosted trees are steps"), ("label-propagation", "spreads the labels")]
)
def test_models_without_gradients_say_why(name: str, reason: str) -> None:
    x, adjacency = inputs_of(GRAPH, dtype=torch.float64)
    with pytest.raises(ConfigError, match=reason):
        integrated_gradients(build(name), x, adjacency, one(7), LEAD)


def test_a_model_in_training_is_refused() -> None:
    x, adjacency = inputs_of(GRAPH, dtype=torch.float64)
    with pytest.raises(ConfigError, match=r"call model\.eval"):
        integrated_gradients(build("mlp").train(), x, adjacency, one(7), LEAD)
