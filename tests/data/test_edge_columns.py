"""Types, numbers and times of edges; strangers among their ends; the same graph from every kind of table."""

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

from gpcn import Columns, ConfigError, DataError, Graph, from_frames, from_networkx, from_pyg, load, save
from gpcn.cli.shared.options import GraphOptions
from gpcn.data.tables.columns_file import read_columns_file
from gpcn.data.tables.tables_out import write_graph_tables
from gpcn.graph.split import SCORED
from tests.commands import document, refused

EDGES = """payer,payee,amount,kind,at,remark
a,b,10,card,2024-03-01,lunch with all
a,b,30,cash,2024-03-03,
b,c,5,card,2024-03-05,rent
c,a,,transfer,2024-03-07,gift
a,c,20,cash,,tea
"""
NODES = """person,age,city,since,likes,active,role
a,31,Graz,2020-01-05,tea;chess,yes,boss
b,,Leeds,2021-02-06,tea,no,clerk
c,54,Graz,2019-03-07,chess;tea,yes,boss
d,47,,2018-04-08,,,clerk
"""
COLUMNS = Columns(source="payer", target="payee", id="person", label="role", scale="none")


def written(folder: Path, edges: str = EDGES, nodes: str = NODES) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "edges.csv").write_text(edges)
    (folder / "nodes.csv").write_text(nodes)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return written(tmp_path / "tables")


def features(graph: Graph) -> dict[str, list[float]]:
    matrix = graph.features.toarray() if graph.has_sparse_features else graph.features
    return dict(zip(graph.feature_names or (), matrix.T.tolist(), strict=True))


def union(graph: Graph) -> np.ndarray:
    return np.stack([matrix.toarray() for matrix in graph.relations.values()])


def same_relations(one: Graph, two: Graph) -> bool:
    return list(one.relations) == list(two.relations) and np.array_equal(union(one), union(two))


def test_types_of_edges_are_relations_whose_union_is_the_graph(folder: Path) -> None:
    graph = load(folder, columns=COLUMNS)
    assert list(graph.relations) == ["card", "cash", "transfer"]
    assert graph.relations["cash"].toarray().tolist() == [[0, 1, 1, 0], [0] * 4, [0] * 4, [0] * 4]
    np.testing.assert_array_equal(union(graph).max(axis=0), graph.adjacency.toarray())
    undirected = load(folder, columns=Columns(**{**vars(COLUMNS), "undirected": True}))
    assert all((matrix != matrix.T).nnz == 0 for matrix in undirected.relations.values())
    np.testing.assert_array_equal(union(undirected).max(axis=0), undirected.adjacency.toarray())


def test_weights_of_types_add_up_to_those_of_the_graph(folder: Path) -> None:
    edges = EDGES.replace("c,a,,", "c,a,7,")
    graph = load(written(folder, edges), columns=Columns(**{**vars(COLUMNS), "weight": "amount"}))
    assert graph.adjacency[0, 1] == 40
    np.testing.assert_allclose(union(graph).sum(axis=0), graph.adjacency.toarray())


def test_a_missing_type_is_a_type(folder: Path) -> None:
    graph = load(written(folder, EDGES.replace("c,a,,transfer", "c,a,,n/a")), columns=COLUMNS)
    assert list(graph.relations) == ["(missing)", "card", "cash"]


def test_degrees_are_counted_by_type(folder: Path) -> None:
    columns = features(load(folder, columns=COLUMNS))
    np.testing.assert_allclose(np.expm1(columns["links: log out-degree by kind=cash"]), [2, 0, 0, 0], atol=1e-6)
    np.testing.assert_allclose(np.expm1(columns["links: log in-degree by kind=card"]), [0, 1, 1, 0], atol=1e-6)


def test_numbers_and_times_of_edges_are_summed_and_averaged_by_direction(folder: Path) -> None:
    columns = features(load(folder, columns=COLUMNS))
    assert columns["links: out amount, sum"] == [60, 5, 0, 0]
    assert columns["links: in amount, sum"] == [0, 40, 25, 0]
    assert columns["links: out amount, mean"][:2] == [20, 5]
    assert columns["links: out amount, mean=(missing)"] == [0, 0, 1, 1]
    assert columns["links: in amount, mean=(missing)"] == [1, 0, 0, 1]
    assert columns["links: out at, mean days ago"][:3] == [5, 2, 0]  # before the last time of the table
    assert columns["links: in at, mean days ago"][:3] == [0, 5, 2]
    assert "links: out at, sum" not in columns


def test_undirected_edges_have_one_sum(folder: Path) -> None:
    columns = features(load(folder, columns=Columns(**{**vars(COLUMNS), "undirected": True})))
    assert columns["links: amount, sum"] == [60, 45, 25, 0]
    assert not any(name.startswith(("links: out", "links: in")) for name in columns)
    np.testing.assert_allclose(np.expm1(columns["links: log degree"]), [4, 3, 3, 0], rtol=1e-6)


def test_words_on_edges_are_not_used_and_that_is_said(folder: Path) -> None:
    graph = load(folder, columns=COLUMNS)
    assert "edge column 'remark' is not used: it holds neither numbers nor dates" in graph.notes
    assert not any("remark" in name for name in graph.feature_names or ())


def test_too_many_types_are_no_types(folder: Path) -> None:
    rows = "".join(f"a,b,1,kind {number},2024-03-01,x\n" for number in range(21))
    graph = load(written(folder, EDGES.splitlines()[0] + "\n" + rows), columns=COLUMNS)
    assert graph.relations == {}
    assert any(
        "edge column 'kind': 21 different values are too many for types of edges" in note for note in graph.notes
    )
    rows = "".join(f"a,b,1,kind {number},2024-03-01,x\n" for number in range(20))
    assert len(load(written(folder, EDGES.splitlines()[0] + "\n" + rows), columns=COLUMNS).relations) == 20


def test_one_type_is_no_relation(folder: Path) -> None:
    edges = EDGES.replace("cash", "card").replace("transfer", "card")
    assert load(written(folder, edges), columns=COLUMNS).relations == {}


def test_types_and_preparation_survive_npz_and_csv(folder: Path, tmp_path: Path) -> None:
    graph = load(folder, columns=COLUMNS)
    save(graph, tmp_path / "g.npz")
    write_graph_tables(graph, tmp_path / "out")
    for back in (load(tmp_path / "g.npz"), load(tmp_path / "out")):
        assert back.equals(graph)
        assert same_relations(back, graph)
        assert back.feature_names == graph.feature_names
        assert back.preparation is not None and graph.preparation is not None
        assert json.dumps(back.preparation.to_json()) == json.dumps(graph.preparation.to_json())


def test_weighted_types_survive_npz_and_csv(folder: Path, tmp_path: Path) -> None:
    edges = EDGES.replace("c,a,,", "c,a,7,")
    graph = load(written(folder, edges), columns=Columns(**{**vars(COLUMNS), "weight": "amount"}))
    save(graph, tmp_path / "g.npz")
    write_graph_tables(graph, tmp_path / "out")
    for back in (load(tmp_path / "g.npz"), load(tmp_path / "out")):
        assert back.equals(graph)
        assert same_relations(back, graph)


SYMMETRIC = ((0, 3, 5), (3, 0, 0), (5, 0, 0))
WRITINGS = {
    "one way": "a,b,1\na,b,2\na,c,5\n",
    "either way": "a,b,1\nb,a,2\nc,a,5\n",
    "the other way": "b,a,1\nb,a,2\na,c,4\nc,a,1\n",
    "each way, with the same weight": "a,b,3\nb,a,3\na,c,5\nc,a,5\n",
    "each way, the same but for rounding": "a,b,1.1\na,b,0.7\na,b,1.2\nb,a,1.2\nb,a,1.1\nb,a,0.7\na,c,5\nc,a,5\n",
}


@pytest.mark.parametrize("writing", WRITINGS)
def test_weights_of_undirected_edges_do_not_depend_on_how_they_are_written(writing: str) -> None:
    rows = [line.split(",") for line in WRITINGS[writing].splitlines()]
    sources, targets, numbers = zip(*rows, strict=True)
    edges = pa.table({"source": sources, "target": targets, "weight": [float(number) for number in numbers]})
    nodes = pa.table({"id": ["a", "b", "c"]})
    graph = from_frames(edges, nodes, undirected=True, require_labels=False)
    np.testing.assert_allclose(graph.adjacency.toarray(), SYMMETRIC, rtol=1e-6)
    assert not graph.directed
    listed_twice = "every edge is listed in both directions with the same weight, and that is its weight"
    assert (listed_twice in graph.notes) == writing.startswith("each way")
    merged = {"one way": 1, "either way": 1, "the other way": 2}.get(writing, 4 if "rounding" in writing else 0)
    assert (f"{merged} edge(s) listed more than once were summed" in graph.notes) == (merged > 0)


def test_an_undirected_loop_counts_once_and_a_graph_without_weights_is_as_it_was(folder: Path) -> None:
    text = "source,target,weight\na,a,4\na,b,1\nb,a,2\n"
    undirected = Columns(undirected=True, id="person", label="role")
    graph = load(written(folder, text), columns=undirected)
    assert graph.adjacency.toarray()[:2, :2].tolist() == [[4, 3], [3, 0]]
    graph = load(written(folder, "source,target\na,a\na,b\nb,a\nb,c\n"), columns=undirected)
    assert graph.adjacency.toarray()[:3, :3].tolist() == [[1, 1, 0], [1, 0, 1], [0, 1, 0]]


def test_weights_of_undirected_types_add_up_to_those_of_the_graph(folder: Path) -> None:
    columns = Columns(**{**vars(COLUMNS), "weight": "amount", "undirected": True})
    ends = ("a,b,1,card", "b,a,1,cash", "b,c,2,card", "c,b,2,card")
    graph = load(written(folder, "payer,payee,amount,kind\n" + "\n".join(ends) + "\n"), columns=columns)
    assert graph.adjacency[0, 1] == graph.adjacency[1, 0] == 2
    np.testing.assert_allclose(union(graph).sum(axis=0), graph.adjacency.toarray())
    assert all((matrix != matrix.T).nnz == 0 for matrix in graph.relations.values())


def test_a_weighted_undirected_graph_written_in_both_directions_is_read_alike(folder: Path, tmp_path: Path) -> None:
    edges = EDGES.replace("c,a,,", "c,a,7,")
    columns = Columns(**{**vars(COLUMNS), "weight": "amount", "undirected": True})
    graph = load(written(folder, edges), columns=columns)
    write_graph_tables(graph, tmp_path / "out")
    again = load(tmp_path / "out" / "edges.csv", require_labels=False, columns=Columns(undirected=True))
    assert sorted(again.adjacency.data) == sorted(graph.adjacency.data)


GEPHI = "Source,Target,Type,Id,Label,timeset,Weight,amount\n"


def test_edge_columns_that_say_nothing_are_left_out_and_that_is_said(folder: Path) -> None:
    rows = "".join(f"a,b,Undirected,{number},,,1.0,{number % 7}\n" for number in range(40))
    columns = Columns(id="person", label="role")
    graph = load(written(folder, GEPHI + rows), columns=columns)
    names = [name for name in graph.feature_names or () if name.startswith("links: ")]
    assert [name for name in names if not name.startswith(("links: out amount", "links: in amount"))] == [
        "links: log out-degree",
        "links: log in-degree",
    ]
    assert [note for note in graph.notes if note.startswith("edge column")] == [
        "edge column 'Id' is not used: it only counts the rows",
        "edge column 'Label' is not used: every value is missing",
        "edge column 'timeset' is not used: every value is missing",
        "edge column 'Weight' is not used as a feature: every value is the same",
    ]
    rows = "".join(f"a,b,Undirected,{(number * 31) % 97},,,1.0,2\n" for number in range(40))
    later = load(written(folder, GEPHI + rows), columns=columns, preparation=graph.preparation)
    assert later.feature_names == graph.feature_names
    assert features(later)["links: out amount, sum"] != [0, 0, 0, 0]  # used again, though it says nothing here
    assert "edge column 'Id' is not used: training did not use it" in later.notes


def test_an_edge_list_to_be_scored_has_the_weights_of_training_or_none(tmp_path: Path) -> None:
    plain, weighted = tmp_path / "plain.edges", tmp_path / "weighted.edges"
    plain.write_text("a b\nb c\nc a\na b\n")
    weighted.write_text("a b 3\nb c 5\nc a 2\na b 1\n")
    graph = load(plain, require_labels=False)
    later = load(weighted, preparation=graph.preparation, require_labels=False)
    assert later.equals(graph)
    assert "edge column 'weight' is not used: training did not use it" in later.notes
    heavy = load(weighted, require_labels=False)
    with pytest.raises(DataError, match=r"plain.edges has no column 'weight' \(weight\).* expected it as in"):
        load(plain, preparation=heavy.preparation, require_labels=False)


STRANGERS = EDGES + "a,zed,1,card,2024-03-09,\nzed,yak,2,card,2024-03-09,\n"


def test_strangers_among_the_ends_are_an_error_by_default(folder: Path) -> None:
    written(folder, STRANGERS)
    with pytest.raises(
        DataError, match=r"2 edge\(s\) name 2 node\(s\) .* the first is 'zed' in line 7;.*unknown='add'"
    ):
        load(folder, columns=COLUMNS)


def test_edges_to_strangers_can_be_dropped(folder: Path) -> None:
    plain = load(folder, columns=COLUMNS)
    graph = load(written(folder, STRANGERS), columns=Columns(**{**vars(COLUMNS), "unknown": "drop"}))
    assert graph.equals(plain)
    assert same_relations(graph, plain)
    assert "2 edge(s) with an end that is not among the nodes, such as 'zed', were dropped" in graph.notes


def test_all_edges_may_be_dropped(folder: Path) -> None:
    edges = EDGES.splitlines()[0] + "\nx,y,1,card,2024-03-01,\n"
    graph = load(written(folder, edges), columns=Columns(**{**vars(COLUMNS), "unknown": "drop"}))
    assert (graph.num_nodes, graph.num_edges) == (4, 0)


def test_strangers_can_be_added_as_nodes_without_values(folder: Path) -> None:
    plain = load(folder, columns=COLUMNS)
    graph = load(written(folder, STRANGERS), columns=Columns(**{**vars(COLUMNS), "unknown": "add"}))
    assert graph.node_ids == ("a", "b", "c", "d", "zed", "yak")
    assert graph.labels.tolist() == [*plain.labels, -1, -1]
    assert graph.adjacency[0, 4] == graph.adjacency[4, 5] == 1
    assert features(graph)["age=(missing)"] == [0, 1, 0, 0, 1, 1]
    assert any("2 node(s) that only edges name, such as 'zed', were added" in note for note in graph.notes)


def test_numbers_as_ids_take_strangers_too(tmp_path: Path) -> None:
    written(tmp_path / "g", "source,target\n1,2\n2,9\n", "id,label,f\n1,x,3\n2,y,4\n")
    assert load(tmp_path / "g", columns=Columns(unknown="add")).node_ids == ("1", "2", "9")
    edges, nodes = pa.table({"source": [1, 2], "target": [2, 9]}), pa.table({"id": [1, 2], "label": ["x", "y"]})
    assert from_frames(edges, nodes, unknown="add").node_ids == ("1", "2", "9")


def test_the_command_line_says_what_to_do_with_strangers(folder: Path) -> None:
    written(folder, STRANGERS)
    words = ("--source", "payer", "--target", "payee", "--id", "person", "--label", "role")
    assert "--unknown drop or --unknown add" in refused("inspect", folder, *words)
    assert document("inspect", folder, *words, "--unknown", "drop")["nodes"] == 4
    assert document("inspect", folder, *words, "--unknown", "add")["nodes"] == 6
    message = refused("inspect", folder, *words, "--unknown", "keep")
    assert "--unknown is 'keep'; expected error or drop or add" in message


def test_a_type_that_no_edge_has_any_more_counts_as_no_edges(folder: Path) -> None:
    graph = load(folder, columns=COLUMNS)
    edges = EDGES.replace("cash", "card").replace("transfer", "card")
    later = load(written(folder, edges), columns=COLUMNS, preparation=graph.preparation)
    assert later.feature_names == graph.feature_names
    columns = features(later)
    for kind in ("cash", "transfer"):
        assert columns[f"links: log out-degree by kind={kind}"] == [0, 0, 0, 0]
        assert columns[f"links: log in-degree by kind={kind}"] == [0, 0, 0, 0]
    np.testing.assert_allclose(np.expm1(columns["links: log out-degree by kind=card"]), [2, 1, 1, 0], atol=1e-6)
    assert not any("kind" in note for note in later.notes)


def test_edges_to_be_scored_may_lack_columns(folder: Path) -> None:
    graph = load(folder, columns=COLUMNS)
    bare = "payee,payer\nb,a\nc,b\n"
    later = load(written(folder, bare), columns=COLUMNS, preparation=graph.preparation)
    assert later.edge_index.T.tolist() == [[0, 1], [1, 2]]
    assert later.feature_names == graph.feature_names
    for name in ("links: log out-degree by kind=cash", "links: out amount, sum", "links: in at, mean days ago"):
        assert f"column {name!r} is not in this table; it counts as missing for all nodes" in later.notes
    with pytest.raises(DataError, match=r"has no column 'payee' \(target\)"):
        load(written(folder, "payer,to\na,b\n"), columns=COLUMNS, preparation=graph.preparation)


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


TOML = """
source = "payer"
target = "payee"
id = "person"
label = "role"
scale = "standard"
structure = "full"
unknown = "drop"
undirected = true
category = ["age"]
drop = ["likes", "since"]
"""
OPTIONS = (
    *("--source", "payer", "--target", "payee", "--id", "person", "--label", "role", "--scale", "standard"),
    *("--structure", "full", "--unknown", "drop", "--undirected", "--category", "age", "--drop", "likes,since"),
)


def test_a_file_of_columns_says_the_same_as_options(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "columns.toml").write_text(TOML)
    by_file = document("inspect", folder, "--columns", tmp_path / "columns.toml")
    assert by_file == document("inspect", folder, *OPTIONS)
    roles = {column["column"]: column["role"] for column in by_file["columns"]}
    assert (roles["age"], roles["likes"], roles["city"]) == ("category", "drop", "category")
    assert not by_file["directed"]


def test_options_win_over_the_file(tmp_path: Path) -> None:
    (tmp_path / "columns.toml").write_text(TOML + 'split = ["fold"]\nfeatures = ["age"]\n')
    columns = GraphOptions(columns_file=tmp_path / "columns.toml", label="city", text="likes", scale="none").columns()
    assert (columns.label, columns.scale, columns.source, columns.undirected) == ("city", "none", "payer", True)
    assert dict(columns.roles) == {"age": "category", "likes": "text", "since": "drop"}
    assert (columns.splits, columns.features) == (("fold",), ("age",))


BAD = {
    "an unknown key": ('sources = "a"', r"there is no 'sources'; .*source"),
    "a number for a text": ("label = 3", "label is 3; expected text"),
    "a text for a list": ('drop = "age"', r"drop is 'age'; expected a list"),
    "numbers in a list": ("numeric = [1, 2]", r"numeric\[0\] is 1; expected text"),
    "a text for a flag": ('undirected = "yes"', "undirected is 'yes'; expected true or false"),
    "no TOML": ("label: x", "is not a TOML file"),
    "bytes": (b"\xff\xfe", "is not a TOML file"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_of_columns_is_refused_in_one_sentence(case: str, tmp_path: Path) -> None:
    content, message = BAD[case]
    path = tmp_path / "columns.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ConfigError, match=message) as caught:
        read_columns_file(path)
    assert "columns.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_command_line_refuses_bad_files_of_columns(folder: Path, tmp_path: Path) -> None:
    assert "cannot read" in refused("inspect", folder, "--columns", tmp_path / "none.toml")
    (tmp_path / "c.toml").write_text('scale = "log"\n')
    assert "--scale is 'log'; expected robust or standard or none" in refused(
        "inspect", folder, "--columns", tmp_path / "c.toml"
    )


ONE_KIND = {
    "payer and payee": ("payer", "payee", "account"),
    "source and target": ("source", "target", "id"),
    "from and to": ("from_user", "to_user", "user_id"),
    "a friend": ("user_id", "friend_id", "user_id"),
    "both kinds in one table": ("user_id", "merchant_id", "id"),
    "a name that is no id": ("user", "knows", "user"),
    "one noun in two writings": ("userId", "followedUserID", "user_id"),
}
TWO_KINDS = {
    "another noun": ("user_id", "merchant_id", "user_id"),
    "the source": ("merchantId", "userId", "UserID"),
    "a longer name": ("card_no", "terminal_code", "card_no"),
}


def linked_by_number(source: str, target: str, identity: str, letter: str = "") -> Graph:
    edges = pa.table({source: [f"{letter}1", f"{letter}2"], target: [f"{letter}3", f"{letter}1"]})
    nodes = pa.table({identity: [f"{letter}{number}" for number in range(1, 5)], "label": ["x", "y", "x", "y"]})
    return from_frames(edges, nodes, source=source, target=target, id=identity)


@pytest.mark.parametrize("case", ONE_KIND)
def test_ends_of_one_kind_are_read(case: str) -> None:
    assert linked_by_number(*ONE_KIND[case]).num_edges == 2


@pytest.mark.parametrize("case", TWO_KINDS)
def test_numbers_of_two_kinds_of_nodes_are_not_taken_for_one(case: str) -> None:
    names = TWO_KINDS[case]
    with pytest.raises(DataError, match="seems to name another kind of node than .* if they are, rename") as caught:
        linked_by_number(*names)
    assert f"column {names[0] if case == 'the source' else names[1]!r}" in str(caught.value)
    assert linked_by_number(*names, letter="n").num_edges == 2  # names that the table has are no coincidence


def test_an_end_that_hardly_names_any_node_is_named(folder: Path) -> None:
    written(folder, "payer,payee\na,x\nb,y\nc,a\n")
    with pytest.raises(DataError, match=r"in line 2, all in column 'payee', which may hold nodes of another kind; add"):
        load(folder, columns=COLUMNS)
