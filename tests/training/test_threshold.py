"""From probabilities to decisions: a number, what validation nodes choose, or the first so many."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace as with_fields
from sklearn.metrics import f1_score

from gpcn import ConfigError, Graph, TrainConfig
from gpcn.core.errors import CheckpointError, DataError
from gpcn.records.reading import encode
from gpcn.runs.predictions.prediction import Predictions, predict
from gpcn.runs.predictions.threshold import (
    best_f1_threshold,
    check_two_classes,
    decide,
    read_threshold,
    validation_nodes,
)
from gpcn.runs.run import Run
from gpcn.runs.training import train
from gpcn.tasks.classification import Classification
from tests.graphs import graph_with_rare_fraud


def predictions(positive: int | None = 1) -> Predictions:
    likely = np.array([0.1, 0.9, 0.3, 0.3, 0.6])
    columns = np.stack([1 - likely, likely], 1)
    if positive is None:
        columns = np.stack([1 - likely, np.zeros(5), likely], 1)
    names = {None: ("fine", "odd", "fraud"), 0: ("fraud", "fine"), 1: ("fine", "fraud")}[positive]
    return Predictions(
        nodes=np.arange(5),
        node_ids=tuple("abcde"),
        probabilities=columns[:, ::-1] if positive == 0 else columns,
        task=Classification.of(names, positive),
        new_nodes=0,
        touching_new=0,
        notes=(),
    )


@pytest.fixture(scope="module")
def graph() -> Graph:
    return graph_with_rare_fraud()


@pytest.fixture(scope="module")
def run(graph: Graph, tmp_path_factory: pytest.TempPathFactory) -> Run:
    path = tmp_path_factory.mktemp("threshold") / "run"
    train(graph, TrainConfig.of("mlp", hidden=8, epochs=25), out=path)
    return Run.open(path)


@pytest.mark.parametrize(
    ("text", "kind", "value", "count"),
    [
        ("0.3", "value", 0.3, 0),
        (" 1 ", "value", 1.0, 0),
        ("0", "value", 0.0, 0),
        ("f1", "f1", 0.5, 0),
        ("top=100", "top", 0.5, 100),
        ("top = 7", "top", 0.5, 7),
    ],
)
def test_numbers_f1_and_top_are_read_as_rules(text: str, kind: str, value: float, count: int) -> None:
    rule = read_threshold(text)
    assert (rule.kind, rule.value, rule.count) == (kind, value, count)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("1.5", "threshold is 1.5; expected a probability from 0 to 1"),
        ("-0.1", "expected a probability from 0 to 1"),
        ("nan", "expected a probability from 0 to 1"),
        ("half", "'half' cannot be read; expected a probability, f1 or a number of nodes"),
        ("top=0", "cannot be read"),
        ("top=-3", "cannot be read"),
        ("", "cannot be read"),
    ],
)
def test_what_cannot_be_read_is_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        read_threshold(text)


@pytest.mark.parametrize("positive", [0, 1])
def test_at_or_above_the_threshold_is_positive(positive: int) -> None:
    decided, about = decide(predictions(positive), read_threshold("0.3"))
    assert decided.predicted == ["fine", "fraud", "fraud", "fraud", "fraud"]
    assert encode(about) == {"rule": "value", "positive": "fraud", "threshold": 0.3, "predicted_positive": 4}


def test_the_most_likely_nodes_are_positive_where_a_number_is_given() -> None:
    decided, about = decide(predictions(), read_threshold("top=3"))
    assert decided.predicted == ["fine", "fraud", "fraud", "fine", "fraud"]  # of equals the first
    assert encode(about) == {"rule": "top", "positive": "fraud", "threshold": 0.3, "predicted_positive": 3}
    assert decide(predictions(), read_threshold("top=100"))[1].predicted_positive == 5


def test_sorting_keeps_rows_together() -> None:
    decided, _ = decide(predictions(), read_threshold("0.5"))
    ordered = decided.sorted()
    assert ordered.node_ids == ("b", "e", "c", "d", "a")
    assert ordered.nodes.tolist() == [1, 4, 2, 3, 0]
    assert ordered.predicted == ["fraud", "fraud", "fine", "fine", "fine"]
    assert ordered.probabilities[:, 1].tolist() == sorted(decided.probabilities[:, 1], reverse=True)
    assert predictions(None).sorted().node_ids[:2] == ("a", "b")  # by confidence: both 0.9


def test_the_best_f1_is_the_one_of_trying_everything() -> None:
    rng = np.random.default_rng(1)
    splits = [(np.round(rng.random(60), 2), rng.random(60) < 0.2) for _ in range(3)]
    threshold, mean = best_f1_threshold(splits)
    tried = [np.mean([f1_score(truth, likely >= t) for likely, truth in splits]) for t in np.linspace(0, 1, 201)]
    assert mean == pytest.approx(max(tried))
    assert np.mean([f1_score(truth, likely >= threshold) for likely, truth in splits]) == pytest.approx(mean)


def test_f1_needs_a_positive_validation_node() -> None:
    with pytest.raises(DataError, match="no validation node is of the positive class"):
        best_f1_threshold([(np.array([0.1, 0.2]), np.array([False, False]))])


def test_the_f1_threshold_of_a_run_comes_from_its_validation_nodes(run: Run, graph: Graph) -> None:
    assert run.task().positive == graph.positive == 0
    pairs = validation_nodes([run], graph)
    assert [likely.size for likely, _ in pairs] == [split.val.size for split in graph.splits]
    run_predictions = predict(run, graph)
    assert run_predictions.task.positive == 0
    decided, about = decide(run_predictions, read_threshold("f1"), pairs)
    threshold, mean = best_f1_threshold(pairs)
    assert (about.threshold, about.validation_f1) == (threshold, mean)
    assert [name == "fraud" for name in decided.predicted] == (
        run_predictions.probabilities[:, 0] >= threshold
    ).tolist()
    assert len(validation_nodes([run, run], graph, [1])) == 1


def test_no_test_label_matters(run: Run, graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    labels = graph.labels.copy()
    in_no_validation = np.setdiff1d(np.arange(graph.num_nodes), np.concatenate([split.val for split in graph.splits]))
    labels[in_no_validation] = 1 - labels[in_no_validation]
    other = replace(graph, labels=labels)
    before = validation_nodes([run], graph)
    monkeypatch.setattr(Graph, "fingerprint", lambda self: run.graph.fingerprint)
    for (first, truth), (second, other_truth) in zip(before, validation_nodes([run], other), strict=True):
        np.testing.assert_array_equal(first, second)
        np.testing.assert_array_equal(truth, other_truth)


def test_what_a_run_cannot_do_is_a_sentence(run: Run, graph: Graph, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="has changed since training"):
        validation_nodes([run], replace(graph, labels=1 - graph.labels))
    with pytest.raises(ConfigError, match="there is no split 9"):
        validation_nodes([run], graph, [9])
    with pytest.raises(CheckpointError, match="split 0 .* is not finished"):
        validation_nodes([Run(tmp_path, run.config, run.graph)], graph, [0])
    with pytest.raises(ConfigError, match="is for two classes, and .* has 3"):
        check_two_classes(Run(tmp_path, run.config, with_fields(run.graph, classes=3, label_names=None, profile=None)))
    with pytest.raises(ConfigError, match="for two classes"):
        decide(predictions(None), read_threshold("0.5"))
