"""One act, one answer: command line, Python, comparison, estimator and a Ray worker train the same model."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpcn
from gpcn.api.prepare import prepare
from gpcn.data.presets import write_preset
from gpcn.distributed.cluster import cluster_training
from gpcn.training.settle import settle
from tests.commands import document, refused

SETTINGS = {"epochs": 12, "hidden": 8, "lr": 0.03}
MODEL = "gpcn-link"
SET = [word for name, value in SETTINGS.items() for word in ("--set", f"{name}={value}")]


@pytest.fixture(scope="module", params=["tables", pytest.param("texas", marks=pytest.mark.mirror)])
def named(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A graph as `gpcn.train` takes it, from tables or a benchmark."""
    if request.param == "texas":
        return {"graph": "texas", "mirror": request.getfixturevalue("mirror")}
    folder = tmp_path_factory.mktemp("tables")
    write_preset("fraud", folder, nodes=300, seed=1)
    columns = gpcn.Columns(source="payer", target="payee", id="account", label="fraud")
    return {"graph": folder / "transfers.csv", "nodes": folder / "accounts.csv", "columns": columns}


@pytest.fixture(scope="module")
def expected(named: dict[str, Any]) -> np.ndarray[Any, Any]:
    """Probabilities of what `gpcn.train` gives."""
    run = gpcn.train(**named, config=gpcn.TrainConfig.of(MODEL, **SETTINGS), splits=[0])
    return run.predict().probabilities


def write_parts(named: dict[str, Any], folder: Path) -> None:
    """The same graph in one part, split as it is elsewhere."""
    splits = [] if "nodes" not in named else ["--random-splits", "5", "--train", "0.6", "--val", "0.2"]
    document("shard", *words_of(named), *splits, "--parts", "1", "--out", folder)


def words_of(named: dict[str, Any]) -> list[Any]:
    """The same graph on the command line."""
    words: list[Any] = [named["graph"]]
    if "mirror" in named:
        words += ["--mirror", named["mirror"]]
    else:
        columns = named["columns"]
        words += ["--nodes", named["nodes"], "--id", columns.id, "--label", columns.label]
        words += ["--source", columns.source, "--target", columns.target]
    return words


def test_the_command_and_a_comparison_train_what_python_trains(
    named: dict[str, Any], expected: np.ndarray[Any, Any], tmp_path: Path
) -> None:
    document("train", *words_of(named), "--model", MODEL, *SET, "--splits", "0", "--out", tmp_path / "run")
    compared = gpcn.compare(**named, models=[MODEL], settings=SETTINGS, splits=[0])
    for folder in (gpcn.open_run(tmp_path / "run", graph=prepare(**named).graph), compared):
        np.testing.assert_array_equal(folder.predict().probabilities, expected)


def test_the_estimator_trains_what_python_trains(named: dict[str, Any]) -> None:
    graph = prepare(**named).graph
    config = gpcn.TrainConfig.of(MODEL, **SETTINGS)
    usual = {name: config[name] for name in ("layers", "dropout", "lr", "weight_decay", "epochs", "patience")}
    estimator = gpcn.GPCNClassifier(MODEL, graph=graph, settings=usual | SETTINGS)
    estimator.fit(graph.labelled, graph.labels[graph.labelled])
    assert estimator.config_ == settle(config, graph)
    run = gpcn.train(replace(graph, splits=(estimator.split_,)), config)
    every = np.arange(graph.num_nodes)
    np.testing.assert_allclose(estimator.predict_proba(every), run.predict().probabilities, atol=1e-5)


@pytest.mark.slow
def test_a_worker_of_a_cluster_trains_what_python_trains(
    named: dict[str, Any], expected: np.ndarray[Any, Any], tmp_path: Path
) -> None:
    pytest.importorskip("ray")
    write_parts(named, tmp_path / "parts")
    words = ["--engine", "ray", "--model", MODEL, *SET, "--splits", "0", "--out", tmp_path / "run"]
    command = [sys.executable, "-m", "gpcn", "train", tmp_path / "parts", *words]  # Ray warns of its own options
    subprocess.run(list(map(str, command)), check=True, capture_output=True)
    run = gpcn.open_run(tmp_path / "run", graph=prepare(**named).graph)
    np.testing.assert_allclose(run.predict().probabilities, expected, atol=2e-4)


def test_a_cluster_is_given_the_configuration_that_python_trains(
    named: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = []

    def train_on_cluster(parts: str, config: gpcn.TrainConfig, out: str, **options: Any) -> None:
        given.append(config)
        raise gpcn.ConfigError("no cluster is needed to see that")

    monkeypatch.setattr(cluster_training, "train_on_cluster", train_on_cluster)
    write_parts(named, tmp_path / "parts")
    refused("train", tmp_path / "parts", "--engine", "ray", "--model", MODEL, *SET, "--out", tmp_path / "run")
    graph = prepare(**named).graph
    assert given == [settle(gpcn.TrainConfig.of(MODEL, **SETTINGS), graph)]
    assert given[0]["bias"] == (graph.preparation is not None)


def test_a_graph_from_memory_is_kept_split_and_found_again(tmp_path: Path) -> None:
    graph = gpcn.synthesize(nodes=80, splits=0, seed=1)
    run = gpcn.train(graph, "gpcn", out=tmp_path / "run", metric="log_loss", plan=gpcn.SplitPlan(count=2))
    assert run.evaluate().metric == "log_loss"
    assert [split.split for split in run.evaluate().splits] == [0, 1]
    again = gpcn.open_run(tmp_path / "run")
    np.testing.assert_array_equal(again.predict().probabilities, run.predict().probabilities)
    with pytest.raises(gpcn.ConfigError, match="results on another graph"):
        gpcn.train(gpcn.synthesize(nodes=81, splits=1), "gpcn", out=tmp_path / "run")
    assert len(gpcn.train(graph, gpcn.TrainConfig.of("gpcn", epochs=2)).evaluate().splits) == 5


def test_what_cannot_be_prepared_is_one_sentence() -> None:
    graph = gpcn.synthesize(nodes=60, splits=1)
    with pytest.raises(gpcn.ConfigError, match="nodes goes with a path"):
        gpcn.train(graph, "gpcn", nodes="nodes.csv")
    with pytest.raises(gpcn.ConfigError, match="metric is 'acc'; expected one of"):
        gpcn.train(graph, "gpcn", metric="acc")  # type: ignore[arg-type]
    with pytest.raises(gpcn.ConfigError, match="config is 7; expected a model's name"):
        gpcn.train(graph, 7)  # type: ignore[arg-type]
    with pytest.raises(gpcn.ConfigError, match="graph is of type int"):
        gpcn.train(7, "gpcn")  # type: ignore[arg-type]
