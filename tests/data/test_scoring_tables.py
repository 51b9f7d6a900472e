"""Each difference between tables to be scored and those of training, as the page lists them, and its outcome."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from gpcn import Columns, DataError, Graph, load

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tables.md"
NODES = 40
COLUMNS = Columns(id="who", source="payer", target="payee", roles={"shop": "category"}, scale="none")
Table = list[list[str]]
Change = Callable[[Table], Table]


def training_tables() -> tuple[Table, Table]:
    """Edges and nodes that a run was trained on."""
    edges, nodes = [["payer", "payee", "amount", "kind"]], [["who", "age", "city", "shop", "opened", "label"]]
    for i in range(NODES):
        edges.append([f"n{i}", f"n{(7 * i + 1) % NODES}", str(i % 9 + 1), ("card", "cash")[i % 2]])
        code, day = ("B003", "B007", "B011")[i % 3], f"{1 + i % 28:02d}/{1 + i % 12:02d}/2024"
        nodes.append([f"n{i}", f"{20 + i}.5", ("Graz", "Oslo")[i % 2], code, day, ("no", "yes")[i % 5 == 0]])
    return edges, nodes


def csv_bytes(table: Table, delimiter: str = ",") -> bytes:
    stream = io.StringIO()
    csv.writer(stream, delimiter=delimiter, lineterminator="\n").writerows(table)
    return stream.getvalue().encode()


def json_lines(table: Table) -> bytes:
    header, *rows = table
    numbers = {"age": float, "amount": int}
    cells = [{name: numbers.get(name, str)(cell) for name, cell in zip(header, row, strict=True)} for row in rows]
    return "".join(json.dumps(row) + "\n" for row in cells).encode()


def unchanged(table: Table) -> Table:
    return table


def without(name: str) -> Change:
    def change(table: Table) -> Table:
        at = table[0].index(name)
        return [row[:at] + row[at + 1 :] for row in table]

    return change


def with_column(name: str, *cells: str) -> Change:
    return lambda table: [[*table[0], name], *([*row, cells[i % len(cells)]] for i, row in enumerate(table[1:]))]


def with_rows(*rows: list[str]) -> Change:
    return lambda table: [*table, *rows]


def renamed(name: str, new: str) -> Change:
    return lambda table: [[new if title == name else title for title in table[0]], *table[1:]]


def mapped(name: str, cell: Callable[[str], str], rows: slice = slice(None)) -> Change:
    """Other cells in a column, in some rows."""

    def change(table: Table) -> Table:
        at, chosen = table[0].index(name), set(range(len(table) - 1)[rows])
        changed = [
            [*row[:at], cell(row[at]), *row[at + 1 :]] if i in chosen else row for i, row in enumerate(table[1:])
        ]
        return [table[0], *changed]

    return change


def of_feature(graph: Graph, name: str) -> np.ndarray:
    matrix = graph.features.toarray() if graph.has_sparse_features else graph.features
    return np.asarray(matrix[:, list(graph.feature_names or ()).index(name)])


def assert_same_but_for(*starts: str) -> Callable[[Graph, Graph], None]:
    """The same links, and the same features but for those whose names begin so, which are others."""

    def check(later: Graph, trained: Graph) -> None:
        assert later.feature_names == trained.feature_names
        assert (later.adjacency != trained.adjacency).nnz == 0
        for name in trained.feature_names or ():
            same = np.array_equal(of_feature(later, name), of_feature(trained, name))
            assert same != name.startswith(starts or ("-",)), name

    return check


same_graph = assert_same_but_for()


@dataclass(frozen=True)
class Difference:
    """Changes of the tables, how they are written, and the outcome: a refusal, or notes and a check."""

    edges: Change = unchanged
    nodes: Change = unchanged
    trained_edges: Change = unchanged
    trained_nodes: Change = unchanged
    content: Callable[[Table], bytes] = csv_bytes
    ending: str = "csv"
    unknown: str = "error"
    refused: str = ""
    notes: tuple[str, ...] = ()
    check: Callable[[Graph, Graph], None] = same_graph


def missing_ages(later: Graph, trained: Graph) -> None:
    assert_same_but_for("age")(later, trained)
    assert set(of_feature(later, "age")) == {np.median(of_feature(trained, "age"))}


def nobody_labelled(later: Graph, trained: Graph) -> None:
    same_graph(later, trained)
    assert later.labelled.size == 0


def only_old_labels(later: Graph, trained: Graph) -> None:
    same_graph(later, trained)
    assert later.label_names == trained.label_names
    assert later.labels.tolist() == [-1 if i % 5 == 0 else 0 for i in range(NODES)]


def thirty_nodes(later: Graph, trained: Graph) -> None:
    assert later.num_nodes == 30
    np.testing.assert_array_equal(of_feature(later, "age"), of_feature(trained, "age")[:30])


def one_more_node(later: Graph, trained: Graph) -> None:
    assert (later.num_nodes, (later.node_ids or ())[-1], later.adjacency[NODES, 0]) == (NODES + 1, "new", 1)
    np.testing.assert_array_equal(of_feature(later, "age")[:NODES], of_feature(trained, "age"))


def another_code(later: Graph, trained: Graph) -> None:
    assert_same_but_for("shop=003")(later, trained)
    assert (of_feature(later, "shop=003") != of_feature(trained, "shop=003")).sum() == 1


def american(day: str) -> str:
    first, second, year = day.split("/")
    return f"{second}/{first}/{year}"


OF_AMOUNT, OF_KIND = ("links: out amount", "links: in amount"), ("links: log out-degree by", "links: log in-degree by")
NOT_THERE = "column {!r} is not in this table; it counts as missing for all nodes".format
code_without_letter = mapped("shop", lambda code: code[1:])
WEIGHTED = with_column("weight", "1", "2.5", "4")
DIFFERENCES: dict[str, Difference] = {
    "other order of columns": Difference(
        edges=lambda table: [row[::-1] for row in table], nodes=lambda table: [row[::-1] for row in table]
    ),
    "missing column": Difference(nodes=without("age"), notes=(NOT_THERE("age"),), check=missing_ages),
    "missing column of edges": Difference(
        edges=without("amount"), notes=(NOT_THERE("links: out amount, sum"),), check=assert_same_but_for(*OF_AMOUNT)
    ),
    "new column": Difference(
        nodes=with_column("height", "1", "2"),
        notes=("1 column(s) that were not there in training were left out, such as 'height'",),
    ),
    "new column of edges": Difference(
        edges=with_column("fee", "1", "2"), notes=("edge column 'fee' is not used: training did not use it",)
    ),
    "new weight column": Difference(
        edges=WEIGHTED, notes=("edge column 'weight' is not used: training did not use it",)
    ),
    "missing weight column": Difference(
        trained_edges=WEIGHTED, refused=r"edges.csv has no column 'weight' .*; expected it as in training, so add it"
    ),
    "new level of a category": Difference(
        nodes=mapped("city", lambda city: "Bonn", slice(1)),
        notes=("column 'city' has 1 level(s) that were not there in training, such as 'Bonn'",),
        check=assert_same_but_for("city=Graz"),
    ),
    "new type of edges": Difference(
        edges=mapped("kind", lambda kind: kind.replace("cash", "wire")),
        notes=(
            "2 column(s) that were not there in training were left out, such as 'links: log out-degree by kind=wire'",
        ),
        check=assert_same_but_for("links: log out-degree by kind=cash", "links: log in-degree by kind=cash"),
    ),
    "missing column of types": Difference(
        edges=without("kind"),
        notes=(NOT_THERE("links: log out-degree by kind=card"),),
        check=assert_same_but_for(*OF_KIND),
    ),
    "other form of numbers": Difference(nodes=mapped("age", lambda age: f"{float(age):.3e}")),
    "local form of numbers": Difference(
        nodes=mapped("age", lambda age: age.replace(".", ",")),
        refused=r"nodes.csv, line 2: column 'age' holds '20,5'; expected a number",
    ),
    "text where numbers were": Difference(
        nodes=mapped("age", lambda age: "lots", slice(2, 3)),
        refused=r"nodes.csv, line 4: column 'age' holds 'lots'; expected a number",
    ),
    "text where numbers of edges were": Difference(
        edges=mapped("amount", lambda amount: "lots", slice(2, 3)),
        refused=r"edges.csv, line 4: column 'amount' holds 'lots'; expected a number",
    ),
    "other form of dates": Difference(
        nodes=mapped("opened", american), refused=r"nodes.csv, line \d+: column 'opened' holds '\d\d/\d\d/2024'"
    ),
    "no labels": Difference(nodes=without("label"), check=nobody_labelled),
    "new labels": Difference(nodes=mapped("label", lambda label: label.replace("yes", "maybe")), check=only_old_labels),
    "fewer nodes": Difference(
        nodes=lambda table: table[:31],
        edges=lambda table: [table[0], *(row for row in table[1:31] if int(row[1][1:]) < 30)],
        check=thirty_nodes,
    ),
    "more nodes": Difference(
        nodes=with_rows(["new", "33", "Graz", "B003", "13/01/2024", ""]),
        edges=with_rows(["new", "n0", "3", "card"]),
        check=one_more_node,
    ),
    "unknown ends of edges": Difference(
        edges=with_rows(["zed", "n0", "3", "card"]), refused=r"edges.csv: 1 edge\(s\) name 1 node\(s\) .* 'zed' in line"
    ),
    "codes with leading zeros": Difference(
        trained_nodes=code_without_letter,
        nodes=lambda table: mapped("shop", lambda code: "A1", slice(1))(code_without_letter(table)),
        notes=("column 'shop' has 1 level(s) that were not there in training, such as 'A1'",),
        check=another_code,
    ),
    "column of ids renamed": Difference(
        nodes=renamed("who", "person"),
        refused=r"nodes.csv has no column 'who' \(id\); it has person, .*; expected it as in training",
    ),
    "column of ends renamed": Difference(
        edges=renamed("payee", "to"),
        refused=r"edges.csv has no column 'payee' \(target\); it has payer, to, .*; expected it as in training",
    ),
    "other delimiter": Difference(content=lambda table: csv_bytes(table, ";")),
    "compression": Difference(content=lambda table: gzip.compress(csv_bytes(table)), ending="csv.gz"),
    "other file format": Difference(content=json_lines, ending="jsonl"),
}


def written(folder: Path, edges: Table, nodes: Table, difference: Difference | None = None) -> Path:
    content, ending = (csv_bytes, "csv") if difference is None else (difference.content, difference.ending)
    folder.mkdir()
    for stem, table in (("edges", edges), ("nodes", nodes)):
        (folder / f"{stem}.{ending}").write_bytes(content(table))
    return folder


@pytest.mark.parametrize("case", DIFFERENCES)
def test_a_difference_has_the_outcome_that_the_page_tells(case: str, tmp_path: Path) -> None:
    difference = DIFFERENCES[case]
    edges, nodes = training_tables()
    trained = load(
        written(tmp_path / "trained", difference.trained_edges(edges), difference.trained_nodes(nodes)), columns=COLUMNS
    )
    later_tables = written(tmp_path / "later", difference.edges(edges), difference.nodes(nodes), difference)

    def scored() -> Graph:
        return load(later_tables, preparation=trained.preparation, require_labels=False)

    if difference.refused:
        with pytest.raises(DataError, match=difference.refused):
            scored()
        return
    later = scored()
    assert later.feature_names == trained.feature_names
    assert set(difference.notes) <= set(later.notes)
    assert bool(later.notes) == bool(difference.notes)
    difference.check(later, trained)


def test_the_page_lists_the_differences_that_are_tested() -> None:
    table = PAGE.read_text().split("## What scoring tables may differ in\n", 1)[1].split("\n## ", 1)[0]
    rows = re.findall(r"^\| (.+?) \| .+ \|$", table, re.M)
    assert rows[2:] == list(DIFFERENCES)
