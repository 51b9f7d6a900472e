"""Tables cut into parts by a database are what the same tables are when they are read into memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from gpcn import load
from gpcn.core.errors import ConfigError, DataError
from gpcn.data.parts.manifest import Manifest
from gpcn.data.parts.tables import PartData
from gpcn.data.tables.columns import Columns
from gpcn.distributed.sharding.joined_tables import Tables
from gpcn.distributed.sharding.table_database import matching_files
from gpcn.distributed.sharding.table_shards import shard_tables
from gpcn.graph.split import SCORED
from gpcn.preparation.preparation import Preparation

pytest.importorskip("duckdb")
NODES = 40


def written(folder: Path, kind: str = "csv", **changes: Any) -> Tables:
    """Edges in three files, nodes in two; ids are words, some numbers are missing, some edges are there twice."""
    rng = np.random.default_rng(0)
    ids = [f"n'{number}" for number in rng.permutation(NODES)]
    ends = rng.integers(0, NODES, (2, 150))
    edges = {
        "source": [ids[i] for i in ends[0]],
        "target": [ids[i] for i in ends[1]],
        "weight": rng.integers(1, 9, 150),
    }
    age = rng.normal(40, 20, NODES)
    nodes: dict[str, Any] = {
        "id": ids,
        "label": ["", *("red" if i % 3 else "blue" for i in range(1, NODES))],
        "age": [None if i % 7 == 0 else float(value) for i, value in enumerate(age)],
        "income": rng.lognormal(8, 2, NODES),
        "split": ["", *(["train", "val", "test"][i % 3 - 1] for i in range(NODES - 1))],
    }
    folder.mkdir(exist_ok=True)
    for stem, columns, pieces in (
        ("edges", edges | changes.get("edges", {}), 3),
        ("nodes", nodes | changes.get("nodes", {}), 2),
    ):
        table = pa.table(columns)
        rows = -(-table.num_rows // pieces)
        for number in range(pieces):
            piece = table.slice(number * rows, rows)
            if kind == "csv":
                pacsv.write_csv(piece, folder / f"{stem}-{number}.csv")
            else:
                pq.write_table(piece, folder / f"{stem}-{number}.parquet")
        if kind == "csv":
            pacsv.write_csv(table, folder / f"{stem}.whole.csv")
    columns = Columns(structure="none", **changes.get("columns", {}))
    edge_files, node_files = (matching_files(f"{folder}/{stem}-*.{kind}", stem) for stem in ("edges", "nodes"))
    return Tables(edge_files, node_files, columns, "mine")


@pytest.mark.parametrize("undirected", [False, True])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_parts_are_those_of_the_graph_in_memory(tmp_path: Path, kind: str, undirected: bool) -> None:
    columns = {"undirected": undirected, "roles": {"age": "number", "income": "number"}}
    written(tmp_path / "in", columns=columns)
    tables = written(tmp_path / "in", kind, columns=columns)
    graph = load(tmp_path / "in" / "edges.whole.csv", nodes=tmp_path / "in" / "nodes.whole.csv", columns=tables.columns)
    manifest = shard_tables(tables, tmp_path / "out", 3, memory="500MB")
    assert Manifest.read(tmp_path / "out") == manifest
    parts = [PartData.read(tmp_path / "out", manifest, number) for number in range(3)]
    assert (sp.vstack([part.links[0] for part in parts]) != graph.adjacency).nnz == 0
    assert (sp.vstack([part.links[1] for part in parts]) != graph.adjacency.T).nnz == 0
    np.testing.assert_allclose(np.concatenate([part.features for part in parts]), graph.features, atol=1e-6)
    np.testing.assert_array_equal(np.concatenate([part.labels for part in parts]), graph.labels)
    assert [name for part in parts for name in part.node_ids or ()] == list(graph.node_ids or ())
    for role in SCORED:
        nodes = np.concatenate([getattr(part.splits[0], role) + part.start for part in parts])
        np.testing.assert_array_equal(nodes, getattr(graph.splits[0], role))
    for key in ("metric", "classes", "positive", "features", "directed"):
        assert getattr(manifest.graph, key) == getattr(
            graph, {"classes": "num_classes", "features": "num_features"}.get(key, key)
        )
    assert manifest.graph.label_names == graph.label_names
    assert manifest.graph.feature_names == graph.feature_names
    assert not (tmp_path / "out" / ".tables").exists()


@pytest.mark.parametrize("both_ways", [False, True])
def test_undirected_weights_are_those_in_memory(tmp_path: Path, both_ways: bool) -> None:
    loop, there, back = ("n1", "n1", 7.0), ("n0", "n1", 0.3), ("n1", "n0", 0.3)
    rows = [loop, there, back] * 2 if both_ways else [loop, there, back, ("n2", "n3", 4.0), there, back]
    edges = dict(zip(("source", "target", "weight"), map(list, zip(*rows, strict=True)), strict=True))
    ids = [f"n{number}" for number in range(NODES)]
    tables = written(tmp_path / "in", edges=edges, nodes={"id": ids}, columns={"undirected": True})
    graph = load(tmp_path / "in" / "edges.whole.csv", nodes=tmp_path / "in" / "nodes.whole.csv", columns=tables.columns)
    assert graph.adjacency[0, 1] == np.float32(0.6 if both_ways else 1.2)
    shard_tables(tables, tmp_path / "out", 2)
    assert (load(tmp_path / "out").adjacency != graph.adjacency).nnz == 0


def messy() -> dict[str, Any]:
    """A column of every role that is streamed, with missing values in many ways."""
    rng = np.random.default_rng(1)
    days = [f"2024-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in range(NODES)]
    return {
        "member": ["yes" if i % 3 else ("no" if i % 2 else None) for i in range(NODES)],
        "flag": rng.integers(0, 2, NODES),
        "city": [["Rome", " Oslo", "n/a", "Bonn", "a'b"][i % 5] for i in range(NODES)],
        "shop": [f"shop {int(value)}" for value in rng.zipf(1.8, NODES).clip(max=30)],
        "joined": [None if i % 9 == 0 else day for i, day in enumerate(days)],
        "seen": [f"{day} {i % 24:02d}:30:00" for i, day in enumerate(days)],
        "visits": [0 if i % 6 else i for i in range(NODES)],
        "zip": rng.integers(100, 104, NODES),
        "row": np.arange(NODES) + 7,
        "country": ["DE"] * NODES,
        "nothing": pa.nulls(NODES, pa.string()),
        "name": [f"name{i}" for i in range(NODES)],
    }


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("scale", ["robust", "standard"])
def test_columns_are_prepared_as_in_memory(tmp_path: Path, kind: str, scale: str) -> None:
    changes = {"nodes": messy(), "columns": {"roles": {"zip": "category"}, "scale": scale}}
    written(tmp_path / "in", **changes)
    tables = written(tmp_path / "in", kind, **changes)
    graph = load(tmp_path / "in" / "edges.whole.csv", nodes=tmp_path / "in" / "nodes.whole.csv", columns=tables.columns)
    manifest = shard_tables(tables, tmp_path / "out", 3, memory="500MB")
    assert manifest.graph.feature_names == graph.feature_names
    features = load(tmp_path / "out").features
    dense = [matrix.toarray() if sp.issparse(matrix) else matrix for matrix in (features, graph.features)]
    np.testing.assert_allclose(dense[0], dense[1], atol=1e-6)
    prepared = [
        manifest.graph.preparation.to_json()["columns"],
        (graph.preparation or pytest.fail()).to_json()["columns"],
    ]
    roles = [[(column["name"], column["role"], column["missing"]) for column in columns] for columns in prepared]
    assert roles[0] == roles[1]
    assert {role for _, role, _ in roles[0]} == {"number", "boolean", "category", "date", "id", "constant"}


def test_numbers_written_as_texts_and_many_levels_are_prepared_as_in_memory(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    texts = ["?" if i % 8 == 0 else f" {value:.3f}" for i, value in enumerate(rng.normal(5, 3, NODES))]
    columns = {"nodes": {"amount": texts, "level": [f"L{i % 33}" for i in range(NODES)]}}
    tables = written(tmp_path / "in", "parquet", **columns)
    table = pa.concat_tables([pq.read_table(file) for file in tables.nodes])
    expected = Preparation.fit(
        {name: table.column(name) for name in ("age", "income", "amount", "level")}, declared={"level": "category"}
    )
    streamed = replace(tables, columns=replace(tables.columns, roles={"level": "category"}))
    manifest = shard_tables(streamed, tmp_path / "out", 2)
    assert list(manifest.graph.feature_names) == expected.feature_names
    assert not manifest.sparse_features
    features, _ = expected.transform({name: table.column(name) for name in table.column_names}, NODES)
    np.testing.assert_allclose(load(tmp_path / "out").features, features.toarray(), atol=1e-6)


def test_too_many_different_values_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpcn.distributed.sharding.streamed_columns.MOST", 10)
    tables = written(tmp_path / "in", "parquet", nodes={"name": [f"name{i}" for i in range(NODES)]})
    with pytest.raises(DataError, match=r"column 'name' has more than 10 different values.*'name': 'drop'"):
        shard_tables(tables, tmp_path / "out", 2)


def test_a_call_that_was_stopped_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables, out = written(tmp_path / "in"), tmp_path / "out"

    def stop(done: int, parts: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        shard_tables(tables, out, 2, progress=stop)
    with pytest.raises(DataError, match="it was not finished"):
        Manifest.read(out)
    first = (out / "part-0000" / "part.json").stat().st_mtime_ns
    database = next((out / ".tables").glob("*.duckdb"))
    assert database.exists()
    manifest = shard_tables(tables, out, 2)
    assert Manifest.read(out) == manifest
    assert (out / "part-0000" / "part.json").stat().st_mtime_ns == first


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"nodes": {"about": [f"a text number {i} of many words" for i in range(NODES)]}},
            r"column 'about' holds text, which is not prepared while tables are streamed; leave it out with roles=",
        ),
        (
            {"nodes": {"likes": ["sun;sea" if i % 2 else "sun;tea" for i in range(NODES)]}},
            r"column 'likes' holds tags, which is not prepared",
        ),
        (
            {"nodes": {"size": ["big" if i == 3 else str(i) for i in range(NODES)]}},
            r"column 'size' holds 'big'; expected a number like the other values",
        ),
        ({"nodes": {"id": ["a"] * NODES}}, r"the id 'a' is there more than once"),
        ({"nodes": {"split": ["maybe"] * NODES}}, r"split column 'split' holds 'maybe'; expected train, val, test"),
        ({"edges": {"source": ["who"] * 150}}, r"150 edge\(s\) have an end that is not among the nodes"),
        ({"edges": {"weight": [-1] * 150}}, r"150 weight\(s\) are not positive"),
        ({"edges": {"kind": ["x"] * 150}}, r"types of edges \(column 'kind'\) are not read"),
    ],
)
def test_what_cannot_be_streamed_is_refused_in_one_sentence(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        shard_tables(written(tmp_path / "in", "parquet", **changes), tmp_path / "out", 2)


def test_options_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    tables = written(tmp_path / "in")
    with pytest.raises(ConfigError, match="memory is 'much'; expected a size such as 4GB"):
        shard_tables(tables, tmp_path / "out", 2, memory="much")
    with pytest.raises(DataError, match="features from links are not made while tables are streamed"):
        shard_tables(Tables(tables.edges, tables.nodes, Columns(), "mine"), tmp_path / "out", 2)
    with pytest.raises(DataError, match="there is no file"):
        matching_files(str(tmp_path / "*.parquet"), "edges")
