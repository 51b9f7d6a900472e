"""Splits on the command line, and predictions out of fold."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from gpcn import folds, load, random_splits
from gpcn.runs.graph_source import graph_of
from gpcn.runs.predictions.out_of_fold import predict_out_of_fold
from gpcn.runs.run import Run
from tests.commands import TINY, document, refused
from tests.commands import in_process as gpcn


@pytest.fixture
def run(folder: Path, tmp_path: Path) -> Path:
    document("train", folder, "--model", "gpcn", *TINY, "--folds", 4, "--val", 0.3, "--out", tmp_path / "run")
    return tmp_path / "run"


def test_shares_and_folds_are_what_convert_writes(folder: Path, tmp_path: Path) -> None:
    words = ("--random-splits", 2, "--train", 0.6, "--val", 0.2, "--seed", 3)
    document("convert", folder, *words, "--out", tmp_path / "g.npz")
    assert load(tmp_path / "g.npz").equals(random_splits(load(folder), count=2, train=0.6, val=0.2, seed=3))
    document("convert", folder, *words, "--calibration", 0.1, "--out", tmp_path / "c.npz")
    with_calibration = random_splits(load(folder), count=2, train=0.6, val=0.2, calibration=0.1, seed=3)
    assert load(tmp_path / "c.npz").equals(with_calibration)
    document("convert", folder, "--folds", 3, "--out", tmp_path / "h.npz")
    assert load(tmp_path / "h.npz").equals(folds(load(folder), count=3, val=0.25))


def test_compare_takes_folds(folder: Path) -> None:
    compared = document("compare", folder, "--models", "mlp", *TINY, "--folds", 2)
    assert {row["model"] for row in compared["models"]} == {"mlp", "majority"}


def test_a_study_remembers_its_folds(folder: Path, tmp_path: Path) -> None:
    words = ("--model", "sgc", "--folds", 3, "--budget", 2, "--generation", 2, "--set", "epochs=5")
    document("tune", folder, *words, "--out", tmp_path / "study")
    assert document("tune", "--resume", tmp_path / "study")["configurations"] == 2
    assert "--folds is for a new study" in refused("tune", "--resume", tmp_path / "study", "--folds", 3)


def test_every_labelled_node_is_predicted_once_out_of_fold(run: Path, folder: Path, tmp_path: Path) -> None:
    settings = json.loads((run / "config.json").read_text())["graph"]["source"]["splits"]
    assert (settings["folds"], settings["val"], settings["count"]) == (4, 0.3, 0)
    out = tmp_path / "p.csv"
    report = document("predict", run, "--out-of-fold", "--out", out)
    graph = load(folder)
    assert report == {
        "out": str(out),
        "predictions": graph.labelled.size,
        "new_nodes": 0,
        "threshold": None,
        "notes": [],
    }
    rows = list(csv.DictReader(out.read_text().splitlines()))
    assert list(rows[0])[:3] == ["node", "label", "predicted"]
    assert [int(row["node"]) for row in rows] == graph.labelled.tolist()
    assert [row["label"] for row in rows] == [graph.label_names[label] for label in graph.labels[graph.labelled]]
    for number, split in enumerate(graph_of(Run.open(run)).splits):
        with np.load(run / f"split-{number:02d}" / "predictions.npz") as stored:
            expected = stored["probabilities"][split.test]
        positions = np.searchsorted(graph.labelled, split.test)
        written = [[float(rows[position][f"p_{name}"]) for name in graph.label_names] for position in positions]
        np.testing.assert_allclose(written, expected, rtol=1e-6)
    document("predict", run, "--out-of-fold", "--out", tmp_path / "p.npz")
    with np.load(tmp_path / "p.npz") as stored:
        assert stored["label"].tolist() == [row["label"] for row in rows]


def test_nodes_in_no_test_part_are_left_out_with_a_note(run: Path, tmp_path: Path) -> None:
    report = document("predict", run, "--out-of-fold", "--splits", "0,2", "--out", tmp_path / "p.csv")
    assert report["predictions"] == 36
    assert report["notes"] == ["36 labelled node(s) are a test node of no finished split and were left out"]


def test_nodes_tested_twice_are_averaged(folder: Path, tmp_path: Path) -> None:
    document("train", folder, "--model", "mlp", *TINY, "--random-splits", 3, "--out", tmp_path / "run")
    run = Run.open(tmp_path / "run")
    graph = graph_of(run)
    predictions = predict_out_of_fold([run], graph)
    several = next(node for node in predictions.nodes if sum(node in split.test for split in graph.splits) == 2)
    kept = []
    for number, split in enumerate(graph.splits):
        if several in split.test:
            with np.load(run.folder(number) / "predictions.npz") as stored:
                kept.append(stored["probabilities"][several])
    row = int(np.searchsorted(predictions.nodes, several))
    np.testing.assert_allclose(predictions.probabilities[row], np.mean(kept, axis=0), rtol=1e-6)
    assert any("averaged" in note for note in predictions.notes)


def test_wrong_options_of_splits_are_refused_in_one_sentence(run: Path, folder: Path, tmp_path: Path) -> None:
    words = ("train", folder, *TINY)
    assert "by count (--random-splits) and by folds" in refused(*words, "--random-splits", 2, "--folds", 2)
    assert "--train is a share of new splits" in refused(*words, "--train", 0.6)
    assert "leave no test nodes" in refused(*words, "--random-splits", 2, "--train", 0.9, "--val", 0.2)
    assert "no meaning with folds" in refused(*words, "--folds", 2, "--train", 0.6)
    assert "count of a split plan is -1; expected 0 or more" in refused(*words, "--random-splits", -1)
    assert "--split-by names no column" in refused(*words, "--split-by", "")
    target = ("--out", tmp_path / "g.npz")
    assert "has no column 'when' (--split-by)" in refused("convert", folder, "--split-by", "when", *target)
    document("convert", folder, *target)
    assert "needs the table of nodes" in refused("convert", *target[1:], "--split-by", "when", *target)
    assert "holds neither dates nor numbers" in refused("convert", folder, "--split-by", "split_0", *target)
    assert "leave GRAPH and --unlabelled out" in refused("predict", run, folder, "--out-of-fold")
    assert "split 9" in refused("predict", run, "--out-of-fold", "--splits", 9, "--json")
    (run / "split-01" / "predictions.npz").write_bytes(b"")
    assert "predictions.npz" in refused("predict", run, "--out-of-fold", "--json")


def test_splits_follow_times_or_groups_in_a_column_of_the_nodes(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("source,target\n" + "".join(f"n{i},n{i + 1}\n" for i in range(39)))
    rows = (f"n{i},{'ab'[i % 2]},{i % 7},2024-{1 + i // 28:02d}-{1 + i % 28:02d},h{i // 4}\n" for i in range(40))
    (tmp_path / "nodes.csv").write_text("id,label,f,since,household\n" + "".join(rows))
    document("convert", tmp_path, "--split-by", "since", "--out", tmp_path / "time.npz")
    (split,) = load(tmp_path / "time.npz").splits
    assert split.train.max() < split.val.min() <= split.val.max() < split.test.min()
    document("convert", tmp_path, "--split-group", "household", "--out", tmp_path / "group.npz")
    for split in load(tmp_path / "group.npz").splits:
        parts = [{int(node) // 4 for node in getattr(split, role)} for role in ("train", "val", "test")]
        assert not (parts[0] & parts[1] or parts[0] & parts[2] or parts[1] & parts[2])
    words = ("train", tmp_path, "--split-by", "since", "--model", "mlp", *TINY)
    assert len(document(*words, "--out", tmp_path / "run")["splits"]) == 1
    assert graph_of(Run.open(tmp_path / "run")).splits[0].equals(load(tmp_path / "time.npz").splits[0])


def split_by_dates(folder: Path, cells: list[str], *more: object) -> list[object]:
    (folder / "edges.csv").write_text("source,target\n" + "".join(f"n{i},n{i + 1}\n" for i in range(39)))
    rows = (f"n{i},{'ab'[i % 2]},{i % 7},{cells[i]}\n" for i in range(40))
    (folder / "nodes.csv").write_text("id,label,f,since\n" + "".join(rows))
    return ["convert", folder, "--split-by", "since", *more, "--out", folder / "time.npz"]


def test_times_of_two_digit_years_are_in_order(tmp_path: Path) -> None:
    cells = [f"{1 + i % 28:02d}/{12 - i % 12:02d}/{17 + i // 10}" for i in range(40)]
    document(*split_by_dates(tmp_path, cells))
    (split,) = load(tmp_path / "time.npz").splits
    assert split.train.max() < 20 <= split.val.min() <= split.val.max() < 30 <= split.test.min()


def test_dates_that_cannot_order_nodes_are_refused_with_line_and_value(tmp_path: Path) -> None:
    cells = [f"2024-{1 + i // 28:02d}-{1 + i % 28:02d}" for i in range(40)]
    for cell, expected in (("2024-02-31", "a day that exists"), ("0024-02-03", "a date in the years 1900 to 2100")):
        answer = refused(*split_by_dates(tmp_path, [*cells[:38], cell, cells[39]], "--drop", "since"))
        assert "nodes.csv, line 40: column 'since' (--split-by) holds" in answer
        assert cell in answer
        assert expected in answer
    old = split_by_dates(tmp_path, [cell.replace("2024", "1724") for cell in cells], "--date", "since")
    assert len(document(*old)) > 0


def test_that_dates_fit_two_orders_is_said(tmp_path: Path) -> None:
    words = split_by_dates(tmp_path, [f"{1 + i % 12:02d}/{1 + i // 12:02d}/2024" for i in range(40)])
    said = " ".join(gpcn(*words).stdout.split())
    assert said.count("'since' is read as %d/%m/%Y, though %m/%d/%Y fits all its values too") >= 1


@pytest.mark.parametrize("word", ["", "NA", "n/a", "None", "-"])
def test_every_missing_word_is_a_group_of_its_own(word: str, tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("source,target\n" + "".join(f"n{i},n{i + 1}\n" for i in range(39)))
    rows = (f"n{i},{'ab'[i % 2]},{i % 7},{'h1' if i < 4 else word}\n" for i in range(40))
    (tmp_path / "nodes.csv").write_text("id,label,f,household\n" + "".join(rows))
    document("convert", tmp_path, "--split-group", "household", "--out", tmp_path / "group.npz")
    graph = load(tmp_path / "group.npz")
    assert [split.train.size for split in graph.splits] == [20] * 5
    assert any("36 labelled node(s) have no 'household'; each is a group of its own" in note for note in graph.notes)


def test_what_was_decided_is_said(folder: Path, tmp_path: Path) -> None:
    rows = list(csv.reader((folder / "nodes.csv").read_text().splitlines()))
    rows[1][rows[0].index("label")] = "rare"
    (tmp_path / "nodes.csv").write_text("\n".join(",".join(row) for row in rows) + "\n")
    words = ("convert", folder / "edges.csv", "--nodes", tmp_path / "nodes.csv", "--folds", 3)
    assert "fewer nodes than there are folds" in gpcn(*words, "--out", tmp_path / "g.npz").stdout
