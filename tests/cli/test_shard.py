"""`gpcn shard`: what it writes, says and refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpcn import synthesize
from gpcn.data import native
from gpcn.data.parts.manifest import Manifest
from tests.commands import in_process


def test_a_graph_file_is_divided_and_the_same_command_succeeds_again(tmp_path: Path) -> None:
    native.write(synthesize(nodes=50, splits=1, features=3, seed=0), tmp_path / "g.npz")
    words = ("shard", tmp_path / "g.npz", "--parts", 3, "--out", tmp_path / "parts")
    answer = in_process(*words, "--json")
    assert answer.returncode == 0, answer.stderr
    facts = json.loads(answer.stdout)
    assert (facts["parts"], facts["nodes"], facts["splits"]) == (3, 50, 1)
    assert Manifest.read(tmp_path / "parts").graph.source.graph == str(tmp_path / "g.npz")
    assert "in 3 part(s)" in in_process(*words).stdout
    answer = in_process(*words[:-1], tmp_path)
    assert answer.returncode == 2
    assert "holds something else, such as" in answer.stderr
    answer = in_process("shard", tmp_path / "g.npz", "--parts", 51, "--out", tmp_path / "more")
    assert "51 part(s) cannot be made of 50 nodes; expected 1 to 50" in answer.stderr


def test_many_files_are_streamed(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    for number in range(2):
        rows = [f"{i},{(i * 7 + number) % 20},1" for i in range(20)]
        (tmp_path / f"edges-{number}.csv").write_text("source,target,weight\n" + "\n".join(rows) + "\n")
    nodes = [f"{i},{i % 2},{i * 0.5},{('train', 'val', 'test')[i % 3]}" for i in range(20)]
    (tmp_path / "nodes.csv").write_text("id,label,age,split\n" + "\n".join(nodes) + "\n")
    words = (
        "shard",
        f"{tmp_path}/edges-*.csv",
        "--nodes",
        tmp_path / "nodes.csv",
        "--parts",
        2,
        "--out",
        tmp_path / "p",
    )
    assert "add --structure none" in in_process(*words).stderr
    answer = in_process(*words, "--structure", "none", "--memory", "300MB", "--json")
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout)["links"] == 40
    assert "add a column that says train, val or test" in in_process(*words, "--random-splits", 2).stderr
