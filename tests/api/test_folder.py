"""Run folders from Python: one kind of object, and the same numbers as the commands give."""

from __future__ import annotations

import gc
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import gpcn
from gpcn.data.graph_record import GraphSource
from gpcn.records.reading import encode
from gpcn.runs.run import Run
from gpcn.search.executors import serial_executor
from gpcn.search.schedule import Plan, Rung
from gpcn.search.space import Space
from gpcn.search.study import Budget, tune
from tests.commands import in_process

GRAPH_OPTIONS = {"nodes": 80, "classes": 2, "homophily": 0.2, "splits": 2, "unlabelled": 0.1, "seed": 3}

BRIEF = {"epochs": 8, "patience": 8}
FAST = {**BRIEF, "hidden": 8}


@pytest.fixture(scope="module")
def compared(graph: gpcn.Graph, tmp_path_factory: pytest.TempPathFactory) -> gpcn.RunFolder:
    folder = tmp_path_factory.mktemp("compared") / "runs"
    return gpcn.compare(graph, ["logistic", "gpcn-link"], settings=FAST, out=folder)


@pytest.fixture(scope="module")
def chosen(graph: gpcn.Graph, tmp_path_factory: pytest.TempPathFactory) -> gpcn.RunFolder:
    return gpcn.auto(graph, budget=6, out=tmp_path_factory.mktemp("auto") / "best", splits=[0])


def test_a_comparison_evaluates_and_predicts_with_its_best(compared: gpcn.RunFolder, graph: gpcn.Graph) -> None:
    table = compared.evaluate()
    assert {row.model for row in table.models} == {"logistic", "gpcn-link", "majority"}
    assert compared.kind == "comparison"
    assert set(compared.models) == {"logistic", "gpcn-link"}
    assert "comparison" in repr(compared)
    assert graph.name in repr(compared)
    best = table.chosen_on_validation
    predictions = compared.predict()
    assert f"{best} predicts" in predictions.notes[0]
    np.testing.assert_array_equal(predictions.probabilities, compared[best].predict().probabilities)
    with pytest.raises(gpcn.ConfigError, match="has no model 'gcn'; it has the models"):
        compared["gcn"]


def test_a_graph_in_memory_is_there_when_the_folder_is_opened_again(
    compared: gpcn.RunFolder, graph: gpcn.Graph, tmp_path: Path
) -> None:
    again = gpcn.open_run(compared.path)
    assert again.graph().equals(graph)
    np.testing.assert_array_equal(again.predict().probabilities, compared.predict().probabilities)
    assert again.report(tmp_path / "page.html")["sections"]
    other = gpcn.synthesize(nodes=50, splits=1)
    with pytest.raises(gpcn.ConfigError, match="results on another graph"):
        gpcn.compare(other, ["logistic"], out=compared.path)


def test_a_run_predicts_evaluates_and_explains_as_the_commands_do(compared: gpcn.RunFolder, tmp_path: Path) -> None:
    run = compared["gpcn-link"]
    assert run.kind == "run"
    assert "gpcn-link on" in repr(run)
    file = tmp_path / "predictions.csv"
    answer = in_process("predict", run.path, "--unlabelled", "--threshold", "top=3", "--sort", "--out", file, "--json")
    predictions = run.predict(unlabelled=True, threshold="top=3").sorted()
    predictions.save(tmp_path / "here.csv")
    assert file.read_text() == (tmp_path / "here.csv").read_text()
    assert json.loads(answer.stdout)["threshold"] == encode(predictions.decision)
    explained = json.loads(in_process("explain", run.path, "--node", 4, "--json").stdout)
    assert explained == json.loads(json.dumps(run.explain(4).to_json()))
    stored = Run.open(run.path).result()
    assert run.evaluate() == stored
    assert run.evaluate(1) == stored.splits[1].metrics
    with pytest.raises(gpcn.ConfigError, match="split 7 of .* is not finished; finished: 0, 1"):
        run.evaluate(7)


def test_out_of_fold_needs_the_graph_trained_on(compared: gpcn.RunFolder, graph: gpcn.Graph) -> None:
    assert compared.predict(out_of_fold=True).labels is not None
    with pytest.raises(gpcn.ConfigError, match="out_of_fold is for the labelled nodes trained on"):
        compared.predict(graph, out_of_fold=True)


def test_what_auto_chose_is_evaluated_as_an_average(chosen: gpcn.RunFolder, graph: gpcn.Graph) -> None:
    assert chosen.kind == "auto"
    assert "auto, " in repr(chosen)
    summary = chosen.evaluate()
    measures = chosen.evaluate(0)
    assert measures["test"].score == pytest.approx(summary.splits[0].test)
    members = chosen.runs
    mean = np.mean([run.predictions(0) for run in members], axis=0)
    test = graph.splits[0].test
    expected = graph.task.evaluate(mean[test], graph.labels[test], graph.metric)
    assert measures["test"].score == pytest.approx(expected.score)
    assert len(chosen.predict(unlabelled=True).nodes) == 80 - graph.labelled.size


def test_a_study_has_scores_and_trains_its_best(graph: gpcn.Graph, tmp_path: Path) -> None:
    gpcn.save(graph, tmp_path / "graph.npz")
    space = Space.of(
        ("gpcn",), "default", fixed={"epochs": 4, "patience": 4, "hidden": 8}, tried={"layers": ["1", "2"]}
    )
    plan = Plan(2, (Rung((0,), 4, 1),))
    source = GraphSource.of(tmp_path / "graph.npz")
    tune(graph, space, plan, serial_executor(graph), out=tmp_path / "study", budget=Budget(2), source=source)
    study = gpcn.open_run(tmp_path / "study")
    assert study.kind == "study"
    assert "study of 2 configurations" in repr(study)
    assert study.graph().equals(graph)
    best = study.evaluate().best[0]
    with pytest.raises(gpcn.ConfigError, match="keeps scores and no models; train its best"):
        study.predict()
    trained = study.train_best(tmp_path / "best", splits=[0])
    assert trained.runs[0].config["layers"] == best.settings["layers"]
    assert len(trained.predict().nodes) == graph.num_nodes
    assert gpcn.open_run(tmp_path / "best").graph().equals(graph)


def test_tables_in_memory_are_read_as_those_trained_on(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    ids = [f"a{number}" for number in range(40)]
    nodes = pd.DataFrame({"account": ids, "age": draw.normal(40, 9, 40), "country": ["FR", "DE"] * 20})
    nodes["fraud"] = ["yes", "no", "no", "no"] * 10
    edges = pd.DataFrame({"payer": draw.choice(ids, 120), "payee": draw.choice(ids, 120)})
    graph = gpcn.from_frames(edges, nodes, source="payer", target="payee", id="account", label="fraud")
    folder = gpcn.compare(graph, ["gpcn"], settings=FAST, out=tmp_path / "runs", splits=[0])
    assert len(folder.graph().splits) == 5  # it had none
    same = folder.predict(edges, nodes.drop(columns="fraud"))
    np.testing.assert_allclose(same.probabilities, folder.predict().probabilities, rtol=1e-6)
    nodes.to_csv(tmp_path / "nodes.csv", index=False)
    edges.to_csv(tmp_path / "edges.csv", index=False)
    files = gpcn.open_run(tmp_path / "runs").predict(tmp_path / "edges.csv", tmp_path / "nodes.csv")
    np.testing.assert_allclose(same.probabilities, files.probabilities, rtol=1e-6)
    fewer = nodes.iloc[:30]
    with pytest.raises(gpcn.DataError, match="not among the nodes"):
        folder.predict(edges, fewer)
    assert len(folder.predict(edges, fewer, unknown="drop").nodes) == 30
    assert len(folder.predict(edges, fewer, unknown="add").nodes) == 40


def test_without_a_folder_all_is_temporary(graph: gpcn.Graph) -> None:
    folder = gpcn.compare(graph, ["logistic"], settings=BRIEF, splits=[0])
    one, path = folder["logistic"], folder.path
    del folder
    gc.collect()
    assert one.predict().probabilities.shape == (80, 2)
    del one
    gc.collect()
    assert not path.exists()


def test_a_failure_leaves_no_temporary_folder(
    graph: gpcn.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(gpcn.ConfigError, match="has a setting 'nothing'"):
        gpcn.compare(graph, ["logistic"], settings={"nothing": 1})
    assert not list(tmp_path.iterdir())


def test_a_graph_by_its_name_is_found_again(tmp_path: Path, graph: gpcn.Graph) -> None:
    gpcn.save(replace(graph, splits=()), tmp_path / "graph.npz")
    folder = gpcn.compare(
        tmp_path / "graph.npz", ["logistic"], settings=BRIEF, out=tmp_path / "runs", splits=[1], metric="roc_auc"
    )
    again = gpcn.open_run(tmp_path / "runs").graph()
    assert again.equals(folder.graph())
    assert (again.metric, len(again.splits)) == ("roc_auc", 5)
    assert not (tmp_path / "runs" / "graph.npz").exists()
    moved = tmp_path / "moved.npz"
    (tmp_path / "graph.npz").rename(moved)
    assert gpcn.open_run(tmp_path / "runs", graph=moved).graph().equals(folder.graph())


def test_what_is_no_graph_and_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(gpcn.ConfigError, match="expected a Graph, a dataset's name or a path"):
        gpcn.compare(3, ["logistic"])  # type: ignore[arg-type]
    with pytest.raises(gpcn.CheckpointError, match="is not a run"):
        gpcn.open_run(tmp_path)
