"""Inputs that once ended in a traceback, a hang or a silent loss: one sentence each, with exit code 2."""

from __future__ import annotations

import io
import json
import os
import re
import struct
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gpcn import Columns, DataError, load, synthesize
from gpcn.core.errors import CapacityError
from gpcn.data.archives import read_npz
from gpcn.data.tables.tables_out import write_graph_tables
from tests.faults.commands import refused, run_command

GRAPH_OPTIONS = {"nodes": 60, "degree": 4}


def tables(folder: Path, edges: str, nodes: str) -> tuple[Path, Path]:
    (folder / "e.csv").write_text(edges)
    (folder / "n.csv").write_text(nodes)
    return folder / "e.csv", folder / "n.csv"


EDGES = "source,target\na,b\nb,c\nc,a\n"


# numbers of thousands of digits


def test_a_label_of_5000_digits_is_a_label_like_any_other(tmp_path: Path) -> None:
    long = "9" * 5000
    edges, nodes = tables(tmp_path, EDGES, f"id,label\na,10\nb,{long}\nc,-3\n")
    graph = load(edges, nodes=nodes)
    assert graph.label_names == ("-3", "10", long)


def test_whole_numbers_are_ordered_by_size(tmp_path: Path) -> None:
    rows = "".join(f"{name},{label}\n" for name, label in zip("abcdefg", (10, -10, 9, -9, 0, 100, 1), strict=True))
    edges, nodes = tables(tmp_path, "source,target\na,b\nb,c\n", "id,label\n" + rows)
    assert load(edges, nodes=nodes).label_names == ("-10", "-9", "0", "1", "9", "10", "100")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (f"hidden = {'9' * 5000}\n", "is not a TOML file"),
        (f"hidden = {'9' * 4000}\n", "hidden is a number of about 3... digits; expected a whole number from 1"),
        ("cls = 1\n", "gpcn has no hyperparameter 'cls'"),
        ("x = " + "[" * 5000 + "]" * 5000 + "\n", "is nested too deeply"),
        ("self = 1\n", "gpcn has no hyperparameter 'self'"),
        ('"model " = 1\n', "gpcn has no hyperparameter 'model '"),
        ("model = 3\n", "model is 3; expected a name"),
        ("seed = 1e400\n", "seed is inf; expected a whole number"),
        ("a = 1\n" * 200_000, "has 1,200,000 bytes, too many for settings"),
    ],
)
def test_hostile_settings_files_are_refused(content: str, sentence: str, graph_file: Path, tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(content)
    assert re.search(sentence, refused("train", graph_file, "--config", tmp_path / "c.toml"))


def test_hostile_column_files_are_refused(graph_file: Path, tmp_path: Path) -> None:
    for content in ("x = " + "[" * 5000 + "]" * 5000, f"scale = {'9' * 5000}"):
        (tmp_path / "c.toml").write_text(content)
        assert "c.toml" in refused("inspect", graph_file, "--columns", tmp_path / "c.toml")


# tables


def test_an_endless_name_in_a_header_is_refused(tmp_path: Path) -> None:
    edges, nodes = tables(tmp_path, EDGES, f"id,label,{'x' * 140_000}\na,1,1\nb,2,1\nc,1,1\n")
    assert "has a header that cannot be read" in refused("inspect", edges, "--nodes", nodes)


@pytest.mark.parametrize("ending", [".csv.gz", ".csv.zst", ".jsonl.bz2"])
def test_reading_stops_where_a_table_unpacks_to_more_than_memory(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = {"csv": (b"source,target\n", b"a,b\n"), "jsonl": (b"", b'{"source": "a", "target": "b"}\n')}
    first, line = lines[ending.split(".")[1]]
    packing = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}.get(Path(f"x{ending}").suffix)
    with pa.output_stream(str(tmp_path / f"e{ending}"), compression=packing) as stream:
        stream.write(first + line * (20_000_000 // len(line)))
    monkeypatch.setenv("GPCN_MEMORY", "30M")
    with pytest.raises(
        CapacityError, match=r"are read, needs about .* is available; read fewer rows, or .* shard\(memory\)"
    ):
        load(tmp_path / f"e{ending}", require_labels=False)


@pytest.mark.parametrize("ending", [".parquet", ".jsonl"])
def test_lists_of_lists_are_refused(ending: str, tmp_path: Path) -> None:
    table = pa.table({"id": ["a", "b"], "label": ["p", "q"], "m": [[[1.0], [2.0]], [[3.0]]]})
    (tmp_path / "edges.csv").write_text("source,target\na,b\n")
    if ending == ".parquet":
        pq.write_table(table, tmp_path / "nodes.parquet")
    else:
        (tmp_path / "nodes.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in table.to_pylist()))
    with pytest.raises(DataError, match=r"column 'm': it holds lists of list.*leave it out with roles={'m': 'drop'}"):
        load(tmp_path)
    with pytest.raises(DataError, match=r"column 'm': it holds lists of list"):
        load(tmp_path, columns=Columns(roles={"m": "tags"}))


def test_a_cell_longer_than_what_is_read_at_once_is_read(tmp_path: Path) -> None:
    edges, nodes = tables(tmp_path, EDGES, f"id,label,note\na,p,{'x' * 40_000_000}\nb,q,y\nc,p,z\n")
    assert load(edges, nodes=nodes, columns=Columns(roles={"note": "drop"})).num_nodes == 3


def test_rows_that_go_on_in_the_next_line_are_read_wherever_they_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpcn.data.tables.delimited.BLOCK", 1 << 10)
    rows = "".join(f'{i},{"pq"[i % 2]},"note, {i}\n{i},q,more"\n' for i in range(400))
    links = "".join(f"{i},{(i + 1) % 400}\n" for i in range(400))
    edges, nodes = tables(tmp_path, f"source,target\n{links}", f"id,label,note\n{rows}")
    assert load(edges, nodes=nodes, columns=Columns(roles={"note": "drop"})).num_nodes == 400


def test_parquet_columns_without_a_name_or_with_dots_are_read(tmp_path: Path) -> None:
    edges, _ = tables(tmp_path, EDGES, "")
    nodes = {"id": ["a", "b", "c"], "label": ["x", "y", "x"], "": [1.0, 2.0, 4.0], "a.b": [1.0, 2.0, 5.0]}
    pq.write_table(pa.table(nodes), tmp_path / "n.parquet")
    graph = load(edges, nodes=tmp_path / "n.parquet")
    assert "a.b" in (graph.feature_names or ())
    assert run_command("inspect", edges, "--nodes", tmp_path / "n.parquet").code == 0
    pq.write_table(pa.table({"": ["a", "b", "c"], "label": ["x", "y", "x"]}), tmp_path / "n.parquet")
    assert load(edges, nodes=tmp_path / "n.parquet").node_ids == ("a", "b", "c")


def test_edges_without_a_header_are_noticed(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("alice,bob\nbob,carol\ncarol,alice\n")
    assert "has no header: its first line, 'alice' and 'bob', names two nodes" in refused("inspect", tmp_path / "e.csv")
    (tmp_path / "e.csv").write_text("payer,payee\nbob,carol\ncarol,alice\n")
    graph = load(tmp_path / "e.csv", require_labels=False)
    assert any("from column 'payer' to column 'payee', the first two" in note for note in graph.notes)
    named = load(tmp_path / "e.csv", columns=None, require_labels=False)
    assert named.num_edges == 2


def test_weights_that_32_bits_cannot_hold_are_refused(tmp_path: Path) -> None:
    edges, nodes = tables(tmp_path, "source,target,weight\na,b,1e-60\nb,c,1\n", "id,label\na,1\nb,2\nc,1\n")
    assert "too small for 32-bit numbers, the first is 1e-60" in refused("inspect", edges, "--nodes", nodes)


# archives


def member(shape: str, body: bytes = b"", descr: str = "<f8") -> bytes:
    head = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + body


def archive(**members: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as target:
        for name, content in members.items():
            target.writestr(f"{name}.npy", content)
    return stream.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        member("(4611686018427387904, 4)"),
        member("(-1,)", b"\0" * 8),
        member("(-2, -3)", b"\0" * 48),
        member(f"({'1, ' * 100})", b"\0" * 8),
        member("(2, 3)", b"\0" * 40),
        member("(0, 9223372036854775807)"),
        member("(True,)", b"\0" * 8),
        member("(1.5,)", b"\0" * 8),
        member("'x'"),
        member("(2,)", b"\0" * 16, descr="<x8"),
        member("(2,)", b"\0" * 16, descr="|O"),
        member(f"({'(' * 500}"),
        b"\x93NUMPY\x01\x00\xff\xff{",
        b"\x93NUMPY\x09\x00",
        b"",
    ],
)
def test_crafted_arrays_are_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "g.npz").write_bytes(archive(meta=content, labels=content))
    with pytest.raises(DataError):
        read_npz(tmp_path / "g.npz", "g.npz")
    assert "g.npz" in refused("inspect", tmp_path / "g.npz")


@pytest.mark.parametrize("key", ["labels", "adjacency.indptr", "features", "splits", "meta"])
@pytest.mark.parametrize("value", [np.float64(3), np.array(7), np.zeros((2, 2, 2)), np.array(["a"]), np.array([2**63])])
def test_arrays_of_another_form_are_refused(key: str, value: np.ndarray, graph_file: Path, tmp_path: Path) -> None:
    arrays = read_npz(graph_file, "g")
    np.savez(tmp_path / "g.npz", **(arrays | {key: np.asarray(value)}))
    assert "g.npz" in refused("inspect", tmp_path / "g.npz")


def test_scalars_in_a_benchmark_archive_are_refused(tmp_path: Path) -> None:
    plain = {"edges": np.array([[0, 1]]), "node_features": np.eye(2), "node_labels": np.array([0, 1])}
    for key in plain:
        np.savez(tmp_path / "b.npz", **(plain | {key: np.array(3)}))
        assert "b.npz" in refused("inspect", tmp_path / "b.npz")


# names and kinds of files


def test_pipes_are_refused_instead_of_waited_for(graph_file: Path, tmp_path: Path) -> None:
    for name in ("p.csv", "p.npz", "p.graphml", "p.parquet", "p.jsonl", "p.edges", "p.toml"):
        os.mkfifo(tmp_path / name)
        if name == "p.toml":
            assert "is a pipe" in refused("train", graph_file, "--config", tmp_path / name)
            assert "is a pipe" in refused("inspect", graph_file, "--columns", tmp_path / name)
            continue
        assert "is a pipe" in refused("inspect", tmp_path / name)
        with pytest.raises(DataError, match="is a pipe"):
            load(tmp_path / name)
    edges, _ = tables(tmp_path, EDGES, "")
    assert "is a pipe" in refused("inspect", edges, "--nodes", tmp_path / "p.csv")


def test_names_that_are_not_utf8_are_refused_by_load_too(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is not UTF-8 text"):
        load(tmp_path / "caf\udce9.csv")
    with pytest.raises(DataError, match="holds a NUL character"):
        load("a\0b.csv")


# settings


@pytest.mark.parametrize(
    ("model", "setting", "sentence"),
    [
        ("gpcn", "hidden=100000000", "hidden is '100000000'; expected a whole number from 1 to 65,536"),
        ("gpcn", "layers=100000000", "expected a whole number from 1 to 1,000"),
        ("gpcn", "gamma=1e300", "expected a number from -1,000,000 to 1,000,000"),
        ("h2gcn", "layers=40", "expected a whole number from 1 to 10"),
        ("mixhop", "layers=100000", "to 1,000"),
        ("gcnii", "layers=100000", "to 1,000"),
        ("gode", "layers=100000", "to 1,000"),
        ("adagpr", "layers=100000", "to 1,000"),
        ("adagpr", "hops=100000", "to 100"),
        ("gpcn", "epochs=99999999999999999999", "expected a whole number from 2"),
        ("gpcn", "operators=out-row^" + "9" * 5000, "is unknown"),
        ("gpcn", "cls=1", "gpcn has no hyperparameter 'cls'"),
        ("gpcn", "seed=" + "9" * 5000, "expected a whole number from 0"),
    ],
)
def test_absurd_settings_are_refused_at_once(model: str, setting: str, sentence: str, graph_file: Path) -> None:
    assert sentence in refused("train", graph_file, "--model", model, "--set", setting)


def test_coefficients_beyond_all_numbers_are_refused(graph_file: Path) -> None:
    words = ("--set", "gamma=1e6", "--set", "layers=1000", "--set", "epochs=2")
    for more in ((), ("--set", "coefficients=printed")):
        assert "gives coefficients beyond all numbers" in refused("train", graph_file, *words, *more)


def test_a_solver_that_gives_up_says_so(graph_file: Path) -> None:
    pytest.importorskip("torchdiffeq")
    words = ("--model", "gode", "--set", "gamma=-1e6", "--set", "solver=dopri5", "--set", "epochs=2")
    assert "the solver dopri5 cannot follow the equation" in refused("train", graph_file, *words)


@pytest.mark.parametrize("budget", ["99999999999999h", "9" * 400 + "s", "0.0001s", "1e5", "", "0s", "367m" + "h"])
def test_absurd_budgets_are_refused_before_anything_starts(budget: str, graph_file: Path, tmp_path: Path) -> None:
    out = ("--out", tmp_path / "r")
    assert "--budget is" in refused("train", graph_file, "--model", "auto", "--budget", budget, *out)
    assert "--budget is" in refused("tune", graph_file, "--budget", budget, *out)
    assert not (tmp_path / "r").exists()


def test_too_many_splits_are_refused(graph_file: Path) -> None:
    assert "expected at most 10,000" in refused("train", graph_file, "--random-splits", 100_000_000)
    assert "expected at most 10,000" in refused("convert", graph_file, "--folds", 10**9, "--out", "x.npz")
    assert "cannot be read" in refused("train", graph_file, "--splits", "9" * 5000)
    assert "cannot be read" in refused("train", graph_file, "--splits", "")


def test_seeds_keep_every_digit() -> None:
    from gpcn import TrainConfig

    assert TrainConfig.of(seed="9007199254740993").seed == 2**53 + 1


# folders


def test_a_folder_between_two_graphs_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kill between the renames of `convert` over an existing folder."""
    first, second = synthesize(nodes=30, degree=4, seed=1), synthesize(nodes=30, degree=4, seed=2)
    write_graph_tables(first, tmp_path / "f")
    real, renamed = os.replace, []

    class Killed(BaseException):
        pass

    def replace_until(source: str, target: Path) -> None:
        if len(renamed) == stop:
            raise Killed
        renamed.append(target)
        real(source, target)

    monkeypatch.setattr(os, "replace", replace_until)
    for stop in range(4):
        renamed.clear()
        with pytest.raises(Killed):
            write_graph_tables(second, tmp_path / "f")
        if stop == 0:
            assert load(tmp_path / "f").equals(first)
        else:
            with pytest.raises(DataError, match="holds parts of two graphs"):
                load(tmp_path / "f")
    monkeypatch.setattr(os, "replace", real)
    write_graph_tables(second, tmp_path / "f")
    assert load(tmp_path / "f").equals(second)
    assert sorted(path.name for path in (tmp_path / "f").iterdir()) == ["edges.csv", "graph.json", "nodes.csv"]


def test_titles_of_many_features_are_made_at_once_and_too_many_are_refused(graph_file: Path, tmp_path: Path) -> None:
    import scipy.sparse as sp

    from gpcn import Graph
    from gpcn.data.tables.tables_out import feature_column_titles

    wide = Graph(adjacency=sp.eye_array(3), features=sp.csr_array((3, 450_000)), labels=np.array([0, 1, 0]))
    assert len(set(feature_column_titles(wide))) == 450_000
    with pytest.raises(DataError, match="450,000 features.*write a .npz instead"):
        write_graph_tables(wide, tmp_path / "f")
    odd = Graph(
        adjacency=sp.eye_array(2), features=np.eye(2, 3), labels=np.array([0, 1]), feature_names=["feature_1", "", "id"]
    )
    assert len(set(feature_column_titles(odd))) == 3


def test_leftovers_of_killed_writers_are_removed(tmp_path: Path) -> None:
    from gpcn.core.atomic import replacing

    leftover = tmp_path / ".x.npz.abcdefgh.tmp"
    leftover.write_bytes(b"half")
    other = tmp_path / ".y.npz.abcdefgh.tmp"
    other.write_bytes(b"of another file")
    with replacing(tmp_path / "x.npz") as outer:
        outer.write(b"1")
        assert not leftover.exists()
        (living,) = tmp_path.glob(".x.npz.*.tmp")
        with replacing(tmp_path / "x.npz") as inner:
            inner.write(b"2")
        assert living.exists()  # its writer is at work
    assert (tmp_path / "x.npz").read_bytes() == b"1"
    assert sorted(path.name for path in tmp_path.iterdir()) == [".y.npz.abcdefgh.tmp", "x.npz"]
