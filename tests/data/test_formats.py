"""Datasets outside the mirror: small files of the same formats, made here, through the same catalog entries."""

from __future__ import annotations

import hashlib
import io
import json
import pickle
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from gpcn import DataError, Graph, load
from gpcn.data.benchmarks import catalog
from gpcn.graph.split import SCORED

RNG = np.random.default_rng(5)
NODES = 40
EDGES = np.array([(i, (i * 7 + k) % NODES) for i in range(NODES) for k in (1, 3) if i != (i * 7 + k) % NODES])
LABELS = np.arange(NODES) % 2


def saved(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


def mat(**arrays: object) -> bytes:
    stream = io.BytesIO()
    scipy.io.savemat(stream, arrays)
    return stream.getvalue()


def npz(**arrays: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def linkx_splits(nodes: np.ndarray, count: int = 5) -> bytes:
    items = np.empty(count, dtype=object)
    for number in range(count):
        order = np.random.default_rng(number).permutation(nodes).tolist()
        items[number] = {"train": order[:10], "valid": order[10:15], "test": order[15:]}
    return saved(items)


def masks(count: int = 10) -> dict[str, np.ndarray]:
    part = np.array([np.random.default_rng(i).permutation(NODES) % 4 for i in range(count)])
    return {"train_masks": part < 2, "val_masks": part == 2, "test_masks": part == 3}


def adjacency() -> sp.csr_matrix:
    return sp.csr_matrix((np.ones(len(EDGES)), (EDGES[:, 0], EDGES[:, 1])), shape=(NODES, NODES))


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Put content into a mirror under an entry's paths, with the checksums it really has."""

    def put(name: str, contents: dict[str, bytes], *, source: int = 0) -> Graph:
        checksums = dict(catalog._checksums())
        for path in catalog.entry(name).sources[source].files:
            (content,) = [content for ending, content in contents.items() if path.endswith(ending)]
            target = tmp_path / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            if path in checksums:
                checksums[path] = {"commit": checksums[path]["commit"], "sha256": hashlib.sha256(content).hexdigest()}
        monkeypatch.setattr(catalog, "_checksums", lambda: checksums)
        monkeypatch.setenv("GPCN_CACHE", str(tmp_path / f"cache-{source}"))
        graph = load(name, mirror=tmp_path)
        assert graph.equals(load(name, mirror=tmp_path))
        return graph

    return put


@pytest.mark.parametrize("name", ["roman-empire", "amazon-ratings", "questions"])
def test_heterophilous_graphs_are_read(name: str, serve) -> None:
    features = RNG.standard_normal((NODES, 3)).astype(np.float32)
    graph = serve(name, {".npz": npz(edges=EDGES, node_features=features, node_labels=LABELS, **masks())})
    assert not graph.directed
    assert len(graph.splits) == 10
    np.testing.assert_array_equal(graph.features, features)
    assert graph.metric == ("roc_auc" if name == "questions" else "accuracy")


@pytest.mark.parametrize("name", ["penn94", "amherst41", "johnshopkins55", "cornell5"])
def test_facebook_graphs_are_read(name: str, serve) -> None:
    info = RNG.integers(0, 4, size=(NODES, 7)).astype(np.uint16)
    info[:, 1] = np.arange(NODES) % 3  # gender: 0 is missing
    info[:, 2] = np.arange(NODES) % 2  # two values: one column, as in the benchmark
    labelled = np.flatnonzero(info[:, 1])
    symmetric = ((adjacency() + adjacency().T) > 0).astype(float)
    graph = serve(name, {".mat": mat(A=symmetric, local_info=info), "-splits.npy": linkx_splits(labelled)})
    np.testing.assert_array_equal(graph.labels, info[:, 1].astype(int) - 1)
    kinds = [len(np.unique(info[:, column])) for column in (0, 2, 3, 4, 5, 6)]
    assert graph.num_features == sum(kind if kind != 2 else 1 for kind in kinds)
    assert len(graph.splits) == 5
    for split in graph.splits:
        assert np.isin(np.concatenate([getattr(split, role) for role in SCORED]), labelled).all()
    if name != "penn94":
        assert graph.splits[0].train.size == round(labelled.size / 2)


def test_deezer_from_its_authors_files_and_from_the_benchmarks_is_one_graph(serve, tmp_path: Path) -> None:
    features = sp.random(NODES, 31241, density=0.0005, random_state=1, format="csr")
    features.data[:] = 1
    splits = linkx_splits(np.arange(NODES))
    likes = {
        str(node): features.indices[features.indptr[node] : features.indptr[node + 1]].tolist() for node in range(NODES)
    }
    friends = "\n".join(f"{a},{b}" for a, b in EDGES)
    gender = "\n".join(f"{node},{LABELS[node]}" for node in reversed(range(NODES)))
    raw = {
        "edges.csv": f"node_1,node_2\n{friends}\n".encode(),
        "features.json": json.dumps(likes).encode(),
        "target.csv": f"id,target\n{gender}\n".encode(),
        "-splits.npy": splits,
    }
    graph = serve("deezer-europe", raw)
    assert graph.has_sparse_features
    assert graph.num_features == 31241
    assert not graph.directed
    np.testing.assert_array_equal(graph.labels, LABELS)
    assert (graph.features != sp.csr_array(features)).nnz == 0
    for path in catalog.entry("deezer-europe").files[:3]:
        (tmp_path / path).unlink()
    content = mat(A=adjacency(), label=LABELS.reshape(1, -1), features=features)
    other = serve("deezer-europe", {".mat": content, "-splits.npy": splits}, source=1)
    assert other.equals(graph)


def test_genius_is_read(serve) -> None:
    features = RNG.standard_normal((NODES, 12))
    content = mat(edge_index=EDGES.T, node_feat=features, label=LABELS.reshape(-1, 1))
    graph = serve("genius", {".mat": content, "-splits.npy": linkx_splits(np.arange(NODES))})
    assert (graph.num_features, graph.metric, graph.directed) == (12, "roc_auc", False)


def test_yelp_chi_has_no_checksum_and_is_judged_by_its_sizes(serve, monkeypatch: pytest.MonkeyPatch) -> None:
    features = sp.csr_matrix(RNG.standard_normal((NODES, 32)))
    content = mat(homo=adjacency(), features=features, label=LABELS.reshape(1, -1))
    files = {".mat": content, "-splits.npy": linkx_splits(np.arange(NODES))}
    with pytest.raises(DataError, match="yelp-chi has 40 nodes, 32 features and 2 classes; expected 45,954, 32 and 2"):
        serve("yelp-chi", files)
    import dataclasses

    small = dataclasses.replace(catalog.entry("yelp-chi"), nodes=NODES)
    monkeypatch.setitem(catalog._CATALOG, "yelp-chi", small)
    graph = serve("yelp-chi", files)
    assert (graph.num_nodes, graph.metric) == (NODES, "roc_auc")


def planetoid_files(missing: int | None) -> dict[str, bytes]:
    """30 known nodes and 10 test nodes in shuffled order; `missing` leaves one of them out, as in citeseer."""
    words = (RNG.random((NODES, 50)) < 0.06).astype(np.float32)
    one_hot = np.eye(2, dtype=np.int32)[LABELS]
    test = np.random.default_rng(1).permutation(np.arange(30, NODES))
    test = test[test != missing]
    graph = defaultdict(list)
    for source, target in EDGES.tolist():
        graph[source].append(target)
    everyone = np.arange(NODES)
    split = npz(train_mask=everyone % 3 == 0, val_mask=everyone % 3 == 1, test_mask=everyone % 3 == 2)
    return {
        ".allx": pickle.dumps(sp.csr_matrix(words[:30]), protocol=4),
        ".ally": pickle.dumps(one_hot[:30], protocol=4),
        ".tx": pickle.dumps(sp.csr_matrix(words[test]), protocol=4),
        ".ty": pickle.dumps(one_hot[test], protocol=4),
        ".graph": pickle.dumps(graph, protocol=2),
        ".test.index": "\n".join(map(str, test)).encode(),
        ".npz": split,
        "words": words.tobytes(),
    }


def test_pubmed_puts_shuffled_test_nodes_back(serve) -> None:
    files = planetoid_files(missing=None)
    words = np.frombuffer(files.pop("words"), np.float32).reshape(NODES, 50)
    graph = serve("pubmed", files)
    dense = graph.features.toarray() if graph.has_sparse_features else graph.features
    np.testing.assert_array_equal(dense, words)
    np.testing.assert_array_equal(graph.labels, LABELS)
    assert not graph.directed


def test_citeseers_missing_test_nodes_are_empty_and_of_class_0(serve) -> None:
    files = planetoid_files(missing=35)
    files.pop("words")
    graph = serve("citeseer", files)
    assert graph.num_nodes == NODES
    assert graph.features[[35]].sum() == 0
    assert graph.labels[35] == 0


def test_a_splits_file_that_runs_code_is_refused(serve) -> None:
    hostile = np.empty(1, dtype=object)
    hostile[0] = RunsCode()
    content = mat(edge_index=EDGES.T, node_feat=np.ones((NODES, 12)), label=LABELS.reshape(-1, 1))
    with pytest.raises(DataError, match="not on the allow-list"):
        serve("genius", {".mat": content, "-splits.npy": saved(hostile)})


class RunsCode:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (exec, ("raise SystemExit('ran')",))
