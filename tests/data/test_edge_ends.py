"""Ends of edges: strangers among them, and numbers of two kinds of node."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from gpcn import Columns, DataError, Graph, from_frames, load
from tests.commands import document, refused
from tests.data.payments import COLUMNS, EDGES, features, same_relations, written

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
