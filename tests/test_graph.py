from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from gpcn import DataError, Graph, Split
from tests.graphs import make_graph


def test_a_directed_graph_knows_its_sizes(small: Graph) -> None:
    assert (small.num_nodes, small.num_edges, small.num_features, small.num_classes) == (6, 6, 2, 2)
    assert small.directed
    assert small.labelled.tolist() == [0, 1, 2, 3, 4]


def test_an_undirected_edge_counts_once_and_a_self_loop_once() -> None:
    graph = make_graph(edge_index=[[0, 1, 2], [1, 0, 2]])
    assert not graph.directed
    assert graph.num_edges == 2


def test_repeated_edges_merge_and_weights_add_up() -> None:
    ends = np.array([[0, 0, 1], [1, 1, 2]])
    assert make_graph(edge_index=ends).adjacency[0, 1] == 1
    weighted = make_graph(edge_index=ends, weights=[1.0, 2.0, 1.0])
    assert weighted.adjacency[0, 1] == 3
    assert weighted.weighted


def test_sparse_features_stay_sparse_and_dense_stay_dense(small: Graph) -> None:
    sparse = make_graph(features=sp.csr_array(np.eye(6)))
    assert sparse.has_sparse_features
    assert not small.has_sparse_features
    assert sparse.features.dtype == np.float32


def test_the_givers_arrays_are_left_alone() -> None:
    adjacency = sp.csr_array((np.array([1.0, 0.0, 2.0]), np.array([1, 0, 0]), np.array([0, 2, 3])), shape=(2, 2))
    features = sp.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]], dtype=np.float32))
    features.data[0] = 0
    graph = Graph(adjacency=adjacency, features=features, labels=np.array([0, 1]))
    assert adjacency.nnz == 3
    assert features.nnz == 2
    assert graph.adjacency.nnz == 2
    assert graph.features.nnz == 1


def test_indices_are_stored_in_32_bits() -> None:
    matrix = sp.csr_array(np.eye(6))
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    graph = Graph(adjacency=matrix, features=np.zeros((6, 1)), labels=np.zeros(6, int))
    assert graph.adjacency.indices.dtype == np.int32


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"edge_index": [[0, 9], [1, 1]]}, r"1 edge\(s\) have an endpoint outside 0..5, the first is edge 1: 9 -> 1"),
        ({"edge_index": [[0, -1], [1, 1]]}, "endpoint outside 0..5"),
        ({"edge_index": [[0.5], [1.0]]}, "expected whole numbers"),
        ({"edge_index": [0, 1]}, r"expected \[2, E\]"),
        ({"weights": np.ones(2)}, "2 weights for 6 edges"),
        ({"weights": np.array([1, 1, -2, 1, 1, 1.0])}, "not positive numbers, the first is -2.0 on edge"),
        ({"weights": np.full(6, np.nan)}, "not positive numbers"),
        ({"features": np.zeros((5, 2))}, "expected 6 rows"),
        ({"features": np.array([["a", "b"]] * 6)}, "expected a table of numbers"),
        ({"features": np.full((6, 2), 1e300)}, "infinite or too large, the first is inf"),
        ({"labels": np.zeros(5, int)}, "expected 6, one per node"),
        ({"labels": np.zeros(6)}, "expected class numbers"),
        ({"labels": np.array([0, -2, 0, 0, 0, 0])}, "a label is -2"),
        ({"label_names": ["only"]}, "expected at most 1 classes"),
        ({"labels": np.array([0, 10**9, 0, 0, 0, 0])}, "a label is 1000000000"),
        ({"node_ids": ["a"] * 6}, "node_ids repeats 'a'"),
        ({"node_ids": ["a"]}, "node_ids has 1 entries; expected 6"),
        ({"feature_names": ["x"]}, "feature_names has 1 entries; expected 2"),
        ({"metric": "f2"}, "metric 'f2' is unknown"),
        (
            {"splits": (Split(train=np.array([0]), val=np.array([1]), test=np.array([17])),)},
            "split 0 puts node 17 in test",
        ),
        ({"splits": (Split(train=np.array([0]), val=np.array([1]), test=np.array([5])),)}, "without a label in test"),
    ],
)
def test_bad_graphs_are_refused_in_one_sentence(changes: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        make_graph(**changes)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("sparse", [False, True])
def test_the_first_bad_feature_is_named(sparse: bool) -> None:
    matrix = np.zeros((6, 3))
    matrix[2, 1] = np.nan
    matrix[4, 0] = np.inf
    with pytest.raises(DataError, match=r"2 feature value\(s\).*nan in row 2 \(node 'c'\), column 'y'"):
        make_graph(
            features=sp.csr_array(matrix) if sparse else matrix, node_ids="abcdef", feature_names=["x", "y", "z"]
        )


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (([0, 1], [1], [2]), r"1 node\(s\) in both train and val, the first is node 1"),
        (([0, 0], [1], [2]), "a node twice in train"),
        (([-1], [1], [2]), "names node -1"),
        (([0.5], [1], [2]), "expected node positions"),
    ],
)
def test_bad_splits_are_refused(parts: tuple[list[float], ...], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Split(**dict(zip(("train", "val", "test"), map(np.array, parts), strict=True)))


def test_any_part_of_a_split_may_be_empty_and_codes_say_the_same() -> None:
    split = Split(train=[1, 0], calibration=[4])
    assert {name: nodes.tolist() for name, nodes in split.parts().items()} == {
        "train": [0, 1],
        "val": [],
        "test": [],
        "calibration": [4],
    }
    assert split.codes(6).tolist() == [1, 1, 0, 0, 4, 0]
    assert split.names(6).tolist() == ["train", "train", None, None, "calibration", None]
    assert Split.from_codes(split.codes(6)).equals(split)
    assert Split.from_masks(train=split.mask("train", 6), calibration=split.mask("calibration", 6)).equals(split)
    assert not Split(train=[0, 1]).equals(split)
    with pytest.raises(DataError, match=r"1 node\(s\) in both train and calibration"):
        Split(train=[0, 1], calibration=[1])
    with pytest.raises(DataError, match="split 0 puts 1 node.s. without a label in calibration"):
        make_graph(splits=(Split(train=[0], calibration=[5]),))


def test_symmetrized_takes_the_larger_weight() -> None:
    graph = make_graph(edge_index=[[0, 1, 2], [1, 0, 3]], weights=[1.0, 3.0, 2.0]).symmetrized()
    assert not graph.directed
    assert graph.adjacency[0, 1] == graph.adjacency[1, 0] == 3
    assert graph.adjacency[3, 2] == 2


def test_self_loops_are_added_once_and_removed() -> None:
    graph = make_graph(edge_index=[[0, 0], [0, 1]])
    looped = graph.with_self_loops()
    assert looped.adjacency.diagonal().tolist() == [1] * 6
    assert looped.with_self_loops().equals(looped)
    assert looped.without_self_loops().num_edges == 1


@pytest.mark.parametrize("sparse", [False, True])
def test_row_normalized_features_sum_to_one_and_empty_rows_stay(sparse: bool) -> None:
    matrix = np.array([[1, 3], [0, 0], [-2, 2], [5, 0], [1, 1], [0, 4]], dtype=np.float32)
    graph = make_graph(features=sp.csr_array(matrix) if sparse else matrix).with_row_normalized_features()
    assert graph.has_sparse_features is sparse
    sums = np.asarray(abs(graph.features).sum(axis=1)).ravel()
    np.testing.assert_allclose(sums, [1, 0, 1, 1, 1, 1])


def test_the_fingerprint_sees_every_part_a_model_sees(small: Graph) -> None:
    changed = [
        make_graph(labels=np.array([1, 1, 0, 1, 1, -1])),
        make_graph(features=np.ones((6, 2))),
        make_graph(edge_index=[[0, 1, 2, 3, 4, 0], [1, 2, 3, 4, 5, 4]]),
        make_graph(weights=np.full(6, 2.0)),
        make_graph(splits=(Split(train=np.array([0]), val=np.array([2, 3]), test=np.array([4])),)),
        make_graph(splits=(Split(train=np.array([0]), val=np.array([2, 3]), calibration=np.array([4])),)),
    ]
    prints = {graph.fingerprint() for graph in (small, *changed)}
    assert len(prints) == 7
    assert make_graph(name="other", node_ids="abcdef").equals(small)


def test_a_graph_cannot_be_changed(small: Graph) -> None:
    with pytest.raises(AttributeError):
        small.name = "other"  # type: ignore[misc]
