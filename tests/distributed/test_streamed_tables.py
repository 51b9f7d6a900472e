"""Any table is the same graph, whether it is streamed into parts or read into memory; or both ways refuse it."""

from __future__ import annotations

import csv
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpcn import Graph, load
from gpcn.core.errors import DataError
from gpcn.data.tables.columns import Columns
from gpcn.distributed.sharding.joined_tables import Tables
from gpcn.distributed.sharding.table_shards import shard_tables
from tests.distributed.equal_graphs import check_equal

pytest.importorskip("duckdb")
STREAMABLE = "is not prepared while tables are streamed"

IDS = st.one_of(
    st.integers(0, 40).map(str),
    st.integers(0, 40).map(lambda number: f"{number:03d}"),
    st.sampled_from(["#19", " a", "b ", "NA", "2024-01-31", "15098306652243313190", "a'b", 'q"q', "x,y", "é", "1.0"]),
)
CELLS = {
    "whole": st.integers(-3, 9).map(str),
    "real": st.sampled_from(["0.05", "0.45", "1", "2e3", "-7", " 3 ", "1.0"]),
    "code": st.sampled_from(["003", "017", "200", "001"]),
    "flag": st.sampled_from(["yes", "no", "Yes"]),
    "true": st.sampled_from(["true", "false"]),
    "word": st.sampled_from(["red", "Blue", " green", "#x", "NA or so"]),
    "day": st.sampled_from(["2024-01-31", "2023-02-28", "2020-02-29"]),
    "moment": st.sampled_from(["2024-01-31 10:00:00", "2023-02-28 23:59:59"]),
    "European day": st.sampled_from(["31.01.2024", "28.02.2023"]),
    "constant": st.just("DE"),
    "odd": st.sampled_from(["1", "2", "x"]),
}
ABSENT = st.sampled_from(["", "NA", "n/a", "?", " "])


@st.composite
def tables(draw: st.DrawFn) -> dict[str, Any]:
    """Cells of a table of nodes and one of edges, with the options they are read with."""
    ids = draw(st.lists(IDS, min_size=4, max_size=24, unique_by=str.strip))
    count = len(ids)

    def column(kind: str) -> list[str]:
        share = draw(st.sampled_from([0, 0, 3]))
        cell = st.one_of(CELLS[kind], *([ABSENT] if share else []))
        return draw(st.lists(cell, min_size=count, max_size=count))

    kinds = draw(st.lists(st.sampled_from(sorted(CELLS)), max_size=4, unique=True))
    nodes = {"id": ids, "label": [("p", "q")[i % 2] for i in range(count)]}
    nodes["split"] = [
        ("train", "Val", "test", "")[i % 4] if i > 2 else ("train", "val", "test")[i] for i in range(count)
    ]
    nodes |= {f"a {kind}": column(kind) for kind in kinds}
    ends = st.sampled_from([*ids, *draw(st.lists(st.just("stranger"), max_size=1))])
    size = draw(st.integers(1, 40))
    edges = {name: draw(st.lists(ends, min_size=size, max_size=size)) for name in ("source", "target")}
    if draw(st.booleans()):
        weights = st.sampled_from(["1", "0.25", "2", "1e1", "003"])
        edges["weight"] = draw(st.lists(weights, min_size=size, max_size=size))
    roles = {f"a {kind}": "category" for kind in kinds if draw(st.integers(0, 4)) == 0}
    options = {
        "undirected": draw(st.booleans()),
        "unknown": draw(st.sampled_from(["error", "drop"])),
        "scale": draw(st.sampled_from(["robust", "standard", "none"])),
        "roles": roles,
    }
    return {"nodes": nodes, "edges": edges, "options": options, "kind": draw(st.sampled_from(["csv", "parquet"]))}


def written(folder: Path, stem: str, columns: dict[str, list[str]], kind: str) -> list[Path]:
    """One table in one file, which is what reading into memory takes."""
    path = folder / f"{stem}.{kind}"
    if kind == "parquet":
        pq.write_table(pa.table(columns), path)
    else:
        with path.open("w", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
    return [path]


def both_ways(folder: Path, drawn: dict[str, Any]) -> tuple[Graph | str, Graph | str]:
    """The graph in memory and the one of parts, or why there is none."""
    files = {stem: written(folder, stem, drawn[stem], drawn["kind"]) for stem in ("edges", "nodes")}
    columns = Columns(structure="none", **drawn["options"])
    graphs: list[Graph | str] = []
    try:
        graphs.append(load(files["edges"][0], nodes=files["nodes"][0], columns=columns))
    except DataError as error:
        graphs.append(str(error))
    try:
        shard_tables(Tables(files["edges"], files["nodes"], columns, "edges"), folder / "parts", 2, memory="300MB")
        graphs.append(load(folder / "parts"))
    except DataError as error:
        graphs.append(str(error))
    return graphs[0], graphs[1]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(tables())
def test_any_table_is_one_graph(drawn: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        whole, streamed = both_ways(Path(folder), drawn)
    if isinstance(streamed, str) and STREAMABLE in streamed:
        return
    assert isinstance(whole, str) == isinstance(streamed, str), (whole, streamed)
    if isinstance(whole, Graph) and isinstance(streamed, Graph):
        check_equal(whole, streamed)


def shard_csv(folder: Path, edges: str, nodes: str, **options: Any) -> tuple[Graph, Graph, list[str]]:
    """Two tables as text: in memory, of parts, and what was said of the parts."""
    (folder / "edges.csv").write_text(edges)
    (folder / "nodes.csv").write_text(nodes)
    columns, notes = Columns(structure="none", **options), list[str]()
    whole = load(folder, columns=columns)
    tables = Tables([folder / "edges.csv"], [folder / "nodes.csv"], columns, "mine")
    shard_tables(tables, folder / "parts", 2, note=notes.append)
    return whole, load(folder / "parts"), notes


def test_decimals_that_come_after_many_whole_numbers_are_kept(tmp_path: Path) -> None:
    rows, whole = 40_000, 30_000
    ratios = ["1" if i < whole else ("0.05", "0.45")[i % 2] for i in range(rows)]
    splits = [("train", "val", "test")[i % 3] for i in range(rows)]
    nodes = "".join(f"{i},{'pq'[i % 2]},{splits[i]},{ratios[i]}\n" for i in range(rows))
    edges = "".join(f"{i},{(i + 1) % rows},{2 if i < whole else 0.3}\n" for i in range(rows))
    one, other, _ = shard_csv(
        tmp_path, f"source,target,weight\n{edges}", f"id,label,split,ratio\n{nodes}", scale="none"
    )
    assert other.adjacency.sum() == pytest.approx(2 * whole + 0.3 * (rows - whole))
    assert set(np.unique(other.features)) == {np.float32(1), np.float32(0.05), np.float32(0.45)}
    check_equal(one, other)


def test_lines_of_ids_that_begin_with_a_hash_are_no_comments(tmp_path: Path) -> None:
    nodes = "".join(f"#{i},{'pq'[i % 2]},{('train', 'val', 'test')[i % 3]}\n" for i in range(30))
    edges = "".join(f"#{i},#{(i + 1) % 30}\n" for i in range(30))
    one, other, _ = shard_csv(tmp_path, f"source,target\n{edges}", f"id,label,split\n{nodes}")
    assert other.num_nodes == 30
    check_equal(one, other)


def test_edges_that_are_dropped_while_streaming_are_counted(tmp_path: Path) -> None:
    nodes = "id,label,split\na,p,train\nb,q,val\nc,p,test\n"
    edges = "source,target\na,b\nb,who\nb,c\nwhat,a\na,b\n"
    one, other, notes = shard_csv(tmp_path, edges, nodes, unknown="drop")
    check_equal(one, other)
    assert notes == [
        "2 edge(s) with an end that is not among the nodes were dropped",
        "1 edge(s) listed more than once were counted once",
    ]
    words = ["shard", str(tmp_path / "edges.csv"), "--nodes", str(tmp_path / "nodes.csv"), "--structure", "none"]
    words += ["--unknown", "drop", "--memory", "300MB", "--parts", "2", "--out", str(tmp_path / "again")]
    command = [sys.executable, "-m", "gpcn", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "note: 2 edge(s) with an end that is not among the nodes were dropped" in " ".join(done.stdout.split())
    assert "nanobind" not in done.stderr


def test_codes_keep_their_zeros_in_parts_and_in_memory(tmp_path: Path) -> None:
    nodes = "".join(f"{i},{'pq'[i % 2]},{('train', 'val', 'test')[i % 3]},{1 + i % 4:03d}\n" for i in range(24))
    edges = "".join(f"{i},{(i + 1) % 24}\n" for i in range(24))
    one, other, _ = shard_csv(tmp_path, f"source,target\n{edges}", f"id,label,split,branch\n{nodes}")
    assert list(other.feature_names or ()) == [f"branch=00{number}" for number in (1, 2, 3, 4)]
    check_equal(one, other)


def test_files_of_one_table_have_the_same_columns_in_any_order(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("source,target\na,b\nb,c\n")
    (tmp_path / "nodes-1.csv").write_text("id,label,split,x\na,p,train,1\nb,q,val,2\n")
    (tmp_path / "nodes-2.csv").write_text("x,split,label,id\n0.5,test,p,c\n")
    nodes = [tmp_path / "nodes-1.csv", tmp_path / "nodes-2.csv"]
    columns = Columns(structure="none", scale="none")
    shard_tables(Tables([tmp_path / "edges.csv"], nodes, columns, "mine"), tmp_path / "parts", 1)
    assert load(tmp_path / "parts").features.ravel().tolist() == [1, 2, 0.5]
    nodes[1].write_text("id,label,split,y\nc,p,test,1\n")
    with pytest.raises(DataError, match=r"nodes-2\.csv and .*nodes-1\.csv have different columns, such as 'x'"):
        shard_tables(Tables([tmp_path / "edges.csv"], nodes, columns, "mine"), tmp_path / "other", 1)


def test_numbers_of_two_kinds_of_nodes_are_not_taken_for_one_while_streaming(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("user_id,merchant_id\n1,2\n2,3\n")
    (tmp_path / "nodes.csv").write_text("user_id,label,split\n1,p,train\n2,q,val\n3,p,test\n")
    columns = Columns(source="user_id", target="merchant_id", id="user_id", structure="none")
    tables = Tables([tmp_path / "edges.csv"], [tmp_path / "nodes.csv"], columns, "mine")
    with pytest.raises(DataError, match="'merchant_id' seems to name another kind of node"):
        shard_tables(tables, tmp_path / "parts", 1)


def test_a_row_too_long_to_be_streamed_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpcn.data.tables.delimited.BLOCK", 1 << 16)
    (tmp_path / "edges.csv").write_text("source,target\na,b\nb,c\n")
    (tmp_path / "nodes.csv").write_text(f"id,label,split,note\na,p,train,{'x' * 300_000}\nb,q,val,y\nc,p,test,z\n")
    columns = Columns(structure="none", roles={"note": "drop"})
    assert load(tmp_path, columns=columns).num_nodes == 3
    tables = Tables([tmp_path / "edges.csv"], [tmp_path / "nodes.csv"], columns, "mine")
    with pytest.raises(DataError, match=r"nodes\.csv holds a row of more than 65\.5 KB, too long to be read"):
        shard_tables(tables, tmp_path / "parts", 1)
