"""Projects that are moved, and folders that would hold two things."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace as with_fields

from gpcn import ConfigError, TrainConfig, synthesize
from gpcn.data.graph_record import GraphSource
from gpcn.data.tables.tables_out import write_graph_tables
from gpcn.runs.run import Run
from gpcn.runs.training import train
from gpcn.search.ledger import Ledger
from gpcn.search.schedule import Plan
from gpcn.search.space import Space
from gpcn.search.study_header import study_header
from tests.faults.commands import refused, run_command

SETTINGS = ("--model", "gpcn", "--set", "hidden=4", "--set", "epochs=4", "--set", "bias=false", "--jobs", "1")
SETTINGS += ("--random-splits", "2")


def trained(project: Path) -> Path:
    """A project with two tables and a run."""
    write_graph_tables(synthesize(nodes=60, classes=2, degree=4, splits=0), project / "data")
    assert train_again(project) == 0
    return project / "runs" / "mine"


def train_again(project: Path) -> int:
    data = project / "data"
    words = ("train", data / "edges.csv", "--nodes", data / "nodes.csv", *SETTINGS)
    return run_command(*words, "--out", project / "runs" / "mine").code


def test_a_run_follows_its_graph(tmp_path: Path) -> None:
    trained(tmp_path / "before")
    shutil.move(tmp_path / "before", tmp_path / "after")
    run = tmp_path / "after" / "runs" / "mine"
    answer = run_command("predict", run, "--out", tmp_path / "p.csv", "--json")
    assert answer.code == 0, answer.stderr
    assert json.loads(answer.stdout)["new_nodes"] == 0
    assert train_again(tmp_path / "after") == 0
    source = Run.open(run).graph.source
    assert source.graph == str(tmp_path / "after" / "data" / "edges.csv")
    assert source.nodes == str(tmp_path / "after" / "data" / "nodes.csv")


def test_a_report_and_a_bound_are_told_where_the_tables_are_now(tmp_path: Path) -> None:
    run = trained(tmp_path)
    shutil.move(tmp_path / "data", tmp_path / "elsewhere")
    page, here = tmp_path / "page.html", tmp_path / "elsewhere"
    moved = ("--graph", here / "edges.csv", "--nodes", here / "nodes.csv")
    assert run_command("report", run, "--out", page).code == 0
    assert "name them with --graph and --nodes" in page.read_text()
    answer = run_command("report", run, "--out", page, *moved, "--json")
    assert [section["kind"] for section in json.loads(answer.stdout)["sections"]] == ["graph", "run"]
    assert "cannot be loaded" not in page.read_text()
    assert run_command("bound", run, *moved).code == 0
    assert "is no run" in refused("bound", here, *moved)


def test_a_study_follows_its_graph(tmp_path: Path) -> None:
    graph = synthesize(nodes=60, classes=2, splits=1)
    plan, space = Plan.of([0], 9), Space.of(["gpcn"])
    (tmp_path / "study").mkdir()
    for location in ("first", "second"):
        source = GraphSource(graph=str(tmp_path / location / "g.npz"))
        about = study_header(graph, space, plan, seed=0, source=source)
        assert Ledger.create(tmp_path / "study", about).graph.source.graph == source.graph
    with pytest.raises(ConfigError, match="holds another study .its seed differ"):
        Ledger.create(tmp_path / "study", with_fields(about, seed=1))


def test_a_study_and_a_run_do_not_share_a_folder(tmp_path: Path) -> None:
    graph = synthesize(nodes=60, classes=2, splits=1)
    about = study_header(graph, Space.of(["gpcn"]), Plan.of([0], 9), seed=0, source=None)
    config = TrainConfig.of("gpcn", hidden=4, epochs=3)
    train(graph, config, out=tmp_path / "run", jobs=1)
    with pytest.raises(ConfigError, match="holds a run; choose another out"):
        Ledger.create(tmp_path / "run", about)
    (tmp_path / "study").mkdir()
    Ledger.create(tmp_path / "study", about)
    with pytest.raises(ConfigError, match="holds a study; choose another out"):
        train(graph, config, out=tmp_path / "study", jobs=1)
