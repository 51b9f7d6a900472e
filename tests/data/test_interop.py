from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch_geometric.data import Data

from gpcn import (
    Columns,
    DataError,
    Graph,
    Split,
    from_networkx,
    from_pyg,
    load,
    random_splits,
    synthesize,
    to_networkx,
    to_pyg,
)
from tests.graphs import make_graph

VARIANTS = {
    "one split": {},
    "no split": {"splits": ()},
    "weighted": {"weights": np.arange(1, 7) / 2},
    "calibrated": {"splits": (Split(train=[0, 1], val=[2], calibration=[3, 4]),)},
    "sparse": {"features": sp.csr_array(np.eye(6))},
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_graph_survives_pyg_and_back(variant: str) -> None:
    graph = make_graph(**VARIANTS[variant])
    data = to_pyg(graph)
    data.validate(raise_on_error=True)
    assert from_pyg(data, name="six").equals(graph)


def test_several_splits_are_columns_of_the_masks() -> None:
    graph = random_splits(synthesize(nodes=50, degree=3, splits=0), count=3)
    data = to_pyg(graph)
    assert data.train_mask.shape == (50, 3)
    assert to_pyg(make_graph()).train_mask.shape == (6,)
    assert from_pyg(data).equals(graph)


def test_pyg_data_without_features_labels_or_masks_is_read() -> None:
    graph = from_pyg(Data(edge_index=torch.tensor([[0, 1], [1, 2]]), num_nodes=4))
    assert (graph.num_nodes, graph.num_features, graph.num_classes, graph.splits) == (4, 0, 0, ())


def test_pyg_with_nonsense_is_refused() -> None:
    ends = torch.tensor([[0, 1], [1, 2]])
    masks = {"train_mask": torch.ones(3, dtype=torch.bool), "test_mask": torch.zeros(3, 2, dtype=torch.bool)}
    with pytest.raises(DataError, match=r"the masks have shapes \[\(3,\), \(3, 2\)\]; expected \[3\] or"):
        from_pyg(Data(edge_index=ends, num_nodes=3, **masks))
    with pytest.raises(DataError, match="no edge_index"):
        from_pyg(Data(x=torch.ones(3, 2)))
    with pytest.raises(DataError, match="endpoint outside"):
        from_pyg(Data(edge_index=ends, num_nodes=2))


ENDS = torch.tensor([[0, 1], [1, 2]])


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"edge_weight": torch.tensor([0.5, 0.0])}, r"1 value.s. of edge_weight .* the first is 0.0 on edge 1: 1 -> 2"),
        ({"edge_weight": torch.tensor([-1.0, 2.0])}, r"the first is -1.0 on edge 0: 0 -> 1; every edge needs a weight"),
        ({"x": torch.ones(3, 2, dtype=torch.complex64)}, "the features hold complex64 values"),
        ({"x": torch.eye(3, dtype=torch.complex64).to_sparse()}, "the features hold complex64 values"),
        ({"y": torch.zeros(3, 4, dtype=torch.long)}, r"y has shape \[3, 4\]; expected \[3\] or \[3, 1\], .*y.argmax"),
        ({"y": torch.zeros(1, 3, dtype=torch.long)}, r"y has shape \[1, 3\]; expected"),
        ({"y": torch.zeros(3, dtype=torch.bfloat16)}, "the labels hold float32 values; expected class numbers"),
    ],
)
def test_what_a_graph_cannot_hold_of_pyg_is_refused(fields: dict[str, torch.Tensor], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        from_pyg(Data(edge_index=ENDS, num_nodes=3, **fields))


def test_labels_of_pyg_may_stand_in_a_column() -> None:
    assert from_pyg(Data(edge_index=ENDS, num_nodes=3, y=torch.tensor([[0], [1], [0]]))).labels.tolist() == [0, 1, 0]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_numbers_of_16_bits_in_pyg_are_the_same_of_32(dtype: torch.dtype) -> None:
    x, weights = torch.tensor([[0.1], [0.2], [0.3]], dtype=dtype), torch.tensor([0.7, 1.3], dtype=dtype)
    for given in (x, x.to_sparse()):
        graph = from_pyg(Data(edge_index=ENDS, num_nodes=3, x=given, edge_weight=weights))
        dense = graph.features if isinstance(graph.features, np.ndarray) else graph.features.toarray()
        assert dense.tolist() == x.float().tolist()
        assert graph.adjacency.data.tolist() == weights.float().tolist()


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("variant", ["one split", "weighted", "calibrated"])
def test_a_graph_survives_networkx_and_back(directed: bool, variant: str) -> None:
    graph = make_graph(**VARIANTS[variant], label_names=["no", "yes"], node_ids="uvwxyz")
    graph = graph if directed else graph.symmetrized()
    other = to_networkx(graph)
    assert other.is_directed() == directed
    back = from_networkx(other, name="six")
    assert back.equals(graph)
    assert back.node_ids == graph.node_ids
    assert back.label_names == graph.label_names


def test_graphml_is_read_through_networkx(tmp_path) -> None:
    graph = make_graph(label_names=["no", "yes"], node_ids="uvwxyz")
    nx.write_graphml(to_networkx(graph), tmp_path / "g.graphml")
    assert load(tmp_path / "g.graphml").equals(graph)


def test_graphml_with_entities_or_garbage_is_refused(tmp_path) -> None:
    (tmp_path / "evil.graphml").write_text('<!DOCTYPE x [<!ENTITY a "b">]><graphml>&a;</graphml>')
    with pytest.raises(DataError, match="XML entities"):
        load(tmp_path / "evil.graphml")
    (tmp_path / "junk.graphml").write_text("<graphml><graph")
    with pytest.raises(DataError, match="not readable GraphML"):
        load(tmp_path / "junk.graphml")


def test_networkx_attributes_are_columns() -> None:
    graph = nx.DiGraph()
    graph.add_node("a", role="x", age=1.0, colour="red")
    graph.add_node("b", role="y", age=2.0, colour="blue")
    graph.add_node("c", age=3.0, colour="red")
    graph.add_edge("a", "b")
    converted = from_networkx(graph, Columns(scale="none", structure="none"), label="role")
    assert converted.labels.tolist() == [0, 1, -1]
    assert converted.feature_names == ("age", "colour=blue", "colour=red")
    np.testing.assert_array_equal(converted.features, [[1, 0, 1], [2, 1, 0], [3, 0, 1]])


def test_scipy_and_numpy_are_the_constructor() -> None:
    graph = Graph(adjacency=np.array([[0, 1], [0, 0]]), features=[[1.0], [2.0]], labels=[0, 1])
    assert isinstance(graph.adjacency, sp.csr_array)
    assert graph.num_edges == 1
