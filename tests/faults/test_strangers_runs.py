"""Runs and studies that somebody else made: what they say of their graph is not opened unasked."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import gpcn
from gpcn import ConfigError, TrainConfig, save
from gpcn.data.graph_record import GraphSource
from gpcn.data.tables.tables_out import write_graph_tables
from gpcn.runs.run import Run
from gpcn.runs.training import train
from tests.commands import TINY, document, in_process
from tests.distributed.object_store import ObjectStore, object_store
from tests.graphs import named_graph
from tests.sealing import resealed

GRAPH = named_graph()
CONFIG = TrainConfig.of("gpcn-link", hidden=8, epochs=4)


@pytest.fixture(scope="module")
def store() -> Iterator[ObjectStore]:
    with object_store() as running:
        yield running


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = tmp_path_factory.mktemp("project")
    save(GRAPH, project / "graph.npz")
    train(GRAPH, CONFIG, out=project / "run", source=GraphSource.of(project / "graph.npz"))
    return project


@pytest.fixture
def project(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "project"))


def with_source(run: Path, file: str = "config.json", **source: Any) -> Path:
    """The run, which from now on says that its graph came from there."""
    resealed(run / file, lambda payload: payload["graph"].update(source={"nodes": None, **source}))
    return run


def strange_url(store: ObjectStore) -> str:
    return f"s3://bucket/x?scheme=http&endpoint_override=127.0.0.1:{store.server_address[1]}"


def refused(*words: object) -> str:
    """The sentence that a command ends with, after the steps it may have told of."""
    answer = in_process(*words)
    *_, sentence = answer.stderr.splitlines()
    assert answer.returncode == 2, answer.stdout + answer.stderr
    assert sentence.startswith("error: ")
    return sentence


COMMANDS: dict[str, Callable[[Path, Path], tuple[object, ...]]] = {
    "predict": lambda run, out: ("predict", run, "--out", out / "p.csv"),
    "predict, unknown ends": lambda run, out: ("predict", run, "--unknown", "drop", "--out", out / "p.csv"),
    "explain": lambda run, out: ("explain", run, "--node", "n1"),
    "export": lambda run, out: ("export", run, "--out", out / "exported"),
    "bound": lambda run, out: ("bound", run),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_url_that_a_run_names_is_not_connected_to(
    command: str, project: Path, store: ObjectStore, tmp_path: Path
) -> None:
    run = with_source(project / "run", graph=strange_url(store))
    store.requests.clear()
    said = refused(*COMMANDS[command](run, tmp_path))
    assert store.requests == []
    assert "s3://bucket/x, which lies neither below nor beside it and so is not opened unasked" in said
    assert "name it with --graph" in said
    assert "endpoint_override" not in said
    answer = in_process(*COMMANDS[command](run, tmp_path), "--graph", project / "graph.npz")
    assert answer.returncode == 0 or "leave out --nodes and the options that name columns" in answer.stderr


def test_a_report_shows_a_strangers_run_without_its_graph(project: Path, store: ObjectStore, tmp_path: Path) -> None:
    run, page = with_source(project / "run", graph=strange_url(store)), tmp_path / "page.html"
    store.requests.clear()
    kinds = [section["kind"] for section in document("report", run, "--out", page)["sections"]]
    assert store.requests == []
    assert kinds == ["run"]
    assert "is not opened unasked" in page.read_text()
    named = document("report", run, "--out", page, "--graph", project / "graph.npz")
    assert [section["kind"] for section in named["sections"]] == ["graph", "run"]


def test_a_study_of_a_stranger_connects_to_nothing(tmp_path: Path, store: ObjectStore) -> None:
    pytest.importorskip("optuna")
    save(GRAPH, tmp_path / "graph.npz")
    study = tmp_path / "study"
    settings = ("--model", "sgc", "--budget", 2, "--generation", 2, "--set", "epochs=3", "--jobs", 1)
    document("tune", tmp_path / "graph.npz", *settings, "--out", study)
    with_source(study, "study.json", graph=strange_url(store))
    store.requests.clear()
    said = refused("tune", "--resume", study)
    assert "name it with --graph" in said
    with pytest.raises(ConfigError, match="not opened unasked"):
        gpcn.open_run(study).train_best(tmp_path / "run")
    assert in_process("report", study, "--out", tmp_path / "page.html").returncode == 0
    assert store.requests == []
    assert document("tune", "--resume", study, "--graph", tmp_path / "graph.npz")["configurations"] == 2
    assert "for --resume" in refused("tune", tmp_path / "graph.npz", "--out", study, "--graph", tmp_path / "graph.npz")


@pytest.mark.parametrize("key", ["graph", "nodes"])
@pytest.mark.parametrize("far", ["/etc/hostname", "//host/share/g.npz", "/dev/stdin", "https://host/g.npz"])
def test_files_far_from_a_run_are_not_opened(key: str, far: str, project: Path, tmp_path: Path) -> None:
    source = {"graph": str(project / "graph.npz")} | {key: far}
    with_source(project / "run", **source, beside={key: os.path.relpath("/etc/hostname", project / "run")})
    with pytest.raises(ConfigError, match="neither below nor beside it"):
        gpcn.open_run(project / "run").predict()


def test_a_link_below_a_run_does_not_lead_away_from_it(project: Path) -> None:
    (project / "run" / "graph.npz").symlink_to("/etc/hostname")
    with_source(project / "run", graph=str(project / "run" / "graph.npz"))
    with pytest.raises(ConfigError, match="neither below nor beside it"):
        gpcn.open_run(project / "run").predict()


@pytest.mark.parametrize(
    ("location", "run", "expected"),
    [
        ("/home/me/runs/mine/graph.npz", "/home/me/runs/mine", True),
        ("/home/me/payments.csv", "/home/me/runs/mine", True),
        ("/home/me/data/payments.csv", "/home/me/runs/auto/members/0001-loss", True),
        ("/work/data/payments.csv", "/work/runs/mine", True),
        ("/home/you/payments.csv", "/home/me/runs/mine", False),
        ("/data/payments.csv", "/home/me/runs/mine", False),
        ("/home/me/../../data/payments.csv", "/home/me/runs/mine", False),
        ("s3://bucket/payments", "/home/me/runs/mine", False),
        ("s3:/bucket/payments", "/home/me/runs/mine", False),
    ],
)
def test_beside_is_below_a_folder_that_holds_both(
    location: str, run: str, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gpcn.runs.folders import lies_beside

    monkeypatch.setenv("HOME", "/home/me")
    assert lies_beside(location, Path(run)) is expected


def test_a_graph_of_ones_own_bucket_is_named_again(store: ObjectStore, tmp_path: Path) -> None:
    write_graph_tables(GRAPH, tmp_path / "tables")
    for file in (tmp_path / "tables").iterdir():
        store.objects[f"bucket/tables/{file.name}"] = (file.read_bytes(), 0.0)
    url, run = "s3://bucket/tables", tmp_path / "run"
    document("train", url, "--model", "gpcn", *TINY, "--out", run)
    assert Run.open(run).graph.source.graph == url
    assert f"graph comes from {url}" in refused("predict", run, "--out", tmp_path / "p.csv")
    assert document("predict", run, "--graph", url, "--out", tmp_path / "p.csv")["predictions"] == 60
    sections = document("report", run, "--graph", url, "--out", tmp_path / "page.html")["sections"]
    assert [section["kind"] for section in sections] == ["graph", "run"]


def test_nodes_belong_to_the_graph_that_moved_unless_another_is_named(tmp_path: Path) -> None:
    tables = [tmp_path / "tables" / name for name in ("edges.csv", "nodes.csv")]
    write_graph_tables(GRAPH, tmp_path / "tables")
    edges, nodes = tables
    run, page = tmp_path / "run", ("--out", tmp_path / "p.csv")
    document("train", edges, "--nodes", nodes, "--model", "gpcn", *TINY, "--out", run)
    with_source(run, graph="/far/edges.csv", nodes="/far/nodes.csv")
    assert "name it with --graph and --nodes" in refused("predict", run, *page)
    assert document("predict", run, "--graph", edges, "--nodes", nodes, *page)["new_nodes"] == 0
    said = refused("predict", run, edges, "--graph", edges, "--nodes", nodes, *page)
    assert "--nodes can belong to one of them only" in said
