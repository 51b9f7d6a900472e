"""A graph in parts on disk: nothing is lost, nothing damaged is read, nothing is written twice."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from gpcn import Graph, Split, synthesize
from gpcn.core.errors import CheckpointError, ConfigError, DataError
from gpcn.data.parts.manifest import Manifest, part_folder
from gpcn.data.parts.tables import PartData
from gpcn.distributed.sharding.balance import balanced_offsets
from gpcn.distributed.sharding.shards import shard
from gpcn.graph.split import PARTS


def graph_of(**changes: Any) -> Graph:
    return synthesize(
        **{"nodes": 60, "classes": 3, "features": 4, "splits": 2, "seed": 1, "unlabelled": 0.1, **changes}
    )


def with_types(graph: Graph) -> Graph:
    entries = graph.adjacency.tocoo()
    first = (entries.row + entries.col) % 3 == 0
    relations = {
        name: sp.csr_array((entries.data[kept], (entries.row[kept], entries.col[kept])), shape=entries.shape)
        for name, kept in (("likes", first), ("pays", ~first))
    }
    return replace(graph, relations=relations, node_ids=[f"n{number}" for number in range(graph.num_nodes)])


def with_sparse_features(graph: Graph) -> Graph:
    return replace(graph, features=sp.csr_array(np.where(graph.features > 0, graph.features, 0)))


GRAPHS = {
    "undirected": graph_of,
    "directed": lambda: graph_of(directed=True),
    "sparse features": lambda: with_sparse_features(graph_of(directed=True)),
    "types and ids": lambda: with_types(graph_of(directed=True)),
    "empty parts": lambda: replace(graph_of(unlabelled=0), splits=(Split(train=range(20), calibration=range(50, 54)),)),
    "no features": lambda: replace(graph_of(), features=np.zeros((60, 0), np.float32)),
}


@pytest.mark.parametrize("kind", GRAPHS)
@pytest.mark.parametrize("parts", [1, 3])
def test_parts_together_are_the_graph(tmp_path: Path, kind: str, parts: int) -> None:
    graph = GRAPHS[kind]()
    manifest = shard(graph, tmp_path, parts)
    assert Manifest.read(tmp_path) == manifest
    data = [PartData.read(tmp_path, manifest, number) for number in range(parts)]
    assert (sp.vstack([part.links[0] for part in data]) != graph.adjacency).nnz == 0
    assert (sp.vstack([part.links[1] for part in data]) != graph.adjacency.T).nnz == 0
    for name, matrix in graph.relations.items():
        assert (sp.vstack([part.relations[name][0] for part in data]) != matrix).nnz == 0
        assert (sp.vstack([part.relations[name][1] for part in data]) != matrix.T).nnz == 0
    if graph.has_sparse_features:
        assert (sp.vstack([part.features for part in data]) != graph.features).nnz == 0
    else:
        np.testing.assert_array_equal(np.concatenate([part.features for part in data]), graph.features)
    np.testing.assert_array_equal(np.concatenate([part.labels for part in data]), graph.labels)
    for number, split in enumerate(graph.splits):
        for role in PARTS:
            nodes = np.concatenate([getattr(part.splits[number], role) + part.start for part in data])
            np.testing.assert_array_equal(nodes, getattr(split, role))
    ids = None if graph.node_ids is None else [name for part in data for name in part.node_ids or ()]
    assert ids == (None if graph.node_ids is None else list(graph.node_ids))
    assert manifest.graph.fingerprint == graph.fingerprint()


def test_the_same_again_writes_what_is_missing_and_nothing_else(tmp_path: Path) -> None:
    graph = graph_of(directed=True)
    manifest = shard(graph, tmp_path, 3)
    before = [(part_folder(tmp_path, number) / "part.json").stat().st_mtime_ns for number in range(3)]
    (tmp_path / "manifest.json").unlink()
    with pytest.raises(DataError, match="it was not finished, so run the same gpcn shard command again"):
        Manifest.read(tmp_path)
    damaged = part_folder(tmp_path, 1) / "links-out.parquet"
    damaged.write_bytes(damaged.read_bytes()[:-1])
    assert shard(graph, tmp_path, 3) == manifest
    after = [(part_folder(tmp_path, number) / "part.json").stat().st_mtime_ns for number in range(3)]
    assert [first == second for first, second in zip(before, after, strict=True)] == [True, False, True]


def test_another_graph_or_other_parts_replace_what_is_there(tmp_path: Path) -> None:
    shard(graph_of(), tmp_path, 3)
    other = shard(graph_of(seed=2), tmp_path, 2)
    assert Manifest.read(tmp_path) == other
    assert PartData.read(tmp_path, other, 1).labels.size == other.offsets[2] - other.offsets[1]
    assert not part_folder(tmp_path, 2).exists()


def test_what_is_missing_or_damaged_is_named_in_one_sentence(tmp_path: Path) -> None:
    manifest = shard(graph_of(), tmp_path, 2)
    file = part_folder(tmp_path, 1) / "features.parquet"
    content = file.read_bytes()
    file.write_bytes(content[:-9] + b"x" + content[-8:])
    with pytest.raises(CheckpointError, match=r"features.parquet does not have its checksum: .*gpcn shard$"):
        PartData.read(tmp_path, manifest, 1)
    file.unlink()
    with pytest.raises(CheckpointError, match=r"part 1 of .* is incomplete: .*features.parquet is missing"):
        PartData.read(tmp_path, manifest, 1)
    text = (tmp_path / "manifest.json").read_text()
    (tmp_path / "manifest.json").write_text(text.replace('"links": ', '"links": 1'))
    with pytest.raises(CheckpointError, match="it does not have its checksum, so it was altered"):
        Manifest.read(tmp_path)
    with pytest.raises(DataError, match=r"is no graph in parts: it has no manifest.json"):
        Manifest.read(tmp_path / "nowhere")


def test_parts_have_about_equally_many_links_and_at_least_a_node(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    entries = rng.zipf(2.0, 1000).clip(max=100).astype(np.int64)
    offsets = balanced_offsets(entries, 7)
    loads = np.add.reduceat(entries + 1, offsets[:-1])
    assert loads.max() - loads.min() <= 2 * 101
    heavy = np.array([0, 0, 1000, 0, 0], dtype=np.int64)
    for parts in range(1, 6):
        assert (np.diff(balanced_offsets(heavy, parts)) >= 1).all()
        assert balanced_offsets(heavy, parts)[-1] == 5
    with pytest.raises(ConfigError, match=r"6 part\(s\) cannot be made of 5 nodes; expected 1 to 5"):
        balanced_offsets(heavy, 6)
