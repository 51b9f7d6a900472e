"""From messy tables to predictions for next month's nodes, as a user goes: a journey per preset."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gpcn import Columns, Graph, TrainConfig, from_frames, load, random_splits, save
from gpcn.data.presets import PRESETS, Preset, write_preset
from gpcn.data.tables.delimited import read_table
from gpcn.runs.graph_source import graph_of
from gpcn.runs.predictions.prediction import predict
from gpcn.runs.run import Run
from gpcn.runs.training import train
from tests.commands import document
from tests.commands import in_process as gpcn

NODES, NEW = 400, 40
QUICK = ("--set", "epochs=15", "--random-splits", 2, "--jobs", 1)
MODELS = ("mlp", "gpcn", "gpcn-link")
ROLES = {
    "fraud": {
        **{"income": "number", "age": "number", "opened": "date", "country": "category", "note": "tags"},
        **{"referral_code": "id", "version": "constant"},
    },
    "social": {
        **{"birth_year": "number", "joined": "date", "city": "category", "interests": "tags", "bio": "text"},
        "active": "boolean",
    },
    "pages": {"title": "text", "text": "text", "words": "number", "tags": "tags", "lang": "category"},
}
RELATIONS = {"fraud": ["card", "cash", "transfer"], "social": ["blocks", "follows"], "pages": []}
DROPPED_COLUMN = {"fraud": "age", "social": "active", "pages": "title"}
NEW_LEVEL = {"fraud": ("country", "BR"), "social": ("city", "Valletta"), "pages": ("lang", "pt")}
STRANGE = {"fraud": "crypto", "social": "mutes"}


@dataclass(frozen=True)
class Journey:
    """A preset's tables in a folder of their own, and what was made of them on the way."""

    name: str
    folder: Path
    truth: dict[str, str]

    @property
    def preset(self) -> Preset:
        return PRESETS[self.name]

    @property
    def tables(self) -> tuple[Any, ...]:
        return (self.folder / self.preset.edge_file, "--nodes", self.folder / self.preset.node_file)

    @property
    def options(self) -> tuple[Any, ...]:
        chosen = self.preset
        ends = ("--source", chosen.source, "--target", chosen.target)
        return (*self.tables, *ends, "--id", chosen.id, "--label", chosen.label)

    @property
    def upcoming(self) -> tuple[Any, ...]:
        later = self.folder / "next"
        return (later / self.preset.edge_file, "--nodes", later / self.preset.node_file)

    @property
    def named(self) -> dict[str, str]:
        return {field: getattr(self.preset, field) for field in ("source", "target", "id", "label")}

    def run(self, model: str) -> Run:
        return Run.open(self.folder / "runs" / model)

    def frames(self) -> list[Any]:
        pandas = pytest.importorskip("pandas")
        return [pandas.read_csv(path) for path in (self.tables[0], self.tables[2])]


@pytest.fixture(scope="module", params=PRESETS)
def journey(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Journey:
    """The tables, converted (`g.npz`) and compared (`runs`)."""
    folder = tmp_path_factory.mktemp(request.param) / "tables"
    drawn = write_preset(request.param, folder, nodes=NODES, seed=3)
    journey = Journey(request.param, folder, drawn.truth)
    compared = document("compare", *journey.options, "--models", ",".join(MODELS), *QUICK, "--out", folder / "runs")
    (folder / "compared.json").write_text(json.dumps(compared))
    return journey


def probabilities(run: Run, graph: Graph) -> np.ndarray:
    return predict(run, graph).probabilities


def parquet_copies(journey: Journey, folder: Path) -> tuple[Path, Path]:
    paths = folder / "edges.parquet", folder / "nodes.parquet"
    for source, path in zip((journey.tables[0], journey.tables[2]), paths, strict=True):
        pq.write_table(read_table(source, text=()), path)
    return paths


def text_copies(journey: Journey, folder: Path) -> tuple[Path, Path]:
    paths = folder / "edges.parquet", folder / "nodes.parquet"
    for source, path in zip((journey.tables[0], journey.tables[2]), paths, strict=True):
        with source.open(newline="") as stream:
            rows = list(csv.DictReader(stream))
        pq.write_table(pa.table({name: [row[name] for row in rows] for name in rows[0]}), path)
    return paths


def test_inspect_has_a_row_for_every_column(journey: Journey) -> None:
    facts = document("inspect", *journey.options)
    rows = {column["column"]: column for column in facts["columns"]}
    assert {name: rows[name]["role"] for name in rows if not name.startswith("links: ")} == ROLES[journey.name]
    assert facts["nodes"] == NODES
    assert list(facts["relations"]) == RELATIONS[journey.name]
    assert sum(column["features"] for column in facts["columns"]) == facts["features"]
    assert set(facts["class_counts"]) == set(journey.truth.values())
    if journey.name == "fraud":
        assert (rows["version"]["features"], rows["referral_code"]["encoded"]) == (0, "left out")
        assert rows["age"]["missing"] == pytest.approx(0.08, abs=0.03)
        assert facts["metric"] == "average_precision"
        assert {"links: out amount, sum", "links: in at, mean days ago"} <= rows.keys()
        shown = gpcn("inspect", *journey.options).stdout
        assert all(name in shown for name in ROLES["fraud"])
        assert "edge types" in shown


def test_compare_ranks_the_models(journey: Journey) -> None:
    listed = json.loads((journey.folder / "compared.json").read_text())["models"]
    assert {row["model"] for row in listed} == {*MODELS, "majority"}
    best = max(row["test_mean"] for row in listed if row["model"] != "majority")
    assert best > next(row["test_mean"] for row in listed if row["model"] == "majority")
    for model in MODELS:
        assert journey.run(model).finished() == [0, 1]
        assert journey.run(model).graph.preparation.reading["label"] == journey.preset.label


@pytest.mark.parametrize("model", MODELS)
def test_the_training_tables_give_the_training_predictions_in_every_form(
    journey: Journey, model: str, tmp_path: Path
) -> None:
    run = journey.run(model)
    expected = probabilities(run, graph_of(run))
    stored = []
    for number in run.finished():
        with np.load(run.folder(number) / "predictions.npz") as arrays:
            stored.append(arrays["probabilities"])
    np.testing.assert_allclose(expected, np.mean(stored, axis=0), atol=1e-5)
    assert expected.std(axis=0).max() > 0
    edges, _, nodes = journey.tables
    pair = graph_of(run, str(edges), nodes)
    np.testing.assert_array_equal(probabilities(run, pair), expected)
    for name, copies in (("typed", parquet_copies), ("texts", text_copies)):
        (tmp_path / name).mkdir()
        graph = graph_of(run, *(str(path) for path in copies(journey, tmp_path / name)))
        np.testing.assert_array_equal(probabilities(run, graph), expected)
    preparation = run.graph.preparation
    frames = from_frames(*journey.frames(), preparation=preparation, require_labels=False)
    np.testing.assert_array_equal(probabilities(run, frames), expected)
    fresh = from_frames(*journey.frames(), **journey.named)
    assert fresh.equals(load(edges, nodes=nodes, columns=Columns(**journey.named)))
    np.testing.assert_array_equal(probabilities(run, fresh), expected)


def test_a_run_on_frames_predicts_files(journey: Journey, tmp_path: Path) -> None:
    graph = random_splits(from_frames(*journey.frames(), **journey.named), count=1)
    train(graph, TrainConfig.of(model="gpcn", epochs=5), out=tmp_path / "run")
    run = Run.open(tmp_path / "run")
    edges, _, nodes = journey.tables
    files = graph_of(run, str(edges), nodes)
    np.testing.assert_array_equal(probabilities(run, files), probabilities(run, graph))


def test_a_converted_graph_gives_the_predictions_of_its_tables(journey: Journey, tmp_path: Path) -> None:
    facts = document("convert", *journey.options, "--random-splits", 2, "--out", tmp_path / "g.npz")
    graph = load(tmp_path / "g.npz")
    assert (facts["nodes"], facts["splits"], graph.directed) == (NODES, 2, True)
    assert graph.preparation is not None
    assert list(graph.relations) == RELATIONS[journey.name]
    run = journey.run("gpcn")
    expected = probabilities(run, graph_of(run))
    np.testing.assert_array_equal(probabilities(run, graph), expected)
    np.testing.assert_array_equal(probabilities(run, graph_of(run, str(tmp_path / "g.npz"))), expected)
    train(graph, TrainConfig.of(model="gpcn", epochs=15, bias=True), out=tmp_path / "run")
    other = Run.open(tmp_path / "run")
    edges, _, nodes = journey.tables
    from_tables = probabilities(other, graph_of(other, str(edges), nodes))
    np.testing.assert_array_equal(from_tables, probabilities(other, graph))
    np.testing.assert_allclose(from_tables, expected, atol=1e-3)


def test_undirected_tables_train_and_predict_the_same_in_every_form(journey: Journey, tmp_path: Path) -> None:
    words = ("--undirected", "--model", "gpcn", *QUICK, "--out", tmp_path / "run")
    trained = document("train", *journey.options, *words)
    assert [split["split"] for split in trained["splits"]] == [0, 1]
    run = Run.open(tmp_path / "run")
    graph = graph_of(run)
    assert not graph.directed
    assert list(graph.relations) == RELATIONS[journey.name]
    assert not any(name.startswith(("links: log in-degree", "links: in ")) for name in graph.feature_names or ())
    expected = probabilities(run, graph)
    edges, _, nodes = journey.tables
    np.testing.assert_array_equal(probabilities(run, graph_of(run, str(edges), nodes)), expected)
    copies = parquet_copies(journey, tmp_path)
    np.testing.assert_array_equal(probabilities(run, graph_of(run, *map(str, copies))), expected)
    save(graph, tmp_path / "g.npz")
    np.testing.assert_array_equal(probabilities(run, graph_of(run, str(tmp_path / "g.npz"))), expected)
    frames = from_frames(*journey.frames(), **journey.named, undirected=True)
    np.testing.assert_array_equal(probabilities(run, frames), expected)
    later, _, people = journey.upcoming
    assert not graph_of(run, str(later), people).directed


def test_next_months_tables_are_predicted_and_what_did_not_fit_is_said(journey: Journey, tmp_path: Path) -> None:
    report = document("predict", journey.folder / "runs" / "gpcn", *journey.upcoming, "--out", tmp_path / "p.csv")
    assert (report["predictions"], report["new_nodes"]) == (NODES + NEW, NEW)
    dropped, (column, level) = DROPPED_COLUMN[journey.name], NEW_LEVEL[journey.name]
    notes = report["notes"]
    assert f"column {dropped!r} is not in this table; it counts as missing for all nodes" in notes
    joined = journey.run("gpcn").graph.preparation.to_json()["columns"]
    if not next(entry for entry in joined if entry["name"] == column)["state"]["other"]:
        assert any(f"column {column!r} has 1 level(s)" in note and repr(level) in note for note in notes)
    if journey.name in STRANGE:
        assert any("not there in training were left out" in note and STRANGE[journey.name] in note for note in notes)
    with (tmp_path / "p.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    classes = sorted(set(journey.truth.values()))
    assert list(rows[0]) == ["node", "predicted", *(f"p_{name}" for name in classes)]
    assert {row["node"] for row in rows} == set(journey.truth)
    numbers = np.array([[float(row[f"p_{name}"]) for name in classes] for row in rows])
    assert np.isfinite(numbers).all()
    np.testing.assert_allclose(numbers.sum(axis=1), 1, atol=1e-6)
    assert [row["predicted"] for row in rows] == [classes[number] for number in numbers.argmax(axis=1)]
    right = np.mean([row["predicted"] == journey.truth[row["node"]] for row in rows])
    assert right > 1.2 / len(classes)


@pytest.mark.parametrize("model", ["mlp", "gpcn-link"])
def test_other_models_predict_next_month_too(journey: Journey, model: str) -> None:
    run = journey.run(model)
    edges, _, nodes = journey.upcoming
    graph = graph_of(run, str(edges), nodes)
    predictions = predict(run, graph)
    assert predictions.probabilities.shape == (NODES + NEW, len(set(journey.truth.values())))
    assert np.isfinite(predictions.probabilities).all()
    assert predictions.new_nodes == NEW
    assert any(DROPPED_COLUMN[journey.name] in note for note in graph.notes)


def test_the_report_shows_the_comparison(journey: Journey, tmp_path: Path) -> None:
    written = document("report", journey.folder / "runs", "--out", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert written["bytes"] == (tmp_path / "page.html").stat().st_size
    assert page.startswith("<!doctype html>") or page.startswith("<!DOCTYPE html>")
    assert all(model in page for model in MODELS)
    assert all(name in page for name in set(journey.truth.values()))
