"""The bounds scale as their formulas say, agree where models agree, and lie above what can be reached."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gpcn import ConfigError, synthesize
from gpcn.nn import Adjacency, inputs_of, zoo
from gpcn.theory.bounds import C_0, Quantities, corrected, printed, transductive
from gpcn.theory.oversmoothing import dirichlet_energy, layer_states, mean_average_distance
from gpcn.theory.quantities import measure, normalized
from gpcn.theory.rademacher import estimate, project
from gpcn.theory.spectrum import power_sums

EXAMPLE = Quantities(
    feature_norms=(2.0, 0.5),
    residual_norm=1.5,
    output_norm=3.0,
    link_norm=0.7,
    coefficients=(1.0, 2.0, 0.25),
    mu=0.4,
    power_sums=(50.0, 20.0, 9.0),
    frobenius=(math.sqrt(50), 3.0, 2.0),
    features_frobenius=11.0,
    features_column=4.0,
    nodes=50,
    train=20,
    test=10,
    bound_on_outputs=1.2,
)
SIZES = {"train": 30, "test": 15}
BOTH = pytest.mark.parametrize("bound", [printed, corrected], ids=["printed", "corrected"])


def test_the_printed_bound_is_the_one_computed_by_hand() -> None:
    p = 20 * 10 / 30**2
    hops = 2.0 * 1.5 * 20 + 0.25 * 1.5**2 * 9
    inner = 4 * 1.0 * math.sqrt(2 * p) * (1 + hops) * 11 + hops * math.sqrt(50) * 1.2
    expected = 3.0 * 0.4 * inner + 0.6 * 2**2.5 * 3.0 * 0.7 * math.sqrt(200) / 30 * 20
    assert printed(EXAMPLE).total == pytest.approx(expected)
    assert printed(replace(EXAMPLE, constant=2.0)).terms["links"] == printed(EXAMPLE).terms["links"]


def test_the_corrected_bound_is_the_one_computed_by_hand() -> None:
    root = math.sqrt(2 * 200 / 900)
    longest = 1.0 * 4.0
    features = min(4 * root * 11, root * math.sqrt(50) * longest)
    hops = 2.0 * 1.5 * root * 3.0 * longest + 0.25 * 1.5**2 * root * 2.0 * longest
    assert corrected(EXAMPLE).total == pytest.approx(3.0 * (0.4 * (features + hops) + 0.6 * 0.7 * root * 3.0))


@BOTH
@given(factor=st.floats(0.1, 10))
@settings(max_examples=20, deadline=None)
def test_terms_grow_with_the_norms_they_contain(bound, factor: float) -> None:
    base = bound(EXAMPLE)

    def terms(**changes: object) -> dict[str, float]:
        return bound(replace(EXAMPLE, **changes)).terms

    scaled = terms(output_norm=3.0 * factor)
    assert all(scaled[name] == pytest.approx(factor * base.terms[name]) for name in scaled)
    assert terms(link_norm=0.7 * factor)["links"] == pytest.approx(factor * base.terms["links"])
    assert terms(residual_norm=1.5 * factor)["hop_2"] == pytest.approx(factor**2 * base.terms["hop_2"])
    assert terms(residual_norm=1.5 * factor)["features"] == base.terms["features"]
    gammas = tuple(c * factor**k for k, c in enumerate(EXAMPLE.coefficients))
    assert terms(coefficients=gammas)["hop_2"] == pytest.approx(factor**2 * base.terms["hop_2"])
    assert terms(feature_norms=(2.0 * factor, 0.5))["hop_1"] == pytest.approx(factor * base.terms["hop_1"])
    norms = {"features_frobenius": 11.0 * factor, "features_column": 4.0 * factor}
    assert terms(**norms)["features"] == pytest.approx(factor * base.terms["features"])
    assert terms(coefficients=(-1.0, -2.0, -0.25)) == base.terms
    sums = terms(power_sums=(50.0, 20.0 * factor, 9.0), frobenius=(7.0, 3.0 * factor, 2.0))
    assert sums["hop_1"] == pytest.approx(factor * base.terms["hop_1"])
    assert sums["links"] == pytest.approx(factor * base.terms["links"])


@BOTH
def test_mu_weighs_links_against_features(bound) -> None:
    assert bound(replace(EXAMPLE, mu=1.0)).terms["links"] == 0
    alone = bound(replace(EXAMPLE, mu=0.0))
    assert alone.total == alone.terms["links"] > 0
    half = bound(replace(EXAMPLE, mu=0.5))
    ends = bound(replace(EXAMPLE, mu=1.0)).total, alone.total
    assert half.total == pytest.approx(sum(ends) / 2)


def test_the_corrected_bound_is_below_the_printed_one_where_both_speak_of_the_same() -> None:
    """With R no smaller than what the class can reach, as the printed theorem assumes."""
    large = replace(EXAMPLE, bound_on_outputs=EXAMPLE.product * EXAMPLE.features_column / math.sqrt(50))
    assert corrected(large).total < printed(large).total


def trained(name: str, directed: bool = False, **options: object):
    graph = synthesize(nodes=60, classes=2, degree=3, directed=directed, features=5, splits=1, seed=1)
    torch.manual_seed(0)
    model = zoo.build(name, in_channels=5, out_channels=1, num_nodes=60, hidden=4, dropout=0, **options)
    x, adjacency = inputs_of(graph)
    return graph, model, x, adjacency


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("gpcn", {"operators": "directions"}),
        ("gpcn-link", {"link_operators": "out-raw"}),
        ("multi-gpcn", {}),
    ],
)
def test_other_operators_have_no_bound_and_that_is_said(name: str, options: dict[str, str]) -> None:
    _graph, model, x, adjacency = trained(name, **options)
    with pytest.raises(ConfigError, match="the theorems are about"):
        measure(model, x, adjacency, **SIZES)


@pytest.mark.parametrize("kind", ["binomial", "printed"])
@pytest.mark.parametrize("link", ["", "-link"])
def test_agpcn_with_gpcns_coefficients_has_gpcns_bound(kind: str, link: str) -> None:
    _graph, model, x, adjacency = trained("gpcn" + link, layers=5, gamma=0.5, coefficients=kind)
    _, other, _, _ = trained("agpcn" + link, layers=5)
    other.load_state_dict(model.state_dict(), strict=False)
    with torch.no_grad():
        other.theta.copy_(model.coefficients())
    measured, equivalent = (measure(one, x, adjacency, **SIZES) for one in (model, other))
    for bound in (printed, corrected):
        assert bound(measured).terms == pytest.approx(bound(equivalent).terms, rel=1e-6)
    assert measure(model, x, adjacency, coefficients=kind, **SIZES).coefficients == measured.coefficients  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["gpcn", "gpcn-link", "agpcn", "agpcn-link"])
@pytest.mark.parametrize("directed", [False, True])
def test_the_corrected_bound_lies_above_what_can_be_reached(name: str, directed: bool) -> None:
    _graph, model, x, adjacency = trained(name, directed, layers=2, mlp_layers=2, gamma=0.5)
    quantities = measure(model, x, adjacency, **SIZES)
    complexity = estimate(model, x, adjacency, quantities, draws=6, starts=2, steps=60)
    bound = corrected(quantities).total
    assert complexity.mean - 3 * complexity.error > 0
    assert complexity.mean + 3 * complexity.error < bound
    assert bound < 1000 * complexity.mean  # and is not idle


def test_measured_quantities_are_those_of_the_model() -> None:
    graph, model, x, adjacency = trained("gpcn-link", layers=3, mlp_layers=2, gamma=0.5)
    quantities = measure(model, x, adjacency, **SIZES)
    assert len(quantities.feature_norms) == 2
    assert quantities.output_norm == pytest.approx(float(model.out.weight.detach().abs().sum(0).max()))
    assert quantities.link_norm == pytest.approx(float(model.link.detach().abs().sum(0).max()))
    features = np.asarray(graph.features)
    assert quantities.features_frobenius == pytest.approx(np.linalg.norm(features), rel=1e-5)
    assert quantities.features_column == pytest.approx(np.linalg.norm(features, axis=0).max(), rel=1e-5)
    bar = normalized(adjacency).toarray()
    powers = [np.linalg.norm(np.linalg.matrix_power(bar, k)) for k in range(4)]
    np.testing.assert_allclose(quantities.frobenius, powers, rtol=1e-9)
    assert quantities.bound_on_outputs == pytest.approx(float(model.features(x).detach().abs().max()))
    assert (quantities.train, quantities.test, quantities.nodes) == (30, 15, 60)


def test_norms_of_powers_of_a_directed_graph_are_bounded_by_singular_values() -> None:
    _, _, _, adjacency = trained("gpcn", directed=True)
    bar = normalized(adjacency)
    sums = power_sums(bar, 8)
    for k in range(1, 5):
        assert np.linalg.norm(np.linalg.matrix_power(bar.toarray(), k)) <= math.sqrt(sums[2 * k]) + 1e-12


def test_the_transductive_bound_is_the_one_computed_by_hand() -> None:
    q = 1 / 20 + 1 / 10
    full_bound = transductive(corrected(EXAMPLE), EXAMPLE, delta=0.1)
    s = 30 / (29.5 * (1 - 1 / 40))
    assert full_bound.complexity == pytest.approx(q * corrected(EXAMPLE).total)
    assert full_bound.slack_of_sampling == pytest.approx(C_0 * q * math.sqrt(10))
    assert full_bound.confidence == pytest.approx(math.sqrt(s * q / 2 * math.log(10)))
    assert full_bound.gap == pytest.approx(full_bound.complexity + full_bound.slack_of_sampling + full_bound.confidence)
    theirs = transductive(printed(EXAMPLE), EXAMPLE, delta=0.1)
    s = 2 * 30 * 10 / (59 * 19)
    assert theirs.confidence == pytest.approx(math.sqrt(s * q / 2 * math.log(10)))
    assert pytest.approx(5.05, abs=0.01) == C_0


def test_nonsense_is_refused() -> None:
    with pytest.raises(ConfigError, match="expected a probability"):
        transductive(corrected(EXAMPLE), EXAMPLE, delta=0)
    with pytest.raises(ConfigError, match="some are missing"):
        replace(EXAMPLE, coefficients=(1, 2, 3, 4))
    with pytest.raises(ConfigError, match="expected a share"):
        replace(EXAMPLE, mu=2)
    with pytest.raises(ConfigError, match="some of each"):
        replace(EXAMPLE, test=0)
    with pytest.raises(ConfigError, match="not finite"):
        replace(EXAMPLE, residual_norm=math.nan)
    _graph, model, x, adjacency = trained("gpcn", bias=True)
    with pytest.raises(ConfigError, match="without biases"):
        measure(model, x, adjacency, **SIZES)
    with pytest.raises(ConfigError, match="not MLP"):
        measure(trained("mlp")[1], x, adjacency, **SIZES)


@given(st.integers(0, 1000), st.floats(0.01, 5))
@settings(max_examples=30, deadline=None)
def test_projection_is_the_nearest_point(seed: int, radius: float) -> None:
    weight = torch.tensor(np.random.default_rng(seed).normal(size=(6, 4)))
    inside = project(weight, radius)
    assert (inside.abs().sum(0) <= radius + 1e-9).all()
    torch.testing.assert_close(project(inside, radius), inside)
    rng = np.random.default_rng(seed + 1)
    for _ in range(20):
        other = torch.tensor(rng.normal(size=(6, 4)))
        other = other / other.abs().sum(0) * radius * torch.tensor(rng.random(4))
        assert ((weight - inside).norm(dim=0) <= (weight - other).norm(dim=0) + 1e-9).all()


def test_states_end_where_the_model_does() -> None:
    for name in ("gpcn", "agpcn"):
        _, model, x, adjacency = trained(name, layers=3, gamma=0.5)
        states = layer_states(model, x, adjacency)
        assert len(states) == 4
        with torch.no_grad():
            expected = model(x, adjacency).numpy()
        np.testing.assert_allclose(states[-1] @ model.out.weight.detach().numpy(), expected, rtol=1e-4, atol=1e-5)


def test_oversmoothing_measures_fall_as_features_become_alike() -> None:
    graph, *_ = trained("gpcn")
    links = graph.adjacency
    same = np.ones((60, 3))
    assert mean_average_distance(same, links) == pytest.approx(0, abs=1e-12)
    both = links.maximum(links.T)
    smooth = np.sqrt(np.asarray(both.sum(1)).ravel() + 1)[:, None] * np.ones(2)  # the eigenvector of Ā at 1
    assert dirichlet_energy(smooth, links) == pytest.approx(0, abs=1e-9)
    rough = np.random.default_rng(0).normal(size=(60, 3))
    assert dirichlet_energy(rough, links) > 0.3
    assert mean_average_distance(rough, links) > 0.3
    bar = normalized(Adjacency.of(graph))
    assert dirichlet_energy(bar @ bar @ rough, links) < dirichlet_energy(rough, links)
    assert dirichlet_energy(np.zeros((60, 2)), links) == 0
