"""Spectra against closed forms and LAPACK."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from gpcn import ConfigError, load, synthesize
from gpcn.nn import Adjacency
from gpcn.theory.spectrum import density, is_symmetric, power_sums

POWERS = 8


def normalized(matrix: np.ndarray) -> sp.csr_array:
    """`D̂^-1/2 (A+I) D̂^-1/2`."""
    hat = matrix + np.eye(len(matrix))
    scale = 1 / np.sqrt(hat.sum(1))
    return sp.csr_array(scale[:, None] * hat * scale)


def complete(n: int) -> tuple[np.ndarray, np.ndarray]:
    return np.ones((n, n)) - np.eye(n), np.array([1.0] + [0.0] * (n - 1))


def cycle(n: int) -> tuple[np.ndarray, np.ndarray]:
    links = np.roll(np.eye(n), 1, axis=1)
    return links + links.T, (1 + 2 * np.cos(2 * np.pi * np.arange(n) / n)) / 3


def star(n: int) -> tuple[np.ndarray, np.ndarray]:
    """A centre and n - 1 leaves: Ā has 1, its partner, and 1/2 of each leaf beyond the first."""
    links = np.zeros((n, n))
    links[0, 1:] = links[1:, 0] = 1
    pair = np.linalg.eigvalsh([[1 / n, np.sqrt((n - 1) / (2 * n))], [np.sqrt((n - 1) / (2 * n)), 0.5]])
    return links, np.concatenate([pair, np.full(n - 2, 0.5)])


def bipartite(a: int, b: int) -> tuple[np.ndarray, np.ndarray]:
    links = np.zeros((a + b, a + b))
    links[:a, a:] = links[a:, :a] = 1
    cross = np.sqrt(a * b / ((b + 1) * (a + 1)))
    pair = np.linalg.eigvalsh([[1 / (b + 1), cross], [cross, 1 / (a + 1)]])
    return links, np.concatenate([pair, np.full(a - 1, 1 / (b + 1)), np.full(b - 1, 1 / (a + 1))])


def union(*parts: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    return sp.block_diag([links for links, _ in parts]).toarray(), np.concatenate([values for _, values in parts])


CLOSED = {
    "complete": complete(7),
    "cycle": cycle(9),
    "even cycle": cycle(12),
    "star": star(8),
    "bipartite": bipartite(4, 6),
    "union": union(complete(5), cycle(6), star(4), bipartite(2, 3)),
}


@pytest.mark.parametrize("name", CLOSED)
@pytest.mark.parametrize("of", ["singular", "eigen"])
def test_power_sums_are_those_of_closed_forms(name: str, of: str) -> None:
    links, values = CLOSED[name]
    sums = power_sums(normalized(links), POWERS, of=of)  # type: ignore[arg-type]
    expected = [(np.abs(values) ** k).sum() for k in range(POWERS + 1)]
    np.testing.assert_allclose(sums.values, expected, atol=1e-9)
    assert sums.method == "exact"
    assert not sums.errors.any()
    assert sums[0] == len(values)


@pytest.mark.parametrize("name", CLOSED)
def test_lanczos_sees_all_of_a_small_space(name: str) -> None:
    links, values = CLOSED[name]
    sums = power_sums(normalized(links), POWERS, method="lanczos", probes=400, steps=30)
    expected = np.array([(np.abs(values) ** k).sum() for k in range(POWERS + 1)])
    assert (np.abs(sums.values - expected) <= sums.errors + 1e-9).all()


@given(st.integers(0, 10_000), st.integers(40, 160), st.floats(0.02, 0.3), st.booleans())
@settings(max_examples=25, deadline=None, derandomize=True)  # an error bar may be missed by one draw in many
def test_lanczos_is_within_its_error_of_lapack(seed: int, n: int, share: float, directed: bool) -> None:
    links = (np.random.default_rng(seed).random((n, n)) < share).astype(float)
    links = links if directed else np.maximum(np.triu(links, 1), np.triu(links, 1).T)
    matrix = normalized(links)
    exact = power_sums(matrix, POWERS, method="exact")
    sums = power_sums(matrix, POWERS, method="lanczos", probes=64, seed=seed)
    assert (np.abs(sums.values - exact.values) <= sums.errors * 1.5 + 1e-9).all()


@pytest.mark.mirror
@pytest.mark.parametrize("name", ["chameleon", "cora"])
def test_lanczos_is_within_its_error_on_real_graphs(name: str, mirror: Path) -> None:
    graph = load(name, mirror=mirror).symmetrized()
    csr = Adjacency.of(graph).operator().csr.to_scipy()
    csr = sp.csr_array((csr + csr.T) / 2, dtype=np.float64)
    exact = power_sums(csr, 16, method="exact")
    sums = power_sums(csr, 16, method="lanczos")
    assert (np.abs(sums.values - exact.values) <= sums.errors + 1e-6).all()
    assert (sums.errors[1:9] < 0.2 * exact.values[1:9]).all()  # and the estimate is worth something


def test_directed_graphs_have_singular_values_that_bound_what_eigenvalues_do_not() -> None:
    shift = sp.csr_array(np.diag(np.ones(5), 1))
    assert power_sums(shift, 2, of="eigen")[2] == pytest.approx(0)
    assert power_sums(shift, 2)[2] == pytest.approx((shift**2).sum()) == 5


def test_what_cannot_be_had_is_said() -> None:
    graph = synthesize(nodes=50, directed=True)
    with pytest.raises(ConfigError, match="use singular values"):
        power_sums(graph.adjacency, 2, of="eigen", method="lanczos")
    with pytest.raises(ConfigError, match="expected a square one"):
        power_sums(np.ones((2, 3)), 2)
    with pytest.raises(ConfigError, match="expected auto, exact or lanczos"):
        power_sums(np.eye(3), 2, method="magic")  # type: ignore[arg-type]


def test_the_density_is_where_the_spectrum_is() -> None:
    links, values = CLOSED["union"]
    exact = density(normalized(links), of="eigen")
    np.testing.assert_allclose(np.sort(exact.nodes), np.sort(values), atol=1e-12)
    edges, shares = density(normalized(links), method="lanczos", probes=64).histogram(10)
    assert shares.sum() == pytest.approx(1)
    assert len(edges) == 11
    moment = density(normalized(links), method="lanczos", probes=200)
    assert (moment.weights * moment.nodes**2).sum() == pytest.approx((values**2).sum(), rel=0.1)


def test_a_density_that_is_there_need_not_be_computed_again() -> None:
    links, _ = CLOSED["star"]
    spectrum, expected = density(normalized(links)), power_sums(normalized(links), POWERS)
    np.testing.assert_array_equal(power_sums(normalized(links), POWERS, precomputed=spectrum).values, expected.values)


def test_symmetry_is_seen_to_rounding() -> None:
    assert is_symmetric(sp.csr_array(np.eye(3)))
    assert not is_symmetric(sp.csr_array(np.diag(np.ones(2), 1)))
