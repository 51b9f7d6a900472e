from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpcn import ConfigError, synthesize
from gpcn.graph import homophily


@settings(max_examples=25, deadline=None)
@given(
    wanted=st.floats(0, 1),
    classes=st.integers(2, 6),
    degree=st.floats(2, 10),
    directed=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_the_dials_do_what_they_say(wanted: float, classes: int, degree: float, directed: bool, seed: int) -> None:
    graph = synthesize(
        nodes=600, classes=classes, degree=degree, homophily=wanted, directed=directed, seed=seed, splits=0
    )
    assert homophily.measure(graph).edge == pytest.approx(wanted, abs=0.01)
    assert graph.adjacency.nnz / 600 == pytest.approx(degree, rel=0.03)
    assert np.bincount(graph.labels).min() >= 600 // classes
    assert graph.adjacency.diagonal().sum() == 0
    if not directed:
        assert not graph.directed


def test_the_ring_links_only_neighbouring_classes() -> None:
    graph = synthesize(nodes=2000, classes=6, homophily=0.1, mixing="ring", splits=0)
    compatibility = homophily.measure(graph).compatibility
    for first in range(6):
        for second in range(6):
            near = (first - second) % 6 in (0, 1, 5)
            assert (compatibility[first, second] > 0.05) == near


def test_signal_separates_the_classes() -> None:
    def spread(signal: float) -> float:
        graph = synthesize(nodes=4000, signal=signal, splits=0)
        means = np.stack([graph.features[graph.labels == c].mean(axis=0) for c in range(4)])
        return float(np.linalg.norm(means, axis=1).mean())

    assert spread(0) < 0.2
    assert spread(3) == pytest.approx(3, rel=0.1)


def test_the_same_seed_gives_the_same_graph_and_another_another() -> None:
    assert synthesize(seed=3).equals(synthesize(seed=3))
    assert not synthesize(seed=3).equals(synthesize(seed=4))


def test_labels_are_hidden_and_splits_respect_it() -> None:
    graph = synthesize(nodes=1000, unlabelled=0.3, splits=2)
    assert graph.labelled.size == 700
    assert len(graph.splits) == 2


def test_memory_is_linear_in_the_edges() -> None:
    def peak(nodes: int) -> int:
        tracemalloc.start()
        synthesize(nodes=nodes, splits=0)
        peak_bytes = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak_bytes

    assert peak(80_000) < 5 * peak(20_000)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"classes": 1}, "classes is 1; expected at least 2"),
        ({"nodes": 5}, "at least two for each of the 4 classes"),
        ({"degree": 0}, "degree is 0"),
        ({"homophily": 1.5}, "homophily is 1.5; expected a share"),
        ({"features": 0}, "features is 0"),
        ({"signal": float("nan")}, "signal is nan"),
        ({"mixing": "star"}, "mixing is 'star'"),
        ({"unlabelled": 1.0}, "unlabelled is 1.0"),
        ({"splits": -1}, "splits is -1"),
        ({"nodes": 20, "degree": 15, "homophily": 1.0}, "lower the degree or move homophily"),
    ],
)
def test_nonsense_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        synthesize(**changes)  # type: ignore[arg-type]


def test_dense_graphs_that_just_fit_are_made() -> None:
    graph = synthesize(nodes=200, degree=150, homophily=0.25, splits=0)
    assert graph.num_edges == 15_000
