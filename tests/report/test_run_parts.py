"""The parts of a run's section: curves, importance, nodes to look at first; and the picture of a graph."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn import metrics

from gpcn import Graph, TrainConfig, report, save, synthesize
from gpcn.data.graph_record import GraphSource
from gpcn.explanation import explain, explain_class
from gpcn.report import first_look, graph_picture, importance, ranking, run_section
from gpcn.report.materials import RunMaterial, gather_materials
from gpcn.runs.predictions.threshold import best_f1_threshold, validation_nodes
from gpcn.runs.run import Run
from gpcn.runs.training import train
from tests.commands import in_process
from tests.report.conftest import CLASSES, NASTY


def material(path: Path) -> RunMaterial:
    (run,) = [material for material in gather_materials([str(path)]) if isinstance(material, RunMaterial)]
    return run


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> RunMaterial:
    """A run on two classes, one of them rare, where every node has a label."""
    folder = tmp_path_factory.mktemp("two")
    drawn = synthesize(nodes=200, classes=5, degree=5, homophily=0.6, splits=2)
    graph = replace(drawn, labels=(drawn.labels == 0).astype(np.int64), label_names=("no", "yes"))
    save(graph, folder / "graph.npz")
    source = GraphSource.of(folder / "graph.npz")
    config = TrainConfig.of("gpcn-link", hidden=8, epochs=30)
    train(graph, config, out=folder / "run", jobs=1, source=source)
    return material(folder / "run")


def test_curves_are_those_of_sklearn_with_the_threshold_that_predict_would_choose(two: RunMaterial) -> None:
    assert two.graph is not None
    probabilities, labels = ranking.pooled_test_predictions(two.run, two.graph)
    likely = probabilities[:, 1]
    roc, precision, gain = ranking.ranking_curves(two.run, two.graph)
    area = metrics.roc_auc_score(labels, likely)
    line = next(trace for trace in roc.data if trace["name"] == f"yes ({area:.3f})")
    assert np.trapezoid(line["y"], line["x"]) == pytest.approx(area, abs=0.01)
    average = metrics.average_precision_score(labels, likely)
    assert any(trace["name"] == f"yes ({average:.3f})" for trace in precision.data)
    assert precision.data[0]["y"] == pytest.approx([labels.mean()] * 2, rel=1e-4), "the majority"
    best, _ = best_f1_threshold(validation_nodes([two.run], two.graph))
    mark = next(trace for trace in precision.data if trace["name"] == f"best F1: {best:.3f}")
    assert mark["x"] == pytest.approx([metrics.recall_score(labels, likely >= best)], abs=1e-4)
    assert mark["y"] == pytest.approx([metrics.precision_score(labels, likely >= best)], abs=1e-4)
    first = labels[np.argsort(-likely, kind="stable")[: len(labels) // 10]].sum() / labels.sum()
    assert f"a lift of {10 * first:.1f}" in gain.about
    assert gain.data[-1]["y"][-1] == 1


def test_more_classes_have_a_curve_each_and_no_threshold(folder: Path) -> None:
    run_material = material(folder / "runs" / "gpcn-link")
    assert run_material.graph is not None
    for figure in ranking.ranking_curves(run_material.run, run_material.graph):
        assert sum("line" in trace and trace["line"].get("dash") is None for trace in figure.data) == 3
        assert not [trace for trace in figure.data if trace["mode"] == "markers"]


def test_a_run_without_test_nodes_shows_how_it_learned_and_nothing_of_tests(tmp_path: Path) -> None:
    drawn = synthesize(nodes=100, classes=2, degree=5, splits=1)
    (split,) = drawn.splits
    save(replace(drawn, splits=(replace(split, test=[], calibration=split.test),)), tmp_path / "graph.npz")
    words = ("--model", "gpcn", "--set", "epochs=5", "--out", tmp_path / "run")
    trained = in_process("train", tmp_path / "graph.npz", *words)
    assert "accuracy – ± –" in trained.stdout
    refused = in_process("predict", tmp_path / "run", "--out-of-fold", "--out", tmp_path / "p.csv")
    assert "no finished split of" in refused.stderr
    assert "has no test nodes, which no model has learned from" in refused.stderr
    html = str(run_section.run_section(material(tmp_path / "run")))
    assert "Learning" in html
    assert "Predictions on test nodes" not in html
    assert "50 / 25 / 0 / 25 nodes" in in_process("inspect", tmp_path / "graph.npz").stdout


def test_one_class_among_test_nodes_has_no_curve(two: RunMaterial) -> None:
    assert two.graph is not None
    same = replace(two.graph, labels=np.zeros_like(two.graph.labels))
    assert ranking.ranking_curves(two.run, same) == []


def test_the_majority_is_a_tile_and_a_line(two: RunMaterial) -> None:
    html = run_section.run_section(two)
    assert "what class shares alone achieve on test nodes" in html
    assert '"name":"majority"' in html


def test_features_by_class_are_those_of_explain_class(two: RunMaterial) -> None:
    assert two.graph is not None
    bars, table = importance.importance_figures(two)
    account = explain_class([two.run], two.graph, "yes", top=10_000)
    expected = {feature.feature: feature.margin for feature in account.features}
    names = bars.layout["yaxis"]["ticktext"]
    column = table.layout["xaxis"]["ticktext"].index("yes")
    for name, row in zip(names, table.data[0]["z"], strict=True):
        assert row[column] == pytest.approx(expected[name], rel=1e-3, abs=1e-6)
    assert [trace["name"] for trace in bars.data] == ["directly", "through links"]


def test_importance_by_gradients_says_that_it_is_approximate(folder: Path) -> None:
    bars, _ = importance.importance_figures(material(folder / "runs" / "mlp"))
    assert "approximate" in bars.about
    assert len(bars.data) == 1


def test_all_nodes_have_labels_so_test_nodes_are_looked_at_the_rare_class_first(two: RunMaterial) -> None:
    listing = first_look.first_look(two)
    assert listing is not None and two.graph is not None
    assert listing.table.columns == ["node", "probability", "label", "why"]
    assert len(listing.table.rows) == 50
    likely = [row[1].sort for row in listing.table.rows]
    assert likely == sorted(likely, reverse=True)
    assert "test nodes, those most probably yes first" in listing.about
    top = int(listing.table.rows[0][0].text)
    tests = [number for number in (0, 1) if top in two.graph.splits[number].test]
    assert likely[0] == pytest.approx(np.mean([two.run.predictions(number)[top, 1] for number in tests]))


def test_the_reason_is_the_one_of_explain(two: RunMaterial) -> None:
    listing = first_look.first_look(two)
    assert listing is not None and two.graph is not None
    for row in listing.table.rows[:5]:
        account = explain(two.run, two.graph, row[0].text)
        if account.predicted == "yes":
            strongest = max(part.margin for part in account.parts)
            assert f"({strongest:+.2f})" in row[-1].text
            return
    pytest.skip("nobody is predicted yes")


def test_nodes_without_a_label_come_first_and_names_are_text(graph: Graph, folder: Path) -> None:
    listing = first_look.first_look(material(folder / "runs" / "gpcn-link"))
    assert listing is not None
    assert listing.table.columns == ["node", "class", "probability", "why"]
    assert len(listing.table.rows) == int((graph.labels < 0).sum())
    assert all(row[0].text.startswith(NASTY) and row[1].text in CLASSES for row in listing.table.rows)
    html = run_section.run_section(material(folder / "runs" / "gpcn-link"))
    assert "The nodes to look at first" in html
    assert "<img" not in html


def test_models_without_a_sum_say_where_to_ask(folder: Path) -> None:
    listing = first_look.first_look(material(folder / "runs" / "mlp"))
    assert listing is not None
    assert "why" not in listing.table.columns
    assert "gpcn explain mlp --node ID" in listing.about


def test_large_graphs_do_not_wait(two: RunMaterial, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_look, "MOST_ENTRIES", 10)
    monkeypatch.setattr(importance, "MOST_EXACT", 10)
    listing = first_look.first_look(two)
    assert listing is not None
    assert "it would take too long for so many" in listing.about
    assert importance.importance_figures(two) == []


def test_a_small_graph_is_drawn_whole_and_always_alike(graph: Graph) -> None:
    figure = graph_picture.graph_picture(graph)
    assert figure.spec == graph_picture.graph_picture(graph).spec
    nodes = [trace for trace in figure.data if trace["mode"] == "markers"]
    assert sum(len(trace["x"]) for trace in nodes) == graph.num_nodes
    assert {trace["name"] for trace in nodes} >= {"no label"}
    assert figure.about.startswith("All nodes")
    links = next(trace for trace in figure.data if trace["mode"] == "lines")
    assert len(links["x"]) == 3 * graph.adjacency.nnz // 2


@pytest.mark.parametrize("directed", [False, True])
def test_of_a_large_graph_a_sample_is_drawn(directed: bool) -> None:
    large = synthesize(nodes=20_000, degree=8, classes=9, directed=directed, splits=0)
    sample = graph_picture.sample_nodes(large)
    assert len(sample) == graph_picture.MOST_NODES == len(np.unique(sample))
    inner = large.adjacency[sample][:, sample]
    assert inner.nnz > len(sample) / 2, "nodes that are linked, not any"
    figure = graph_picture.graph_picture(large)
    assert "300 of 20,000 nodes" in figure.about
    assert any(trace["name"] == "other classes" for trace in figure.data)


def test_a_graph_without_links_is_drawn() -> None:
    lonely = synthesize(nodes=30, degree=3, splits=0)
    without = replace(lonely, adjacency=lonely.adjacency * 0)
    assert all(trace["mode"] == "markers" for trace in graph_picture.graph_picture(without).data)
    points = graph_picture.spring_layout(30, np.zeros((2, 0), dtype=np.int64))
    assert np.isfinite(points).all()


def test_linked_nodes_are_nearer_than_others() -> None:
    clusters = synthesize(nodes=80, classes=2, degree=8, homophily=1.0, splits=0)
    links = clusters.adjacency.tocoo()
    points = graph_picture.spring_layout(80, np.stack([links.row, links.col]).astype(np.int64))
    linked = np.linalg.norm(points[links.row] - points[links.col], axis=1).mean()
    every = np.linalg.norm(points[:, None] - points[None], axis=2).mean()
    assert linked < 0.7 * every


def test_the_page_is_still_small(two: RunMaterial, tmp_path: Path) -> None:
    assert report.write(two.run.path, tmp_path / "r.html")["bytes"] < 6_000_000
    assert Run.open(two.run.path).finished() == [0, 1]


def test_nodes_can_be_left_out_of_a_page_that_is_passed_on(folder: Path, tmp_path: Path) -> None:
    run = folder / "runs" / "gpcn-link"
    report.write(run, tmp_path / "r.html")
    report.write(run, tmp_path / "hidden.html", names_nodes=False)
    named, hidden = ((tmp_path / name).read_text() for name in ("r.html", "hidden.html"))
    for part in (
        "The nodes to look at first",
        "A picture of the graph",
        r"alert\(1\)&gt;\d",
        r"alert\(1\)\\u0026gt;\d",
    ):
        assert re.search(part, named)
        assert not re.search(part, hidden)
    assert "ROC curve" in hidden
