"""The users' own files: what they mean, and what is said when they mean nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from gpcn import Columns, DataError, Graph, load, synthesize
from gpcn.data.tables.tables_out import write_graph_tables
from gpcn.graph.split import SCORED

EDGES = "source,target\na,b\nb,c\nc,a\na,d\n"
PLAIN = Columns(scale="none", structure="none")
NODES = "id,age,colour,member,label\na,1.5,red,true,yes\nb,2,blue,false,no\nc,3,red,true,yes\nd,4,,false,\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "edges.csv").write_text(EDGES)
    (tmp_path / "nodes.csv").write_text(NODES)
    return tmp_path


def test_a_folder_of_two_tables_is_read(folder: Path) -> None:
    graph = load(folder, columns=PLAIN)
    assert graph.node_ids == ("a", "b", "c", "d")
    assert graph.label_names == ("no", "yes")
    assert graph.labels.tolist() == [1, 0, 1, -1]
    assert graph.feature_names == ("age", "colour=blue", "colour=red", "colour=(missing)", "member")
    expected = [[1.5, 0, 1, 0, 1], [2, 1, 0, 0, 0], [3, 0, 1, 0, 1], [4, 0, 0, 1, 0]]
    np.testing.assert_array_equal(graph.features, expected)
    assert graph.edge_index.T.tolist() == [[0, 1], [0, 3], [1, 2], [2, 0]]
    assert graph.directed


def test_a_pair_of_files_may_have_names_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "calls.tsv").write_text("when\tcaller\tcallee\n1\tx\ty\n2\ty\tz\n3\tx\ty\n")
    (tmp_path / "people.csv").write_text("Full Name,person,role,score,noise\nU V,x,boss,1,7\nW,y,clerk,2,7\nQ,z,,3,7\n")
    columns = Columns(source="caller", target="callee", id="person", label="role", features=("score",))
    graph = load(tmp_path / "calls.tsv", nodes=tmp_path / "people.csv", columns=columns)
    assert graph.num_edges == 2
    assert graph.feature_names is not None
    assert [name for name in graph.feature_names if not name.startswith("links: ")] == ["score"]
    assert {"links: log out-degree", "links: log in-degree", "links: in when, mean"} <= set(graph.feature_names)
    assert graph.labels.tolist() == [0, 1, -1]
    assert graph.notes == ("1 edge(s) listed more than once were counted once",)


def test_weights_undirected_links_and_split_columns_are_read(folder: Path) -> None:
    (folder / "edges.csv").write_text("source,target,weight\na,b,2\na,b,3\nb,c,1\n")
    (folder / "nodes.csv").write_text(
        "id,label,f,split,split_1\na,x,1,train,test\nb,y,1,validation,val\nc,x,1,test,Train\nd,y,1,,\n"
    )
    graph = load(folder, columns=Columns(undirected=True))
    assert graph.adjacency[1, 0] == graph.adjacency[0, 1] == 5
    assert not graph.directed
    assert [getattr(graph.splits[1], role).tolist() for role in SCORED] == [[2], [1], [0]]


def test_parquet_is_the_same_graph(folder: Path, tmp_path: Path) -> None:
    from gpcn.data.tables.delimited import read_table

    other = tmp_path / "parquet"
    other.mkdir()
    for stem in ("edges", "nodes"):
        pq.write_table(read_table(folder / f"{stem}.csv", text=["id", "label"]), other / f"{stem}.parquet")
    assert load(other).equals(load(folder))


def test_ids_are_text_to_the_letter(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("source,target\n007,7\n7,NA\n")
    (tmp_path / "nodes.csv").write_text("id,label,f\n7,0,1\n007,1,2\nNA,0,3\n")
    assert load(tmp_path).edge_index.T.tolist() == [[0, 2], [1, 0]]


def test_whole_number_ids_match_across_parquet_and_csv(tmp_path: Path) -> None:
    pq.write_table(pa.table({"source": [10, 20], "target": [20, 30]}), tmp_path / "edges.parquet")
    (tmp_path / "nodes.csv").write_text("id,label,f\n10,a,1\n20,b,2\n30,a,3\n")
    assert load(tmp_path).num_edges == 2


def test_numeric_labels_sort_as_numbers_and_minus_one_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("source,target\na,b\n")
    (tmp_path / "nodes.csv").write_text("id,label,f\na,10,1\nb,9,1\nc,-1,1\n")
    graph = load(tmp_path)
    assert graph.label_names == ("9", "10")
    assert graph.labels.tolist() == [1, 0, -1]


@pytest.mark.parametrize(
    ("text", "encoding"),
    [(NODES.replace(",", ";"), "utf-8"), (NODES.replace("\n", "\r\n"), "utf-8"), (NODES, "utf-8-sig")],
    ids=["semicolons", "crlf", "bom"],
)
def test_tables_are_read_as_office_programs_write_them(folder: Path, text: str, encoding: str) -> None:
    expected = load(folder)
    (folder / "nodes.csv").write_bytes(text.encode(encoding))
    assert load(folder).equals(expected)


def test_names_are_left_out_with_a_note_and_prose_is_read(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("source,target\n0,1\n")
    rows = "".join(f"{i},{i % 2},{i * i},p{i},person number {i}\n" for i in range(50))
    (tmp_path / "nodes.csv").write_text("id,label,f,code,bio\n" + rows)
    graph = load(tmp_path, columns=PLAIN)
    assert graph.feature_names == ("f", "bio~number", "bio~person")
    assert "column 'code' was left out: 50 different texts in 50 rows" in graph.notes[0]


@pytest.mark.parametrize("text", ["a b\nb c\n", "# comment\n% other\na\tb\nb\tc\n", "a,b\nb,c\n"])
def test_an_edge_list_is_read_with_a_table_of_nodes(text: str, tmp_path: Path) -> None:
    (tmp_path / "g.txt").write_text(text)
    (tmp_path / "nodes.csv").write_text("id,label,f\na,x,1\nb,y,2\nc,x,3\n")
    graph = load(tmp_path / "g.txt", nodes=tmp_path / "nodes.csv")
    assert graph.edge_index.T.tolist() == [[0, 1], [1, 2]]


def test_an_edge_list_alone_is_a_graph_without_labels(tmp_path: Path) -> None:
    (tmp_path / "g.edges").write_text("10 20 0.5\n20 30 2\n")
    with pytest.raises(DataError, match="no labels: .* give the table of nodes with nodes"):
        load(tmp_path / "g.edges")
    graph = load(tmp_path / "g.edges", require_labels=False)
    assert graph.node_ids == ("10", "20", "30")
    assert graph.adjacency.data.tolist() == [0.5, 2]


@pytest.mark.mirror
def test_cornell_from_csv_with_string_ids_is_exactly_the_catalogs(tmp_path: Path, load_dataset) -> None:
    cornell: Graph = load_dataset("cornell")
    ids = [f"page-{number:03d}" for number in np.random.default_rng(0).permutation(183)]
    dense = cornell.features.toarray().astype(int)
    roles = [["train" if i in s.train else "val" if i in s.val else "test" for i in range(183)] for s in cornell.splits]
    with (tmp_path / "nodes.csv").open("w") as out:
        print("id", "label", *(f"split_{s}" for s in range(10)), *(f"w{i}" for i in range(1703)), sep=",", file=out)
        for i in range(183):
            print(ids[i], cornell.labels[i], *(role[i] for role in roles), *dense[i], sep=",", file=out)
    with (tmp_path / "edges.csv").open("w") as out:
        print("source,target", *(f"{ids[a]},{ids[b]}" for a, b in cornell.edge_index.T), sep="\n", file=out)
    graph = load(tmp_path, columns=Columns(structure="none"))
    assert graph.equals(cornell)
    assert graph.node_ids == tuple(ids)


@pytest.mark.mirror
@pytest.mark.parametrize("name", ["texas", "reed98"])
def test_datasets_survive_csv(name: str, tmp_path: Path, load_dataset) -> None:
    graph = load_dataset(name)
    write_graph_tables(graph, tmp_path / "out")
    assert load(tmp_path / "out").equals(graph)


def test_named_weighted_graphs_survive_csv(tmp_path: Path) -> None:
    graph = Graph.from_edges(
        [[0, 1, 2], [1, 2, 0]],
        num_nodes=3,
        weights=[0.1, 2, 3],
        features=sp.csr_array(np.eye(3, 40)),
        labels=np.array([1, -1, 0]),
        node_ids=['quote"d', "com,ma", "ünï"],
        label_names=["no", "yes"],
    )
    write_graph_tables(graph, tmp_path)
    back = load(tmp_path)
    assert back.equals(graph)
    assert back.node_ids == graph.node_ids


BAD = {
    "unknown node": (
        {"edges": EDGES + "a,zed\n"},
        r"1 edge\(s\) name 1 node\(s\) that are not among the nodes.*'zed' in line 6.*unknown='drop'",
    ),
    "duplicate id": ({"nodes": NODES + "a,1,red,true,no\n"}, r"1 node id\(s\) occur more than once.*'a'"),
    "empty id": ({"nodes": NODES + ",1,red,true,no\n"}, r"nodes.csv: 1 node\(s\) have no id.*line 6"),
    "empty file": ({"nodes": ""}, "is empty"),
    "blank file": ({"edges": "\n \n"}, "is empty"),
    "only a header": ({"nodes": "id,label\n"}, "a header but no rows"),
    "short row": ({"nodes": NODES + "e,1\n"}, r"1 row\(s\) do not have 5 columns.*line 6 with 2"),
    "long row": ({"edges": EDGES + "a,b,c\n"}, r"1 row\(s\) do not have 2 columns.*line 6 with 3"),
    "latin-1": (
        {"nodes": NODES.replace("red", "röd").encode("latin-1")},
        r"not UTF-8 text: line 2 holds the byte 0xf6",
    ),
    "utf-16": ({"nodes": NODES.encode("utf-16")}, "UTF-16"),
    "binary": ({"nodes": NODES.encode() + b"\0\n"}, "NUL byte in line 6"),
    "infinite": ({"nodes": NODES.replace("2,blue", "inf,blue")}, r"nodes.csv: column 'age'.*infinite.* in line 3"),
    "not a number": (
        {"nodes": NODES.replace("2,blue", "two,blue")},
        r"nodes.csv, line 3: column 'age' holds 'two'; expected a number",
    ),
    "no labels": ({"nodes": "id,f,label\na,1,\nb,1,\nc,1,NA\nd,1,nan\n"}, "no labels: every value of column 'label'"),
    "no label column": ({"nodes": "id,f\na,1\nb,1\nc,1\nd,1\n"}, "no labels: .* name the column with label$"),
    "a column that could be the label": (
        {"nodes": "id,size,kind,role\na,1,x,-\nb,2,x,lead\nc,3,x,staff\nd,4,x,lead\n"},
        r"no labels: .* name the column with label: 'role' \(lead and staff\)\?$",
    ),
    "several columns that could be": (
        {"nodes": "id,b,a,c\n" + "".join(f"{node},{node},{i % 3},{i % 2}\n" for i, node in enumerate("abcdefgh"))},
        r"label: 'c' \(0 and 1\) or 'a' \(3 different values\)\?$",
    ),
    "two columns alike": ({"nodes": "id,f,f,label\na,1,1,x\n"}, "two columns called 'f'"),
    "weight is text": ({"edges": "source,target,weight\na,b,heavy\n"}, "weight column 'weight' holds string"),
    "weight is negative": ({"edges": "source,target,weight\na,b,-1\n"}, "not positive"),
    "odd split": ({"nodes": "id,label,split\na,x,train\nb,y,later\nc,x,\nd,x,\n"}, "holds 'later' in line 3"),
    "split without label": (
        {"nodes": "id,label,split\na,x,train\nb,y,val\nc,x,test\nd,,test\n"},
        "puts 1 node.* without a label in test",
    ),
    "one column": ({"edges": "source\na\n"}, "cannot tell which columns hold the ends"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_tables_are_explained_in_one_sentence(case: str, folder: Path) -> None:
    changes, message = BAD[case]
    for stem, content in changes.items():
        (folder / f"{stem}.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DataError, match=message) as caught:
        load(folder)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (Columns(source="src"), r"no column 'src' \(source\); it has source, target"),
        (Columns(label="klass"), r"no column 'klass' \(label\)"),
        (Columns(features=("age", "height")), "no column 'height'"),
        (Columns(splits=("fold",)), "no column 'fold'"),
    ],
)
def test_columns_that_do_not_exist_are_named(columns: Columns, message: str, folder: Path) -> None:
    with pytest.raises(DataError, match=message):
        load(folder, columns=columns)


def test_a_late_ragged_row_in_a_large_file_is_found_by_line(tmp_path: Path) -> None:
    lines = ["source,target", *(f"{i},{i + 1}" for i in range(300_000)), "1,2,3", "4,5"]
    (tmp_path / "edges.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(DataError, match="line 300002 with 3"):
        load(tmp_path, require_labels=False)


def test_paths_that_lead_nowhere_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no file or folder .*nothing.csv"):
        load(tmp_path / "nothing.csv")
    with pytest.raises(DataError, match="holds no edges table"):
        load(tmp_path)
    (tmp_path / "g.xyz").write_text("x")
    with pytest.raises(DataError, match="unknown ending '.xyz'"):
        load(tmp_path / "g.xyz")
    for suffix in ("csv", "tsv"):
        (tmp_path / f"edges.{suffix}").write_text(EDGES)
    with pytest.raises(DataError, match="holds edges.csv and edges.tsv"):
        load(tmp_path)
    (tmp_path / "junk.parquet").write_text("not parquet")
    with pytest.raises(DataError, match="not a readable Parquet"):
        load(tmp_path / "junk.parquet")


MEASURE = """
import resource, sys
from gpcn import load
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
graph = load(sys.argv[1], require_labels=False)
print(graph.num_edges, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_memory_is_proportional_to_the_file(tmp_path: Path) -> None:
    def used(edges: int) -> tuple[int, float]:
        rng = np.random.default_rng(0)
        ends = rng.integers(0, edges // 10, size=(edges, 2))
        path = tmp_path / f"{edges}.csv"
        with path.open("w") as out:
            out.write("source,target\n")
            np.savetxt(out, ends, fmt="%d", delimiter=",")
        answer = subprocess.run([sys.executable, "-c", MEASURE, str(path)], capture_output=True, text=True, check=True)
        count, kibibytes = map(int, answer.stdout.split())
        assert count > 0.9 * edges
        return path.stat().st_size, kibibytes * 1024.0

    size, memory = used(1_500_000)
    assert memory < 20 * size


def test_the_demo_graph_reads_back(tmp_path: Path) -> None:
    graph = synthesize(nodes=300, unlabelled=0.1, splits=2)
    write_graph_tables(graph, tmp_path)
    assert load(tmp_path).equals(graph)


AWKWARD = {
    "feature names that look like roles": {"feature_names": ["label", "ID", "split_0", "", "a\nb", "Unnamed: 3"]},
    "classes out of order": {"label_names": ["z", "a", "none"]},
    "a class that nobody has": {"labels": np.array([0, 2, 2]), "label_names": ["a", "b", "c"]},
    "another metric": {"metric": "roc_auc", "labels": np.array([0, 1, 1])},
    "no edges": {"edge_index": np.empty((2, 0), dtype=int)},
}


@pytest.mark.parametrize("case", AWKWARD)
def test_awkward_graphs_survive_csv(case: str, tmp_path: Path) -> None:
    fields: dict[str, object] = {
        "edge_index": [[0, 1], [1, 2]],
        "num_nodes": 3,
        "features": np.arange(18.0).reshape(3, 6),
        "labels": np.array([0, 1, 2]),
    }
    graph = Graph.from_edges(**(fields | AWKWARD[case]))  # type: ignore[arg-type]
    write_graph_tables(graph, tmp_path)
    back = load(tmp_path)
    assert back.equals(graph)
    assert back.num_classes == graph.num_classes


def test_twelve_classes_keep_their_numbers(tmp_path: Path) -> None:
    graph = synthesize(nodes=200, classes=12)
    write_graph_tables(graph, tmp_path)
    assert load(tmp_path).label_names == graph.label_names


def test_tables_are_written_together_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").mkdir()
    with pytest.raises(DataError, match="already holds nodes.csv"):
        write_graph_tables(synthesize(nodes=50, degree=4), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["nodes.csv"]
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "nodes.parquet").write_text("")
    with pytest.raises(DataError, match="already holds nodes.parquet"):
        write_graph_tables(synthesize(nodes=50, degree=4), tmp_path / "other")


def test_a_damaged_description_is_named(folder: Path) -> None:
    for text in ("{", "[]", '{"format": "x", "name": "n", "metric": "accuracy", "classes": []}'):
        (folder / "graph.json").write_text(text)
        with pytest.raises(DataError, match="delete it to read the tables by themselves"):
            load(folder)


def test_exported_float_labels_are_whole_numbers(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("source,target\na,b\n")
    (tmp_path / "nodes.csv").write_text("id,label,f\na,1.0,1\nb,0.0,1\nc,-1.0,1\nd,,1\n")
    graph = load(tmp_path)
    assert graph.labels.tolist() == [1, 0, -1, -1]
    assert graph.label_names is None
    assert graph.notes[0] == "2 node(s) are to be predicted: '-1' was taken as no label"


def test_a_class_called_none_is_a_class(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("source,target\na,b\n")
    (tmp_path / "nodes.csv").write_text("id,label,f\na,none,1\nb,mild,1\nc,NA,1\n")
    graph = load(tmp_path)
    assert graph.label_names == ("mild", "none")
    assert graph.labels.tolist() == [1, 0, -1]


MORE_BAD = {
    "no header": ({"edges": "0,1\n1,2\n"}, "has no header: its first line is '0', '1'"),
    "decimal commas": (
        {"nodes": 'id,x,label\na,"1,5",p\nb,"2,5",q\nc,"3,5",p\nd,"4,5",q\n'},
        "line 2: column 'x' holds '1,5'; expected a number with a decimal point",
    ),
    "per cent": ({"nodes": "id,x,label\na,1%,p\nb,2%,q\nc,3%,p\nd,4%,q\n"}, "'1%'; expected a number with a decimal"),
    "weights that cancel": ({"edges": "source,target,weight\na,b,-2\na,b,2\n"}, "the first is -2.0 in line 2"),
    "weight zero": ({"edges": "source,target,weight\na,b,0\n"}, "the first is 0.0 in line 2"),
    "labels that are no classes": (
        {"nodes": "id,f,label\na,1,x\nb,1,x\nc,1,x\nd,1,x\n" + "".join(f"{i},1,l{i}\n" for i in range(150))},
        "151 different labels for 154 nodes, no classes",
    ),
    "half a character at the end": ({"nodes": NODES.encode() + b"\xc3"}, "not UTF-8 text"),
    "unclosed quote in the header": ({"nodes": 'id,"label\na,b\n'}, "unclosed quote"),
}


@pytest.mark.parametrize("case", MORE_BAD)
def test_more_bad_tables_are_explained_with_their_file(case: str, folder: Path) -> None:
    changes, message = MORE_BAD[case]
    for stem, content in changes.items():
        (folder / f"{stem}.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DataError, match=message) as caught:
        load(folder)
    assert str(folder.name) in str(caught.value)


def test_odd_headers_are_read(folder: Path) -> None:
    expected = load(folder)
    (folder / "nodes.csv").write_text("\n\n" + NODES)  # blank lines first
    assert load(folder).equals(expected)
    (folder / "nodes.csv").write_text(NODES.replace("id,", '"id";"').replace(",", ";").replace('"age', '"age"', 1))
    assert load(folder).equals(expected)
    rows = NODES.splitlines()
    (folder / "nodes.csv").write_text("\n".join([f",{rows[0]}", *(f"{i},{row}" for i, row in enumerate(rows[1:]))]))
    assert load(folder).equals(expected)  # a pandas index column is no feature
    names = ",".join(f"f{i}" for i in range(20_000))
    (folder / "nodes.csv").write_text(
        f"id,label,{names}\n" + "".join(f"{n},{n}" + ",1" * 20_000 + "\n" for n in "abcd")
    )
    assert load(folder, columns=PLAIN).num_features == 20_000


@pytest.mark.parametrize(
    "text", ["a  b\n b c \n", "a b\n# later\nb c\n", "\ufeff# first\na\tb\nb\tc\t\n", "a b\rb c\r"]
)
def test_edge_lists_are_read_as_people_write_them(text: str, tmp_path: Path) -> None:
    (tmp_path / "g.txt").write_text(text, newline="")
    graph = load(tmp_path / "g.txt", require_labels=False)
    assert graph.node_ids == ("a", "b", "c")
    assert graph.num_edges == 2


def test_nested_columns_are_refused_by_name(folder: Path) -> None:
    (folder / "nodes.csv").unlink()
    table = pa.table({"id": ["a", "b", "c", "d"], "label": ["x", "y", "x", "y"], "v": [[1.0], [2.0], [3.0], [4.0]]})
    pq.write_table(table, folder / "nodes.parquet")
    with pytest.raises(DataError, match="column 'v': it holds list"):
        load(folder)


def test_options_that_cannot_apply_are_refused(tmp_path: Path, folder: Path) -> None:
    from gpcn import ConfigError, save

    save(load(folder), str(tmp_path / "g.npz"))
    with pytest.raises(ConfigError, match="has its own columns"):
        load(tmp_path / "g.npz", columns=Columns(undirected=True))
    with pytest.raises(ConfigError, match="the dataset texas has its own columns"):
        load("texas", columns=Columns(label="x"))


@pytest.mark.parametrize("nodes", [True, False])
def test_an_empty_end_of_an_edge_is_no_node(nodes: bool, folder: Path) -> None:
    (folder / "edges.csv").write_text("source,target\na,b\nb,\n  ,c\n")
    table, unknown = (folder / "nodes.csv" if nodes else None), ("add" if nodes else "error")
    with pytest.raises(
        DataError, match=r"2 edge\(s\) have an empty end, the first in line 3, column 'target'; expected"
    ):
        load(folder / "edges.csv", nodes=table, columns=Columns(unknown=unknown), require_labels=False)
    graph = load(folder / "edges.csv", nodes=table, columns=Columns(unknown="drop"), require_labels=False)
    assert graph.node_ids == (("a", "b", "c", "d") if nodes else ("a", "b", "c"))
    assert graph.edge_index.T.tolist() == [[0, 1]]
    assert "2 edge(s) with an end that is not among the nodes, such as '', were dropped" in graph.notes


def test_a_column_that_is_called_like_a_feature_of_the_links_is_refused(folder: Path) -> None:
    (folder / "nodes.csv").write_text("id,links: log in-degree,label\na,1,x\nb,2,y\nc,3,x\nd,4,y\n")
    with pytest.raises(DataError, match=r"nodes.csv: 1 column\(s\) are called like features .* 'links: log in-degree'"):
        load(folder)
    graph = load(folder, columns=PLAIN)
    assert graph.feature_names == ("links: log in-degree",)
    assert graph.features[:, 0].tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("names", [["15098306652243313190", "15098306652243313490"], ["7", "18446744073709551615"]])
def test_long_numbers_are_ids_to_the_letter_in_json_lines(names: list[str], tmp_path: Path) -> None:
    one, other = names
    (tmp_path / "nodes.jsonl").write_text(f'{{"id": {one}, "label": "p"}}\n{{"id": {other}, "label": "q"}}\n')
    (tmp_path / "edges.jsonl").write_text(f'{{"source": {one}, "target": {other}}}\n')
    graph = load(tmp_path)
    assert list(graph.node_ids or ()) == names
    assert graph.adjacency.toarray().tolist() == [[0, 1], [0, 0]]
    stranger = str(int(one) + 7)
    (tmp_path / "edges.jsonl").write_text(f'{{"source": {one}, "target": {stranger}}}\n')
    with pytest.raises(DataError, match=f"the first is '{stranger}'"):
        load(tmp_path)


def test_ids_that_look_like_dates_or_floats_are_texts_in_every_format(tmp_path: Path) -> None:
    (tmp_path / "nodes.jsonl").write_text('{"id": "2024-01-31", "label": "p"}\n{"id": "2024-02-01", "label": "q"}\n')
    (tmp_path / "edges.csv").write_text("source,target\n2024-01-31,2024-02-01\n")
    assert list(load(tmp_path).node_ids or ()) == ["2024-01-31", "2024-02-01"]
    (tmp_path / "nodes.jsonl").write_text('{"id": 12.0, "label": "p"}\n{"id": 3.25, "label": "q"}\n')
    (tmp_path / "edges.csv").write_text("source,target\n12,3.25\n")
    assert list(load(tmp_path).node_ids or ()) == ["12", "3.25"]


def test_codes_with_leading_zeros_are_levels_of_a_category_whatever_next_month_brings(tmp_path: Path) -> None:
    edges = "source,target\n" + "".join(f"{i},{(i + 1) % 12}\n" for i in range(12))
    rows = "".join(f"{i},{'pq'[i % 2]},{1 + i % 3:03d}\n" for i in range(12))
    (tmp_path / "edges.csv").write_text(edges)
    (tmp_path / "nodes.csv").write_text(f"id,label,branch\n{rows}")
    columns = Columns(structure="none")
    graph = load(tmp_path, columns=columns)
    levels = ["branch=001", "branch=002", "branch=003"]
    assert list(graph.feature_names or ()) == levels
    (tmp_path / "nodes.csv").write_text(f"id,label,branch\n{rows}".replace("0,p,001", "0,p,A1"))
    later = load(tmp_path, preparation=graph.preparation)
    np.testing.assert_array_equal(later.features[1:], graph.features[1:])
    assert not later.features[0].any()


def test_whole_floats_of_a_category_are_the_levels_of_whole_numbers(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("source,target\na,b\n")
    (tmp_path / "nodes.csv").write_text("id,label,shop\na,p,1.0\nb,q,2.0\nc,p,\n")
    graph = load(tmp_path, columns=Columns(structure="none", roles={"shop": "category"}))
    assert list(graph.feature_names or ()) == ["shop=1", "shop=2", "shop=(missing)"]
    for cells in (("1", "2"), ("1.0", "A1"), ("1", "2.0")):
        (tmp_path / "nodes.csv").write_text(f"id,label,shop\na,p,{cells[0]}\nb,q,{cells[1]}\n")
        assert load(tmp_path, preparation=graph.preparation).features[0].tolist() == [1, 0, 0]
