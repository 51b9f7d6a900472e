"""The same graph from every kind of table, frame and library."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch

from gpcn import DataError, from_frames, from_networkx, from_pyg, load
from gpcn.graph.split import SCORED
from tests.data.payments import COLUMNS, EDGES, NODES, features, same_relations, union, written


def rows_of(text: str) -> list[dict[str, Any]]:
    def cell(value: str) -> Any:
        if value.isdigit():
            return int(value)
        return {"": None, "yes": True, "no": False}.get(value, value)

    return [{name: cell(value) for name, value in row.items()} for row in csv.DictReader(io.StringIO(text))]


def zstandard(content: bytes) -> bytes:
    return pa.compress(content, codec="zstd", asbytes=True)


@pytest.mark.parametrize(("ending", "packed"), [("gz", gzip.compress), ("zst", zstandard), ("bz2", bz2.compress)])
def test_compressed_tables_are_the_same_graph(ending: str, packed: Any, folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "packed"
    other.mkdir()
    for stem, text in (("edges", EDGES), ("nodes", NODES)):
        (other / f"{stem}.csv.{ending}").write_bytes(packed(text.encode()))
    graph, plain = load(other, columns=COLUMNS), load(folder, columns=COLUMNS)
    assert graph.equals(plain)
    assert graph.notes == plain.notes
    pair = load(other / f"edges.csv.{ending}", nodes=other / f"nodes.csv.{ending}", columns=COLUMNS)
    assert pair.equals(plain)
    assert pair.name == "edges"


def test_a_damaged_archive_is_refused_in_one_sentence(folder: Path) -> None:
    (folder / "bad.csv.gz").write_bytes(gzip.compress(EDGES.encode())[:-20])
    (folder / "no.csv.gz").write_bytes(b"not packed at all")
    for name in ("bad.csv.gz", "no.csv.gz"):
        with pytest.raises(DataError, match=name) as caught:
            load(folder / name, nodes=folder / "nodes.csv", columns=COLUMNS)
        assert "\n" not in str(caught.value)


def test_json_lines_are_the_same_graph(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "lines"
    other.mkdir()
    for stem, text in (("edges", EDGES), ("nodes", NODES)):
        lines = "".join(json.dumps(row) + "\n" for row in rows_of(text))
        (other / f"{stem}.jsonl").write_text(lines)
    plain = load(folder, columns=COLUMNS)
    graph = load(other, columns=COLUMNS)
    assert graph.feature_names == plain.feature_names
    assert graph.equals(plain)
    (other / "edges.jsonl").write_text('{"payer": "a",\n')
    with pytest.raises(DataError, match="edges.jsonl cannot be read as one JSON object per line"):
        load(other, columns=COLUMNS)


def test_parts_of_a_split_may_be_called_by_other_words(tmp_path: Path) -> None:
    words = {"train": ("train", "Training"), "val": ("dev", "validation"), "test": ("eval", "HOLDOUT")}
    nodes = [f"n{number},{number % 2},{number}.5,{word}" for number, word in enumerate(sum(words.values(), ()))]
    written(tmp_path / "g", "source,target\nn0,n1\n", "id,label,f,split\n" + "\n".join([*nodes, "n6,0,1,n/a"]) + "\n")
    (split,) = load(tmp_path / "g").splits
    assert [getattr(split, role).tolist() for role in SCORED] == [[0, 1], [2, 3], [4, 5]]


def plain_table(text: str) -> dict[str, list[Any]]:
    rows = rows_of(text)
    return {name: [row[name] for row in rows] for name in rows[0]}


@pytest.mark.parametrize("library", ["pyarrow", "pandas", "polars"])
def test_frames_are_the_same_graph_as_files(library: str, folder: Path) -> None:
    module = pytest.importorskip(library)
    make = module.table if library == "pyarrow" else module.DataFrame
    frames = [make(plain_table(text)) for text in (EDGES, NODES)]
    plain = load(folder, columns=COLUMNS)
    graph = from_frames(*frames, source="payer", target="payee", id="person", label="role", scale="none")
    assert graph.feature_names == plain.feature_names
    assert graph.equals(plain)
    assert same_relations(graph, plain)
    assert graph.notes == plain.notes
    assert from_frames(*frames, COLUMNS).equals(plain)


@pytest.mark.parametrize("library", ["pyarrow", "pandas", "polars"])
def test_frames_of_texts_alone_are_the_same_graph_too(library: str, folder: Path) -> None:
    module = pytest.importorskip(library)
    make = module.table if library == "pyarrow" else module.DataFrame
    tables = []
    for text in (EDGES, NODES):
        rows = list(csv.DictReader(io.StringIO(text)))
        tables.append(make({name: [row[name] for row in rows] for name in rows[0]}))
    graph, plain = from_frames(*tables, COLUMNS), load(folder, columns=COLUMNS)
    assert graph.feature_names == plain.feature_names
    assert graph.equals(plain)


def test_a_pandas_frame_with_an_index_and_categories_is_the_same_graph(folder: Path) -> None:
    pandas = pytest.importorskip("pandas")
    edges, nodes = (pandas.DataFrame(plain_table(text)) for text in (EDGES, NODES))
    nodes["city"], nodes["since"] = nodes["city"].astype("category"), pandas.to_datetime(nodes["since"])
    edges["kind"] = edges["kind"].astype("category")
    shuffled = nodes.iloc[[2, 0, 3, 1]].sort_values("person")
    assert from_frames(edges, shuffled, COLUMNS).equals(load(folder, columns=COLUMNS))


def test_frames_that_cannot_be_read_are_refused(folder: Path) -> None:
    with pytest.raises(DataError, match="edges is of type int and cannot be read"):
        from_frames(5)
    with pytest.raises(DataError, match="edges is None"):
        from_frames(None)
    with pytest.raises(DataError, match="not all of these are fields of Columns"):
        from_frames(pa.table(plain_table(EDGES)), colour="red")
    with pytest.raises(DataError, match=r"nodes, row 2: column 'age' holds 'old'; expected a number like the other"):
        table = pa.table({"id": ["a", "b", "c"], "age": ["1", "old", "3"], "label": ["x", "y", "x"]})
        from_frames(pa.table({"source": ["a"], "target": ["b"]}), table)


def test_networkx_reads_types_and_numbers_of_edges(folder: Path) -> None:
    import networkx as nx

    graph = nx.MultiDiGraph()
    for row in rows_of(NODES):
        graph.add_node(row["person"], **{name: row[name] for name in row if name != "person"})
    for row in rows_of(EDGES):
        graph.add_edge(
            row["payer"], row["payee"], **{name: row[name] for name in row if name not in ("payer", "payee")}
        )
    ours, plain = from_networkx(graph, label="role", scale="none"), load(folder, columns=COLUMNS)
    assert list(ours.relations) == list(plain.relations)
    assert features(ours) == features(plain)


def hetero() -> Any:
    from torch_geometric.data import HeteroData

    data = HeteroData()
    data["user"].x = torch.arange(8.0).reshape(4, 2)
    data["user"].y = torch.tensor([0, 1, 1, 0])
    data["user", "follows", "user"].edge_index = torch.tensor([[0, 1, 2], [1, 2, 3]])
    data["user", "blocks", "user"].edge_index = torch.tensor([[0, 3], [1, 0]])
    return data


def test_a_hetero_data_with_one_type_of_nodes_has_relations() -> None:
    graph = from_pyg(hetero())
    assert list(graph.relations) == ["follows", "blocks"]
    assert graph.relations["blocks"].toarray()[3, 0] == 1
    np.testing.assert_array_equal(union(graph).max(axis=0), graph.adjacency.toarray())
    np.testing.assert_array_equal(graph.features, np.arange(8).reshape(4, 2))
    assert graph.labels.tolist() == [0, 1, 1, 0]


def test_other_hetero_data_is_refused() -> None:
    from torch_geometric.data import HeteroData

    two = hetero()
    two["page"].x = torch.ones(3, 1)
    with pytest.raises(DataError, match=r"2 types of nodes \(user, page\); expected one"):
        from_pyg(two)
    none = HeteroData()
    none["user"].x = torch.ones(3, 1)
    with pytest.raises(DataError, match="no edges; expected at least one type"):
        from_pyg(none)
