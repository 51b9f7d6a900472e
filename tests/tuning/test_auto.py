"""`auto`: what it looks at, what it leaves on disk, and that it can be used like any other model."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from gpcn import GPCNClassifier, Graph, save, synthesize
from gpcn.errors import CheckpointError, ConfigError
from gpcn.tuning.auto import auto, look, members, predictions
from gpcn.tuning.executors.serial import SerialExecutor
from tests.commands import in_process


@pytest.fixture(scope="module")
def graph() -> Graph:
    return synthesize(nodes=150, classes=3, degree=6, homophily=0.05, mixing="ring", splits=2, seed=3)


@pytest.fixture(scope="module")
def chosen(graph: Graph, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, object], list[str]]:
    folder, said = tmp_path_factory.mktemp("auto"), []
    found = auto(graph, SerialExecutor(graph), out=folder, seconds=15, splits=[0], say=said.append)
    return folder, found, said


def test_it_says_why(chosen: tuple[Path, dict[str, object], list[str]]) -> None:
    _, found, said = chosen
    assert said == found["why"]
    assert said[0].startswith("signals on validation nodes of split 0: features")
    assert "carries most" in said[0]
    assert said[-1].startswith("chosen: ")


def test_what_it_reports_is_what_its_members_predict(
    graph: Graph, chosen: tuple[Path, dict[str, object], list[str]]
) -> None:
    folder, found, _ = chosen
    voters = members(folder)
    likely = np.mean([predictions(run, 0) for run in voters], axis=0)
    test = graph.splits[0].test
    right = 100 * (likely[test].argmax(1) == graph.labels[test]).mean()
    assert found["test_mean"] == pytest.approx(right)
    assert len(voters) in (1, 3, 5)
    assert json.loads((folder / "auto.json").read_text())["members"] == found["members"]


def test_predictions_are_the_vote(
    graph: Graph, chosen: tuple[Path, dict[str, object], list[str]], tmp_path: Path
) -> None:
    folder, _, _ = chosen
    save(graph, tmp_path / "g.npz")
    answer = in_process("predict", folder, tmp_path / "g.npz", "--out", tmp_path / "p.csv")
    assert answer.returncode == 0, answer.stderr
    rows = list(csv.DictReader((tmp_path / "p.csv").read_text().splitlines()))
    likely = np.mean([predictions(run, 0) for run in members(folder)], axis=0)
    assert len(rows) == graph.num_nodes
    names = graph.label_names or ()
    told = [row["predicted"] == names[best] for row, best in zip(rows, likely.argmax(1), strict=True)]
    assert np.mean(told) > 0.99


def test_the_same_call_goes_on_and_repeats_no_evaluation(
    graph: Graph, chosen: tuple[Path, dict[str, object], list[str]]
) -> None:
    from gpcn.tuning.ledger import Ledger

    folder, _, _ = chosen
    before = [dict(trial.outcomes) for trial in Ledger.open(folder / "study").trials]
    auto(graph, SerialExecutor(graph), out=folder, seconds=3, splits=[0])
    after = [trial.outcomes for trial in Ledger.open(folder / "study").trials]
    for old, new in zip(before, after, strict=False):
        assert old.items() <= new.items()


def test_signals_tell_what_carries() -> None:
    telling = synthesize(nodes=200, classes=2, degree=4, homophily=0.5, splits=1, seed=1, signal=4.0)
    found, _ = look(telling, SerialExecutor(telling), 0, 0)
    assert found["features"] > found["links"] + 10


def test_no_time_is_refused(graph: Graph, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="expected more than none"):
        auto(graph, SerialExecutor(graph), out=tmp_path, seconds=0)


@pytest.mark.parametrize("text", ["{", "{}", '{"members": []}', '{"members": ["../../etc"]}'])
def test_a_damaged_choice_is_one_sentence(text: str, tmp_path: Path) -> None:
    (tmp_path / "auto.json").write_text(text)
    with pytest.raises(CheckpointError, match="auto.json"):
        members(tmp_path)


def test_the_estimator(graph: Graph) -> None:
    nodes = graph.labelled
    made = GPCNClassifier("auto", graph=graph, budget=12, random_state=1).fit(nodes[:100], graph.labels[nodes[:100]])
    assert made.score(nodes[100:], graph.labels[nodes[100:]]) > 0.45
    assert made.auto_["why"]
    np.testing.assert_allclose(made.predict_proba(nodes).sum(1), 1)


def test_words_that_do_not_go_together(tmp_path: Path, graph: Graph) -> None:
    save(graph, tmp_path / "g.npz")
    for words, expected in (
        (["--set", "hidden=8", "--out", "r"], "chooses all settings"),
        ([], "name a folder with --out"),
        (["--out", "r", "--budget", "soon"], "expected a time"),
    ):
        answer = in_process("train", "g.npz", "--model", "auto", *words, cwd=tmp_path)
        assert answer.returncode == 2
        assert expected in answer.stderr
        assert answer.stderr.count("\n") == 1
