"""`--metric`, the majority's row, `--threshold` and `--sort`, as a user meets them."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gpcn import report, save, synthesize
from gpcn.graph import Graph
from gpcn.graph.splitting import random_splits
from gpcn.runs.graph_source import graph_of
from gpcn.runs.run import Run
from gpcn.search.study_header import read_study_header
from gpcn.tasks.metric_choice import default_metric
from tests.commands import TINY, document, refused
from tests.commands import in_process as gpcn


def rare(path: Path) -> Graph:
    """A graph with 12 % fraud, judged as the rule for users' graphs says."""
    graph = synthesize(nodes=100, classes=2, degree=4, homophily=0.2, signal=2.0, splits=0, seed=1)
    labels = np.ones(100, int)
    labels[np.flatnonzero(graph.labels == 0)[:12]] = 0
    names = ("fraud", "fine")
    metric, note = default_metric(labels, names)
    graph = random_splits(replace(graph, labels=labels, label_names=names, metric=metric, notes=(str(note),)), count=2)
    save(graph, path)
    return graph


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rare") / "g.npz"
    rare(path)
    return path


def test_a_rare_class_is_said_to_be_judged_otherwise(file: Path) -> None:
    said = gpcn("train", file, "--model", "mlp", *TINY).stdout
    assert "average_precision" in said
    assert "note: average_precision is used because only 12.0% of the labelled nodes are 'fraud'" in said
    other = gpcn("train", file, "--model", "mlp", "--metric", "accuracy", *TINY).stdout
    assert ": accuracy" in other
    assert "average_precision" not in other


def test_a_metric_is_remembered(file: Path, tmp_path: Path) -> None:
    words = ("train", file, "--model", "mlp", *TINY, "--metric", "log_loss", "--set", "select=metric")
    result = document(*words, "--out", tmp_path / "run")
    assert result["metric"] == "log_loss"
    assert 0 < result["test_mean"] < 2
    run = Run.open(tmp_path / "run")
    assert run.graph.metric == "log_loss"
    assert graph_of(run).metric == "log_loss"
    assert document(*words, "--out", tmp_path / "run") == result
    assert "another graph" in refused("train", file, "--model", "mlp", *TINY[:-2], "--set", "select=metric",
                                      "--metric", "f1", "--out", tmp_path / "run")  # fmt: skip
    report.write(tmp_path / "run", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert "log loss, lower is better" in page
    assert f"{result['test_mean']:.4f}" in page
    assert "metric is 'acc'; expected one of accuracy, balanced_accuracy" in refused("train", file, "--metric", "acc")


def test_a_comparison_shows_the_majority(file: Path, tmp_path: Path) -> None:
    words = ("compare", file, "--models", "mlp,majority", "--set", "epochs=2", "--set", "hidden=4", "--jobs", 1)
    comparison = document(*words, "--metric", "accuracy", "--out", tmp_path / "runs")
    rows = {row["model"]: row for row in comparison["models"]}
    assert list(rows) == ["majority", "mlp"] or rows["mlp"]["test_mean"] >= rows["majority"]["test_mean"]
    assert rows["majority"]["test_mean"] == pytest.approx(88.0)
    assert rows["mlp"]["beats_majority"] is False
    assert comparison["chosen_on_validation"] == "mlp"
    said = gpcn(*words, "--metric", "accuracy", "--out", tmp_path / "runs").stdout
    assert "mlp †" in said
    assert "† no better than the majority" in said
    report.write(tmp_path / "runs", tmp_path / "r.html")
    page = " ".join((tmp_path / "r.html").read_text().split())
    assert "mlp †" in page
    assert (
        "No better than the majority, which knows the class shares of the training nodes and nothing else: mlp." in page
    )
    assert "--models names no model" in refused("compare", file, "--models", "majority")


def test_runs_judged_otherwise_are_not_compared(file: Path, tmp_path: Path) -> None:
    for metric in ("f1", "accuracy"):
        out = tmp_path / "runs" / metric
        document("train", file, "--model", "mlp", *TINY, "--metric", metric, "--out", out)
    assert "different metrics (accuracy: accuracy, f1: f1)" in refused("report", tmp_path / "runs")


@pytest.mark.parametrize("metric", ["log_loss", "average_precision"])
def test_a_search_by_a_metric_goes_on_by_it(file: Path, tmp_path: Path, metric: str) -> None:
    words = ("tune", file, "--model", "mlp", "--set", "epochs=6", "--set", "hidden=4", "--jobs", 1, "--generation", 4)
    study = document(*words, "--metric", metric, "--budget", 4, "--out", tmp_path / "study")
    assert study["metric"] == metric
    again = document("tune", "--resume", tmp_path / "study", "--budget", 8, "--jobs", 1)
    assert again["configurations"] == 8
    assert read_study_header(tmp_path / "study").graph.metric == metric
    complete = [row["score"] for row in again["history"] if row["state"] == "complete"]
    best = min(complete) if metric == "log_loss" else max(complete)
    assert again["best"][0]["score"] == pytest.approx(best)
    assert again["history"][-1]["best"] == pytest.approx(best)
    assert all(score > 0 for score in complete)
    report.write(tmp_path / "study", tmp_path / "r.html")


def test_a_threshold_decides_what_is_predicted(file: Path, tmp_path: Path) -> None:
    run, out = tmp_path / "run", tmp_path / "p.csv"
    document("train", file, "--model", "mlp", "--set", "hidden=8", "--set", "epochs=40", "--jobs", 1, "--out", run)

    def rows() -> list[dict[str, str]]:
        with out.open() as stream:
            return list(csv.DictReader(stream))

    top = document("predict", run, "--out", out, "--threshold", "top=10", "--sort")
    assert top["threshold"]["predicted_positive"] == 10
    assert top["threshold"]["positive"] == "fraud"
    assert [row["predicted"] for row in rows()] == ["fraud"] * 10 + ["fine"] * 90
    likely = [float(row["p_fraud"]) for row in rows()]
    assert likely == sorted(likely, reverse=True)
    assert top["threshold"]["threshold"] == pytest.approx(likely[9])
    chosen = document("predict", run, "--out", out, "--threshold", "f1")["threshold"]
    assert (chosen["rule"], 0 < chosen["threshold"] < 1, 0 < chosen["validation_f1"] <= 1) == ("f1", True, True)
    assert all((row["predicted"] == "fraud") == (float(row["p_fraud"]) >= chosen["threshold"]) for row in rows())
    assert document("predict", run, file, "--out", out, "--threshold", "f1")["threshold"] == chosen
    assert json.dumps(chosen)
    said = gpcn("predict", run, "--out", out, "--threshold", "0.3").stdout
    assert "are predicted fraud: probability of 0.3000 or more" in said
    assert "expected a probability from 0 to 1" in refused("predict", run, "--threshold", "3")
    assert "cannot be read" in refused("predict", run, "--threshold", "most")


def test_a_threshold_is_for_two_classes(tmp_path: Path) -> None:
    save(synthesize(nodes=60, classes=3, splits=1), tmp_path / "g.npz")
    document("train", tmp_path / "g.npz", "--model", "mlp", *TINY, "--out", tmp_path / "run")
    assert "is for two classes, and" in refused("predict", tmp_path / "run", "--threshold", "0.5")
    document("predict", tmp_path / "run", "--sort", "--out", tmp_path / "p.csv")
    with (tmp_path / "p.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    sure = [max(float(row[f"p_{name}"]) for name in ("class 0", "class 1", "class 2")) for row in rows]
    assert sure == sorted(sure, reverse=True)
