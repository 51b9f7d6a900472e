"""Boosted trees: what they see, what they must not see, and that they are scikit-learn's."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.ensemble import HistGradientBoostingClassifier

from gpcn import Graph, Split, synthesize
from gpcn.core.errors import ConfigError
from gpcn.nn import inputs_of
from gpcn.nn.baselines import Trees
from gpcn.nn.baselines.forest import Forest
from gpcn.nn.baselines.neighbour_table import Layout, neighbour_table
from gpcn.nn.self_fitting import fit

NODES, CLASSES = 60, 3


def messy_links(seed: int, *, directed: bool, weighted: bool) -> sp.csr_array:
    """Reciprocal links, self-loops, a node without links, one that is only pointed to."""
    rng = np.random.default_rng(seed)
    dense = (rng.random((NODES, NODES)) < 0.06).astype(float)
    dense[10:20, 20:30] = dense[20:30, 10:20].T
    dense[np.arange(0, NODES, 4), np.arange(0, NODES, 4)] = 1
    dense *= rng.uniform(0.1, 3, dense.shape) if weighted else 1
    if not directed:
        dense = np.maximum(dense, dense.T)
    dense[7], dense[:, 7], dense[8] = 0, 0, 0
    if not directed:
        dense[:, 8] = 0
    return sp.csr_array(dense)


def one_hot(labels: np.ndarray, train: np.ndarray) -> np.ndarray:
    seeds = np.zeros((NODES, CLASSES))
    seeds[train, labels[train]] = 1
    return seeds


def literal_table(features: np.ndarray, dense: np.ndarray, seeds: np.ndarray, layout: Layout) -> np.ndarray:
    """The formulas of `gpcn.nn.baselines.neighbour_table`, node by node and neighbour by neighbour."""
    rows = []
    nodes = range(len(dense))
    for i in nodes:
        row = list(features[i])
        for matrix in [dense, dense.T] if layout.directed else [dense]:

            def steps(a: int, matrix: np.ndarray = matrix) -> dict[int, float]:
                near = {b: float(matrix[a, b]) for b in nodes if b != a and matrix[a, b] > 0}
                return {b: weight / sum(near.values()) for b, weight in near.items()}

            first = steps(i)
            row.append(len(first))
            if layout.weighted:
                row.append(sum(matrix[i, b] for b in first))
            if layout.hops >= 1:
                row += list(sum(share * features[b] for b, share in first.items())) if first else [np.nan] * 2
            if layout.hops >= 2:
                means = [(share, sum(s * features[c] for c, s in steps(b).items())) for b, share in first.items()]
                means = [(share, mean) for share, mean in means if not isinstance(mean, int)]
                whole = sum(share for share, _ in means)
                row += list(sum(share * mean for share, mean in means) / whole) if means else [np.nan] * 2
            if layout.labels:
                second: dict[int, float] = {}
                for b, share in first.items():
                    for c, further in steps(b).items():
                        if c != i:
                            second[c] = second.get(c, 0.0) + share * further
                for hop, reached in ((1, first), (2, second))[: layout.hops]:
                    mass = sum(share for b, share in reached.items() if seeds[b].any())
                    mean = sum(share * seeds[b] for b, share in reached.items())
                    row += list(mean / mass) if mass else [np.nan] * CLASSES
                    row.append(mass / sum(reached.values()) if reached else np.nan)
                    if hop == 1:
                        row.append(sum(seeds[b].any() for b in first))
        rows.append(row)
    return np.array(rows)


@pytest.mark.parametrize(
    ("directed", "weighted", "hops", "labels"),
    [*product((False, True), (False, True), (0, 1, 2), (True,)), (True, True, 2, False)],
)
def test_the_table_is_what_the_formulas_say(directed: bool, weighted: bool, hops: int, labels: bool) -> None:
    links = messy_links(1, directed=directed, weighted=weighted)
    rng = np.random.default_rng(2)
    features, classes = rng.normal(size=(NODES, 2)), rng.integers(0, CLASSES, NODES)
    seeds = one_hot(classes, np.arange(0, NODES, 2))
    layout = Layout.of(links, hops, labels)
    assert (layout.directed, layout.weighted) == (directed, weighted)
    table = neighbour_table(features, links, seeds, layout)
    assert table.dtype == np.float32
    np.testing.assert_allclose(table, literal_table(features, links.toarray(), seeds, layout), rtol=2e-6, atol=2e-6)
    assert np.isnan(table[7, 3:]).any() == (hops > 0)


@pytest.mark.parametrize(("directed", "weighted", "hops"), [*product((False, True), (False, True), (1, 2))])
def test_a_nodes_own_label_leaves_no_trace_in_its_row(directed: bool, weighted: bool, hops: int) -> None:
    links = messy_links(3, directed=directed, weighted=weighted)
    rng = np.random.default_rng(4)
    features, classes = rng.normal(size=(NODES, 2)), rng.integers(0, CLASSES, NODES)
    train = np.arange(NODES - 20)
    layout = Layout.of(links, hops)
    before = neighbour_table(features, links, one_hot(classes, train), layout)
    influenced = 0
    for node in train:
        flipped = classes.copy()
        flipped[node] = (flipped[node] + 1) % CLASSES
        unknown = one_hot(classes, np.delete(train, node))
        for seeds in (one_hot(flipped, train), unknown):  # another label, or none
            after = neighbour_table(features, links, seeds, layout)
            assert after[node].tobytes() == before[node].tobytes()
            influenced += int(after.tobytes() != before.tobytes())
    assert influenced > len(train)  # the neighbours do notice


def test_the_order_of_the_nodes_does_not_show() -> None:
    links = messy_links(5, directed=True, weighted=True)
    rng = np.random.default_rng(6)
    features, classes = rng.normal(size=(NODES, 2)), rng.integers(0, CLASSES, NODES)
    seeds, order = one_hot(classes, np.arange(30)), rng.permutation(NODES)
    layout = Layout.of(links)
    table = neighbour_table(features, links, seeds, layout)
    shuffled = neighbour_table(features[order], sp.csr_array(links[order][:, order]), seeds[order], layout)
    np.testing.assert_array_equal(shuffled, table[order])


def problem(classes: int = CLASSES, **changes: object) -> Graph:
    options = {"nodes": 200, "degree": 5, "features": 6, "directed": True, "splits": 1} | changes
    return synthesize(classes=classes, **options)  # type: ignore[arg-type]


def fitted(graph: Graph, rounds: int = 25, dtype: torch.dtype = torch.float64, **options: object) -> Trees:
    model = Trees(graph.num_features, 1, graph.num_classes, **options).to(dtype)  # type: ignore[arg-type]
    x, links = inputs_of(graph, dtype=dtype)
    fit(model, x, links, torch.tensor(graph.labels), torch.tensor(graph.splits[0].train), rounds=rounds)
    return model.eval()


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_logits_are_scikit_learns(classes: int) -> None:
    graph = problem(classes)
    model, (x, links) = (
        fitted(graph, max_leaf_nodes=9, learning_rate=0.2, l2=0.5),
        inputs_of(graph, dtype=torch.float64),
    )
    table, train = model.table(x, links), graph.splits[0].train
    assert np.isnan(table).any()
    settings = {"learning_rate": 0.2, "max_leaf_nodes": 9, "l2_regularization": 0.5, "min_samples_leaf": 5}
    reference = HistGradientBoostingClassifier(**settings, max_iter=25, early_stopping=False, random_state=0)
    reference.fit(table[train], graph.labels[train])
    logits, expected = model(x, links).numpy(), reference.decision_function(table)
    if classes == 2:
        np.testing.assert_array_equal(logits[:, 1] - logits[:, 0], expected)
    else:
        np.testing.assert_array_equal(logits, expected)
    probabilities = torch.softmax(torch.tensor(logits), 1).numpy()
    np.testing.assert_allclose(probabilities, reference.predict_proba(table), rtol=1e-12, atol=1e-15)


def test_single_precision_decides_alike_and_keeps_thresholds() -> None:
    graph = problem()
    model = fitted(graph)
    single = fitted(graph, dtype=torch.float32)
    x, links = inputs_of(graph)
    logits = single(x, links)
    assert logits.dtype == torch.float32
    assert torch.equal(logits, model(x, links).float())
    assert torch.equal(model.float().double().threshold, single.threshold)
    assert single.threshold.dtype == torch.float64


def test_a_fit_goes_on_as_if_it_had_not_stopped() -> None:
    graph = problem()
    x, links = inputs_of(graph)
    labels, train = torch.tensor(graph.labels), torch.tensor(graph.splits[0].train)

    def start(most: int) -> tuple[Trees, object]:
        model = Trees(graph.num_features, 1, CLASSES)
        return model, model.begin(x, links, labels, train, most=most)

    _, straight = start(70)
    _, stopped = start(33)
    for _ in range(33):
        stopped.advance()  # type: ignore[attr-defined]
    model, resumed = start(70)
    resumed.restore(stopped.state())  # type: ignore[attr-defined]
    assert resumed.rounds == 33  # type: ignore[attr-defined]
    for _ in range(33):
        straight.advance()  # type: ignore[attr-defined]
    for _ in range(37):
        assert torch.equal(straight.logits(), resumed.logits())  # type: ignore[attr-defined]
        straight.advance()  # type: ignore[attr-defined]
        resumed.advance()  # type: ignore[attr-defined]
    resumed.keep(50)  # type: ignore[attr-defined]
    assert torch.equal(model(x, links), fitted(graph, rounds=50, dtype=torch.float32)(x, links))
    with pytest.raises(KeyError):
        resumed.restore({"rounds": torch.tensor(1)})  # type: ignore[attr-defined]


def test_the_number_of_threads_changes_nothing() -> None:
    graph = problem(nodes=80, features=300)  # with a singular value decomposition
    x, links = inputs_of(graph)
    logits = []
    before = torch.get_num_threads()
    for threads in (1, 2):
        torch.set_num_threads(threads)
        logits.append(fitted(graph, rounds=3, dtype=torch.float32)(x, links))
    torch.set_num_threads(before)
    assert torch.equal(*logits)


def test_many_features_are_condensed_and_sparse_ones_alike() -> None:
    graph = problem(features=300)
    model = fitted(graph, rounds=5)
    assert model.components.shape == (300, 64)
    sparse = replace(graph, features=sp.csr_array(graph.features))
    x, links = inputs_of(sparse, dtype=torch.float64)
    np.testing.assert_allclose(model.table(x, links), fitted(sparse, rounds=5).table(x, links), rtol=1e-4, atol=1e-4)
    assert fitted(problem(features=256), rounds=1).components.shape == (256, 0)


def test_a_class_that_nobody_trains_is_unlikely_but_possible() -> None:
    graph = problem(4)
    kept = graph.splits[0].train[np.isin(graph.labels[graph.splits[0].train], [0, 2])]
    for train in (kept, kept[graph.labels[kept] == 2]):
        part = replace(graph, splits=(Split(train=train, val=graph.splits[0].val, test=graph.splits[0].test),))
        probabilities = fitted(part, rounds=8)(*inputs_of(part, dtype=torch.float64)).softmax(1)
        assert probabilities.isfinite().all()
        absent = np.setdiff1d(range(4), graph.labels[train])
        assert (probabilities[:, absent] > 0).all()
        assert (probabilities[:, absent] < 2e-6).all()


def test_without_features_there_are_links_and_labels() -> None:
    graph = problem(2, homophily=0.9)
    bare = replace(graph, features=np.empty((200, 0), np.float32), feature_names=None)
    inputs = inputs_of(bare, dtype=torch.float64)
    guesses = fitted(bare)(*inputs).argmax(1).numpy()
    test = graph.splits[0].test
    assert (guesses[test] == graph.labels[test]).mean() > 0.75
    assert fitted(bare).table(*inputs).shape[1] == 2 * (1 + (2 + 2) + (2 + 1))


def test_what_cannot_be_is_refused_in_one_sentence() -> None:
    graph = problem()
    x, links = inputs_of(graph)
    labels = torch.tensor(graph.labels)
    model = Trees(6, 1, CLASSES)
    with pytest.raises(ConfigError, match="not fitted"):
        model(x, links)
    with pytest.raises(ConfigError, match="no training nodes"):
        model.begin(x, links, labels, torch.zeros(0, dtype=torch.long))
    with pytest.raises(ConfigError, match="has label 9; expected classes from 0 to 2"):
        model.observe(torch.full((200,), 9), torch.tensor([1]))
    with pytest.raises(ConfigError, match="hops is 3"):
        Trees(6, 1, CLASSES, hops=3)
    with pytest.raises(ConfigError, match="there are 5 features; expected 6"):
        fitted(graph)(x[:, :5], links)


def test_damaged_trees_are_not_loaded() -> None:
    graph = problem()
    model = fitted(graph)
    state = model.state_dict()
    for name, value in (("left", -1), ("right", 0), ("feature", -7)):
        damaged = {**state, name: torch.full_like(state[name], value)}
        with pytest.raises(RuntimeError, match="a tree"):
            Trees(6, 1, CLASSES).load_state_dict(damaged)
    with pytest.raises(RuntimeError, match="differ in length"):
        Trees(6, 1, CLASSES).load_state_dict({**state, "value": state["value"][:-1]})


def test_a_forest_adds_up_by_hand() -> None:
    forest = Forest(
        roots=np.array([0, 3]),
        feature=np.array([1, -1, -1, -1]),
        threshold=np.array([0.5, 0, 0, 0]),
        missing_left=np.array([False, False, False, False]),
        left=np.array([1, 0, 0, 0]),
        right=np.array([2, 0, 0, 0]),
        value=np.array([0.0, 10, 20, 7]),
    )
    totals = np.zeros((3, 2))
    forest.add_to(totals, np.array([[0, 0.5], [0, 0.6], [0, np.nan]]))
    assert totals.tolist() == [[10, 7], [20, 7], [20, 7]]
    assert forest.problem(2) is None
    assert forest.problem(1) == "a tree asks for a column that does not exist"
