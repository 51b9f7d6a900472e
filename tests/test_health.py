from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from gpcn import Graph, Split
from gpcn.graph import health
from tests.graphs import make_graph

SPLIT = Split(train=np.array([0, 1]), val=np.array([2]), test=np.array([3, 4]))


def test_twins_are_nodes_with_the_same_two_or_more_links() -> None:
    #  0 and 3 link to {1, 2}; 4 links to {1, 5}; 1 and 2 link to 0 alone
    ends = np.array([[0, 0, 3, 3, 4, 4, 1, 2], [1, 2, 1, 2, 1, 5, 0, 0]])
    graph = make_graph(edge_index=ends, labels=np.array([0, 1, 0, 1, 0, 1]), splits=(SPLIT,))
    groups = health.twin_groups(graph)
    assert groups[0] == groups[3]
    assert len(np.unique(groups)) == 5
    condition = health.check(graph)
    assert condition.twin_nodes == 2
    assert condition.train_test_duplicates == (1,)
    assert any("50% of the test nodes have a duplicate" in warning for warning in condition.warnings)


def test_different_weights_are_different_links() -> None:
    ends = np.array([[0, 0, 3, 3], [1, 2, 1, 2]])
    graph = make_graph(edge_index=ends, weights=[1, 2, 2, 1], labels=np.zeros(6, int), splits=())
    assert health.check(graph).twin_nodes == 0


@pytest.mark.parametrize("seed", range(5))
def test_hashing_rows_agrees_with_comparing_them(seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = sp.csr_array((rng.random((60, 4)) < 0.5).astype(np.float32) @ np.eye(4, 60, dtype=np.float32))
    graph = Graph(adjacency=matrix, features=np.zeros((60, 1)), labels=np.zeros(60, int))
    groups, dense = health.twin_groups(graph), matrix.toarray()
    for i in range(60):
        for j in range(i):
            same = dense[i].sum() >= 2 and np.array_equal(dense[i], dense[j])
            assert (groups[i] == groups[j]) == same


@pytest.mark.mirror
@pytest.mark.parametrize(("name", "share"), [("chameleon", 0.60), ("squirrel", 0.58)])
def test_the_known_leaks_are_found_and_gone_in_the_filtered_graphs(name: str, share: float, load_dataset) -> None:
    def leak(graph: Graph) -> float:
        counts = health.check(graph).train_test_duplicates
        return float(np.mean([n / s.test.size for n, s in zip(counts, graph.splits, strict=True)]))

    assert leak(load_dataset(name)) > share
    assert leak(load_dataset(f"{name}-filtered")) < 0.05
    assert f"{name}-filtered is without them" in " ".join(health.check(load_dataset(name)).warnings)


def test_isolated_nodes_absent_classes_and_constant_features_are_found() -> None:
    graph = make_graph(
        edge_index=[[0, 1], [1, 0]],
        features=np.array([[1, 0], [1, 1], [1, 0], [1, 1], [1, 0], [1, 0]]),
        labels=np.array([0, 0, 1, 1, 0, -1]),
        splits=(SPLIT,),
        label_names=["cat", "dog"],
    )
    condition = health.check(graph)
    assert condition.isolated_nodes == 4
    assert condition.constant_features == 1
    assert condition.classes_missing_from_train == ((0, 1),)
    assert any("'dog' in split 0" in warning for warning in condition.warnings)
    sparse = replace(graph, features=sp.csr_array(graph.features))
    assert health.check(sparse).constant_features == 1


def test_a_node_with_only_incoming_links_is_not_isolated() -> None:
    assert health.check(make_graph(edge_index=[[0, 0, 0, 0, 0], [1, 2, 3, 4, 5]])).isolated_nodes == 0


def test_no_features_and_one_class_are_warned_about() -> None:
    graph = make_graph(features=np.empty((6, 0)), labels=np.zeros(6, int), splits=())
    text = " ".join(health.check(graph).warnings)
    assert "there are no features" in text
    assert "nothing to learn" in text
