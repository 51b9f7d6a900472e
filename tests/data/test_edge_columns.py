"""Types, numbers, times and weights of edges."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from gpcn import Columns, DataError, from_frames, load, save
from gpcn.data.tables.tables_out import write_graph_tables
from tests.data.payments import COLUMNS, EDGES, features, same_relations, union, written


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
