from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpcn import Graph, inspect, synthesize
from gpcn.graph import homophily
from tests.graphs import graph_of_payments_within_classes, make_graph


def test_measures_of_a_path_of_two_classes_are_those_by_hand() -> None:
    # 0-1-2-3 undirected, classes a a b b: edges aa, ab, bb
    ends = np.array([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]])
    graph = Graph.from_edges(ends, num_nodes=4, features=np.zeros((4, 1)), labels=np.array([0, 0, 1, 1]))
    measures = homophily.measure(graph)
    assert measures.edge == pytest.approx(2 / 3)
    assert measures.node == pytest.approx((1 + 0.5 + 0.5 + 1) / 4)
    assert measures.class_insensitive == pytest.approx((2 / 3 - 0.5) * 2)
    assert measures.adjusted == pytest.approx((2 / 3 - 0.5) / 0.5)
    entropy, joint = np.log(2), np.array([[1 / 3, 1 / 6], [1 / 6, 1 / 3]])
    assert measures.label_informativeness == pytest.approx((joint * np.log(joint / 0.25)).sum() / entropy)
    np.testing.assert_allclose(measures.compatibility, [[2 / 3, 1 / 3], [1 / 3, 2 / 3]])


def test_self_loops_unlabelled_ends_and_weights_do_not_count() -> None:
    labels = np.array([0, 0, 1, 1, -1, -1])
    plain = make_graph(edge_index=[[0, 1], [1, 2]], labels=labels, splits=())
    noisy = make_graph(edge_index=[[0, 1, 2, 3, 0], [1, 2, 2, 4, 5]], weights=[5, 1, 1, 1, 1], labels=labels, splits=())
    assert homophily.measure(plain).edge == homophily.measure(noisy).edge == 0.5


def test_undefined_is_none_never_zero() -> None:
    no_edges = make_graph(edge_index=np.empty((2, 0), dtype=int))
    measures = homophily.measure(no_edges)
    assert (
        measures.edge,
        measures.node,
        measures.class_insensitive,
        measures.adjusted,
        measures.label_informativeness,
    ) == (None,) * 5
    one_class = homophily.measure(make_graph(labels=np.zeros(6, int), splits=()))
    assert one_class.edge == 1
    assert (one_class.class_insensitive, one_class.adjusted, one_class.label_informativeness) == (None,) * 3
    assert "undefined" in homophily.verdict(one_class, None)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), directed=st.booleans())
def test_measures_do_not_depend_on_the_order_of_nodes_and_classes(seed: int, directed: bool) -> None:
    graph = synthesize(nodes=60, classes=3, degree=4, seed=seed, directed=directed, splits=0)
    rng = np.random.default_rng(seed)
    order, rename = rng.permutation(60), rng.permutation(3)
    shuffled = Graph(
        adjacency=graph.adjacency[order][:, order], features=graph.features[order], labels=rename[graph.labels[order]]
    )
    first, second = homophily.measure(graph), homophily.measure(shuffled)
    for measure in ("edge", "node", "class_insensitive", "adjusted", "label_informativeness"):
        assert getattr(first, measure) == pytest.approx(getattr(second, measure))


def test_measures_of_each_direction_are_those_by_hand() -> None:
    # 0 -> 2, 1 -> 2, 1 -> 3, 2 -> 0; classes a a b b, a node without links, one without a label
    ends = np.array([[0, 1, 1, 2, 5, 1], [2, 2, 3, 0, 0, 1]])
    labels = np.array([0, 0, 1, 1, 1, -1])
    graph = Graph.from_edges(ends, num_nodes=6, features=np.zeros((6, 1)), labels=labels)
    directions = homophily.by_direction(graph)
    assert directions.reciprocated == pytest.approx(2 / 5)  # 0 -> 2 and 2 -> 0, of all that are no loops
    assert directions.outward.coverage == pytest.approx(3 / 5)  # 0, 1 and 2 point to somebody
    assert directions.outward.node == 0
    assert directions.outward.label_informativeness == pytest.approx(1)  # a points to b, b to a
    assert directions.inward.coverage == pytest.approx(3 / 5)  # 2, 3 and 0
    assert directions.inward.label_informativeness == pytest.approx(1)
    assert homophily.direction_hint(directions) is None


def test_a_node_counts_once_however_many_neighbours_it_has() -> None:
    # a hub of class b is pointed to by three of class a and one of class b, and points to one of class b
    ends = np.array([[1, 2, 3, 4, 0], [0, 0, 0, 0, 4]])
    graph = Graph.from_edges(ends, num_nodes=5, features=np.zeros((5, 1)), labels=np.array([1, 0, 0, 0, 1]))
    directions = homophily.by_direction(graph)
    assert directions.outward.node == pytest.approx(2 / 5)  # 0 and 4, of five that point to somebody
    assert directions.outward.coverage == 1
    assert directions.outward.label_informativeness == pytest.approx(0)  # all point to b
    assert directions.inward.node == pytest.approx((1 / 4 + 1) / 2)
    assert directions.inward.coverage == pytest.approx(2 / 5)
    assert directions.inward.label_informativeness is None  # only nodes of class b are pointed to
    assert directions.reciprocated == pytest.approx(2 / 5)


def test_a_hint_names_the_setting_where_one_direction_tells_more() -> None:
    graph = graph_of_payments_within_classes()
    back = Graph(adjacency=graph.adjacency.T, features=graph.features, labels=graph.labels)
    inward, outward = homophily.by_direction(graph), homophily.by_direction(back)
    assert inward.inward.information == pytest.approx(outward.outward.information)
    assert inward.outward.information == pytest.approx(outward.inward.information)
    assert "direction=in, or the model multi-gpcn" in str(homophily.direction_hint(inward))
    assert "direction=out, the default" in str(homophily.direction_hint(outward))
    facts = inspect(graph).directions
    assert facts.inward.label_informativeness == inward.inward.label_informativeness
    assert facts.hint == homophily.direction_hint(inward)
    assert inspect(graph.symmetrized()).directions is None


def test_directions_of_nothing_are_undefined() -> None:
    bare = make_graph(edge_index=np.empty((2, 0), dtype=int))
    directions = homophily.by_direction(bare)
    assert (directions.reciprocated, directions.outward.node, directions.inward.label_informativeness) == (None,) * 3
    assert directions.outward.coverage == 0
    assert homophily.direction_hint(directions) is None
    assert homophily.above_chance(bare) is None
    unknown = homophily.by_direction(make_graph(labels=np.full(6, -1), splits=()))
    assert unknown.outward.coverage is None


PAPER = {"chameleon": 0.062, "squirrel": 0.025, "film": 0.011, "cornell": 0.047, "texas": 0.001, "wisconsin": 0.094}
CHARACTERISTICS = {  # Platonov et al., Characterizing Graph Datasets (2023): edge, node, adjusted, informativeness
    "cora": (0.81, 0.83, 0.77, 0.59),
    "citeseer": (0.74, 0.72, 0.67, 0.45),
    "minesweeper": (0.68, 0.68, 0.01, 0.00),
    "tolokers": (0.59, 0.63, 0.09, 0.01),
}


@pytest.mark.mirror
@pytest.mark.parametrize("name", PAPER)
def test_class_insensitive_equals_the_papers_table(name: str, load_dataset) -> None:
    assert homophily.measure(load_dataset(name)).class_insensitive == pytest.approx(PAPER[name], abs=0.001)


@pytest.mark.mirror
@pytest.mark.parametrize("name", CHARACTERISTICS)
def test_the_other_measures_equal_the_published_ones(name: str, load_dataset) -> None:
    measures = homophily.measure(load_dataset(name))
    values = (measures.edge, measures.node, measures.adjusted, measures.label_informativeness)
    assert values == pytest.approx(CHARACTERISTICS[name], abs=0.0051)


@pytest.mark.parametrize(
    ("value", "informative", "words"),
    [(0.8, 0.5, "mostly agree"), (0.2, 0.1, "agree somewhat"), (-0.3, 0.2, "in a pattern"), (0.0, 0.0, "say little")],
)
def test_the_verdict_is_in_plain_words(value: float, informative: float, words: str) -> None:
    facts = homophily.Homophily(0.5, 0.5, 0.5, value, 0.9, np.eye(2))
    above = homophily.AboveChance(informative, informative - 0.01, informative + 0.01, 0.1)
    assert words in homophily.verdict(facts, above)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("nodes", "degree", "classes", "directed"),
    [(30, 2, 3, False), (200, 2, 20, True), (3000, 3, 983, False), (3000, 3, 983, True), (2000, 20, 50, False)],
)
def test_shuffled_labels_get_no_verdict_of_a_pattern(
    nodes: int, degree: int, classes: int, directed: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    ends, labels = rng.integers(0, nodes, (2, nodes * degree)), rng.integers(0, classes, nodes)
    graph = Graph.from_edges(ends, num_nodes=nodes, features=np.zeros((nodes, 1)), labels=labels)
    graph = graph if directed else graph.symmetrized()
    facts = inspect(graph)
    assert "in a pattern" not in facts.verdict
    above = facts.label_informativeness_above_chance
    assert above.low <= 0 <= above.high
    assert abs(above.value) < 0.1


def test_what_is_above_chance_is_what_is_above_many_shuffles() -> None:
    graph = synthesize(nodes=400, classes=20, degree=3, homophily=0.1, mixing="ring", seed=2, splits=0)
    above, rng = homophily.above_chance(graph), np.random.default_rng(1)
    assert above is not None
    shuffled = [
        homophily.measure(replace(graph, labels=rng.permutation(graph.labels))).label_informativeness or 0.0
        for _ in range(300)
    ]
    plain = homophily.measure(graph).label_informativeness or 0.0
    assert above.chance == pytest.approx(np.mean(shuffled), abs=0.005)
    assert above.value == pytest.approx((plain - np.mean(shuffled)) / (1 - np.mean(shuffled)), abs=0.005)
    assert above.high - above.low == pytest.approx(6 * np.std(shuffled) / (1 - np.mean(shuffled)), rel=0.2)
    assert above.low > 0
    assert above == homophily.above_chance(graph)
    assert "in a pattern" in inspect(graph).verdict


VERDICTS = {"texas": "in a pattern", "wisconsin": "in a pattern", "cora": "mostly agree", "film": "say little"}


@pytest.mark.mirror
@pytest.mark.parametrize("name", VERDICTS)
def test_published_graphs_keep_their_verdicts(name: str, load_dataset) -> None:
    assert VERDICTS[name] in inspect(load_dataset(name)).verdict
