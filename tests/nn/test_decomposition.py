"""The parts of a logit add up to it, and the nodes behind a part add up to the part."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from gpcn import ConfigError, Graph, TrainConfig, synthesize
from gpcn.nn import NodeClassifier, decomposition, zoo
from gpcn.training.problem import Problem
from tests.nn import literal

MODELS = ("gpcn", "gpcn-link", "agpcn", "agpcn-link", "generalized-gpcn")
OPTIONS = {
    "gpcn": {"coefficients": "printed", "layers": 5},
    "gpcn-link": {"bias": True, "mu": 0.3, "learn_mu": False, "mlp_layers": 2},
    "agpcn": {"adaptive": "relative", "direction": "both", "layers": 4},
    "agpcn-link": {"adaptive": "scales", "normalize_features": True, "bias": True},
    "generalized-gpcn": {"bias": True, "direction": "both", "normalize_features": True},
}
CASES = [(name, {}) for name in MODELS] + [(name, OPTIONS[name]) for name in MODELS]
CASES += [(name, {"bias": True, "dropout": 0.5, "dropout_mode": "residual"}) for name in MODELS[:4]]
CASES += [
    ("multi-gpcn", {}),
    ("multi-gpcn-link", {"bias": False, "link_operators": "out-raw,in-row+loops"}),
    ("agpcn-link", {"bias": True, "operators": "rich", "link_operators": "out-raw"}),
    ("gpcn-link", {"bias": True, "operators": "directions"}),
    ("deep-gpcn", {"blocks": 1}),
]
IDS = [f"{name}-{'-'.join(options) or 'plain'}" for name, options in CASES]


def trained(graph: Graph, name: str, options: dict[str, object]) -> tuple[NodeClassifier, Problem]:
    """A model whose weights have left every special starting point, in float64."""
    config = TrainConfig.of(name, hidden=24, **{"layers": 3, **options})
    problem = Problem.prepared(graph, config, dtype=torch.float64)
    torch.manual_seed(5)
    model = problem.build(config).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.rand_like(parameter))
    return model, problem


def assert_adds_up(graph: Graph, name: str, options: dict[str, object]) -> None:
    model, problem = trained(graph, name, options)
    parts = dict(decomposition.parts(model, problem.x, problem.adjacency))
    logits = model(problem.x, problem.adjacency)
    assert (sum(parts.values()) - logits).abs().max() < 1e-6
    assert logits.abs().max() > 0.1
    for node in (0, graph.num_nodes - 1):
        for source in decomposition.sources(model, problem.x, problem.adjacency, node):
            torch.testing.assert_close(source.gives.sum(0), parts[source.part][node], rtol=0, atol=1e-6)


@pytest.mark.mirror
@pytest.mark.parametrize(("name", "options"), CASES, ids=IDS)
@pytest.mark.parametrize("dataset", ["texas", "cora"])
def test_parts_add_up_on_real_graphs(
    load_dataset: Callable[[str], Graph], dataset: str, name: str, options: dict[str, object]
) -> None:
    assert_adds_up(load_dataset(dataset), name, options)


@pytest.mark.parametrize(("name", "options"), CASES, ids=IDS)
def test_parts_add_up_on_a_directed_graph(name: str, options: dict[str, object]) -> None:
    assert_adds_up(synthesize(nodes=60, directed=True, features=5, splits=0), name, options)


def hop(k: int) -> str:
    return "features" if k == 0 else f"hop {k}"


@pytest.mark.parametrize("name", ["gpcn", "agpcn-link"])
def test_each_part_is_the_power_that_it_is_called_after(name: str) -> None:
    model, problem = trained(synthesize(nodes=30, directed=True, features=5, splits=0), name, {"layers": 4})
    dense = torch.tensor(problem.graph.adjacency.toarray(), dtype=torch.float64)
    bar, hidden = literal.normalized(dense), model.features(problem.x)
    share = 1.0 if model.mix() is None else model.mix()
    parts = dict(decomposition.parts(model, problem.x, problem.adjacency))
    sources = {source.part: source for source in decomposition.sources(model, problem.x, problem.adjacency, 7)}
    assert list(sources) == [part for part in parts if part != "bias"]
    for k, coefficient in enumerate(model.coefficients()):
        power = torch.linalg.matrix_power(bar, k)
        value = share * coefficient * hidden @ torch.linalg.matrix_power(model.residual.weight, k) @ model.out.weight
        torch.testing.assert_close(parts[hop(k)], power @ value)
        source = sources[hop(k)]
        assert source.nodes.tolist() == power[7].nonzero().squeeze(1).tolist()
        torch.testing.assert_close(source.gives, (power[7].unsqueeze(1) * value)[source.nodes])
    if "links" in parts:
        through = (1 - share) * model.link @ model.out.weight
        torch.testing.assert_close(parts["links"], bar @ through)
        torch.testing.assert_close(sources["links"].gives, (bar[7].unsqueeze(1) * through)[sources["links"].nodes])


def test_what_cannot_be_decomposed_says_so() -> None:
    graph = synthesize(nodes=30, features=5, splits=0)
    model, problem = trained(graph, "gpcn", {})
    with pytest.raises(ConfigError, match="call model.eval"):
        next(decomposition.parts(model.train(), problem.x, problem.adjacency))
    for name in ("gcn", "residual-gcn", "deep-gpcn"):
        other = zoo.build(name, in_channels=5, out_channels=4, num_nodes=30).double().eval()
        assert not decomposition.can_be_decomposed(type(other), zoo.specification_of(name).settle({}))
        with pytest.raises(ConfigError, match="cannot be decomposed"):
            next(decomposition.parts(other, problem.x, problem.adjacency))
