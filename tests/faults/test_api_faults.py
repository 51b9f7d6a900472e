"""Arguments from Python that once crashed the process, vanished, or were read as something else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from gpcn import (
    CheckpointError,
    ConfigError,
    DataError,
    GPCNClassifier,
    Graph,
    TrainConfig,
    from_pyg,
    load,
    save,
    synthesize,
    train,
)
from gpcn.nn import Adjacency
from tests.graphs import make_graph

CRASH = """
import numpy as np, scipy.sparse as sp
from gpcn import DataError, Graph
matrix = sp.csr_array(np.eye(4))
matrix.{part} = np.array({values}, dtype=np.int32)
try:
    Graph(adjacency={wrap}(matrix), features=np.eye(4), labels=np.zeros(4, int))
except DataError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("part", "values", "wrap"),
    [
        ("indptr", [0, 10**8, 2, 3, 4], ""),
        ("indptr", [0, 1, 2, 3, 10**8], ""),
        ("indices", [0, 1, 2, 10**9], ""),
        ("indices", [0, 1, 2, -5], ""),
        ("indptr", [0, 10**8, 2, 3, 4], "sp.csr_matrix"),
    ],
)
def test_damaged_matrices_do_not_crash_the_process(part: str, values: list[int], wrap: str) -> None:
    """In a process of its own: on failure it ends by a signal."""
    program = CRASH.format(part=part, values=values, wrap=wrap)
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    assert "adjacency is a damaged sparse matrix" in answer.stdout


def test_damaged_matrices_of_other_kinds_are_refused() -> None:
    matrix = sp.coo_array(np.eye(4))
    matrix.coords[0][0] = 900
    labels, damaged = np.zeros(4, int), sp.csr_array(np.eye(4))
    damaged.indptr = np.array([0, 10**6, 2, 3, 4], dtype=np.int32)
    for fields in ({"adjacency": matrix, "features": np.eye(4)}, {"adjacency": np.eye(4), "features": damaged}):
        with pytest.raises(DataError, match="damaged sparse matrix"):
            Graph(labels=labels, **fields)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="damaged sparse matrix"):
        Adjacency(damaged)


def test_the_arrays_of_a_graph_cannot_be_changed() -> None:
    features, weights = np.ones((6, 2), np.float32), np.ones(6)
    graph = make_graph(features=features, weights=weights)
    before = graph.fingerprint()
    split = graph.splits[0]
    for array in (graph.features, graph.labels, graph.adjacency.data, graph.adjacency.indices, split.train, split.val):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 5  # type: ignore[index]
    features[0, 0] = 1.0  # the giver's own array stays as it was
    assert graph.fingerprint() == before
    sparse = make_graph(features=sp.csr_array(np.eye(6)), relations={"a": sp.csr_array(np.eye(6))})
    for array in (sparse.features.data, sparse.relations["a"].data):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 5
    assert (sparse.adjacency + sparse.adjacency.T).nnz > 0
    assert sparse.symmetrized().with_self_loops().without_self_loops().num_nodes == 6


def test_masks_are_masks_and_labels_do_not_conflict() -> None:
    graph = synthesize(nodes=80, degree=4, classes=2)
    nodes = graph.labelled
    model = GPCNClassifier("logistic", graph=graph, epochs=5, random_state=0).fit(nodes, graph.labels[nodes])
    mask = np.zeros(80, bool)
    mask[[3, 70]] = True
    np.testing.assert_array_equal(model.predict(mask), model.predict(np.array([3, 70])))
    with pytest.raises(ConfigError, match="X is a mask of 2 entries; expected 80"):
        model.predict(np.array([True, False]))
    with pytest.raises(ConfigError, match="expected node positions or a mask"):
        model.predict(np.array(["3", "7"]))
    with pytest.raises(ConfigError, match="node 1 has the labels '0' and '1'; expected one"):
        GPCNClassifier("logistic", graph=graph).fit([0, 1, 2, 1], [0, 1, 1, 0])
    GPCNClassifier("logistic", graph=graph, epochs=2).fit([*range(20), 1], [*graph.labels[:20], graph.labels[1]])


def test_large_unsigned_labels_are_refused() -> None:
    with pytest.raises(DataError, match="a label is 18446744073709551615"):
        make_graph(labels=np.array([0, 1, 0, 1, 1, 2**64 - 1], dtype=np.uint64))


def test_edge_attributes_that_are_not_used_are_noted() -> None:
    from torch_geometric.data import Data, HeteroData

    edges = torch.tensor([[0, 1], [1, 2]])
    plain = Data(x=torch.eye(3), y=torch.tensor([0, 1, 0]), edge_index=edges, edge_attr=torch.ones(2, 3))
    assert any("edge_attr is not used" in note for note in from_pyg(plain).notes)
    hetero = HeteroData()
    hetero["n"].x, hetero["n"].y = torch.eye(3), torch.tensor([0, 1, 0])
    for kind in ("a", "b"):
        hetero["n", kind, "n"].edge_index = edges
    assert from_pyg(hetero).notes == ()
    hetero["n", "a", "n"].edge_attr = torch.ones(2, 3)
    assert any("edge_attr is not used" in note for note in from_pyg(hetero).notes)


def test_train_says_what_it_expects() -> None:
    graph = synthesize(nodes=60, degree=4)
    with pytest.raises(ConfigError, match="config is 3; expected a model's name, or a TrainConfig"):
        train(graph, 3)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="graph is of type int; expected a Graph, a dataset's name or a path"):
        train(3, TrainConfig.of("gpcn"))  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="no split is named; expected some of 0 to 4"):
        train(graph, TrainConfig.of("gpcn"), splits=[])


def test_weights_that_32_bits_cannot_hold_are_refused() -> None:
    for weights in (np.array([1e-60, 1, 1, 1, 1, 1]), [1e-60, 1, 1, 1, 1, 1]):
        with pytest.raises(DataError, match="1 edge weight.s. are too small for 32-bit numbers, the first is 1e-60"):
            make_graph(weights=weights)
    for weights in (np.ones(6, complex), np.ones(6, "M8[D]"), ["x"] * 6, [[1], [2, 3]]):
        with pytest.raises(DataError, match="the edge weights are not numbers"):
            make_graph(weights=weights)
    with pytest.raises(DataError, match="too small for 32-bit"):
        Graph(adjacency=sp.csr_array(np.eye(3) * 1e-50), features=np.eye(3), labels=np.zeros(3, int))


def test_a_study_that_another_process_is_creating_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sqlalchemy.exc import OperationalError

    from gpcn.search import storage

    real, failures = storage.RDBStorage, [3]

    def busy(*given: object, **more: object) -> object:
        if failures[0]:
            failures[0] -= 1
            raise OperationalError("CREATE TABLE", {}, Exception("table studies already exists"))
        return real(*given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(storage, "PAUSE", 0.0)
    monkeypatch.setattr(storage, "RDBStorage", busy)
    url = f"sqlite:///{tmp_path / 's.db'}"
    storage.open_storage(tmp_path, url)
    failures[0] = 100
    with pytest.raises(CheckpointError, match="another process is creating it; try again in a moment"):
        storage.open_storage(tmp_path, url)


def test_a_page_of_two_thousand_classes_is_a_page(tmp_path: Path) -> None:
    from gpcn import report

    rng = np.random.default_rng(0)
    count = 1900
    graph = Graph.from_edges(
        rng.integers(0, 2 * count, (2, 4 * count)),
        num_nodes=2 * count,
        features=np.ones((2 * count, 1)),
        labels=np.arange(2 * count) % count,
        name="many",
    )
    save(graph, tmp_path / "g.npz")
    written = report.write([tmp_path / "g.npz"], tmp_path / "r.html")
    assert written["bytes"] < 12_000_000
    assert "Of the 1,900 classes, the 100 with most nodes are shown." in (tmp_path / "r.html").read_text()
    assert load(tmp_path / "g.npz").num_classes == count


def test_a_confusion_of_many_classes_shows_the_largest() -> None:
    from gpcn.report.run_section import _confusion

    confusion = np.diag(np.arange(300))
    figure = _confusion(confusion, tuple(str(number) for number in range(300)))
    assert len(figure.data[0]["z"]) == 100
    assert figure.layout["yaxis"]["ticktext"][0] == "200"
    assert "Of the 300 classes" in figure.about
