"""Every metric against scikit-learn, in arrays and tensors; direction; the rule for users' own graphs; the majority."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn import metrics as sk
from sklearn.preprocessing import label_binarize

from gpcn import ConfigError, TrainConfig
from gpcn.core.errors import TrainingError
from gpcn.runs.comparison import compare, compare_finished
from gpcn.runs.training import train
from gpcn.tasks.classification import Classification, ClassScores
from gpcn.tasks.metric_choice import default_metric, positive_class
from gpcn.tasks.metrics import find_metric, metric_names, oriented_score, register_metric
from gpcn.training.probe import cross_fitted, probe, validation_halves
from gpcn.training.problem import Problem
from gpcn.training.trainer import Trainer
from tests.graphs import imbalanced_graph, make_graph

METRICS = metric_names("classification")
RNG = np.random.default_rng(5)


def sample(classes: int, nodes: int = 300) -> tuple[np.ndarray, np.ndarray]:
    logits = np.tile(RNG.normal(size=(nodes // 3, classes)), (3, 1))  # with ties
    return logits, np.concatenate([np.arange(classes), RNG.integers(0, classes, nodes - classes)])


def by_scikit_learn(name: str, probabilities: np.ndarray, labels: np.ndarray, positive: int | None) -> float:
    predicted, classes = probabilities.argmax(1), probabilities.shape[1]
    hot = label_binarize(labels, classes=range(classes))
    two = {
        "f1": lambda: sk.f1_score(labels, predicted, pos_label=positive),
        "roc_auc": lambda: sk.roc_auc_score(labels, probabilities[:, 1]),
        "average_precision": lambda: sk.average_precision_score(labels == positive, probabilities[:, positive]),
    }
    several = {
        "f1": lambda: sk.f1_score(labels, predicted, average="macro"),
        "roc_auc": lambda: sk.roc_auc_score(labels, probabilities, multi_class="ovr", average="macro"),
        "average_precision": lambda: sk.average_precision_score(hot, probabilities, average="macro"),
    }
    every = {
        "accuracy": lambda: sk.accuracy_score(labels, predicted),
        "balanced_accuracy": lambda: sk.balanced_accuracy_score(labels, predicted),
        "log_loss": lambda: sk.log_loss(labels, probabilities),
    }
    return float((every | (two if classes == 2 else several))[name]())


@pytest.mark.parametrize(("classes", "positive"), [(2, 0), (2, 1), (4, None)])
@pytest.mark.parametrize("name", METRICS)
def test_arrays_and_tensors_agree_with_scikit_learn(name: str, classes: int, positive: int | None) -> None:
    logits, labels = sample(classes)
    tensors = torch.tensor(logits), torch.tensor(labels)
    probabilities = torch.softmax(tensors[0], 1).numpy()
    expected = by_scikit_learn(name, probabilities, labels, positive)
    task = Classification(classes, positive)
    assert task.share(probabilities, labels, name) == pytest.approx(expected)
    assert task.tensor_score(*tensors, name).item() == pytest.approx(expected)
    assert task.judge(*tensors, name)[1].item() == pytest.approx(expected)
    scale = 1 if name == "log_loss" else 100
    assert task.score(probabilities, labels, name) == pytest.approx(scale * expected)
    everything = task.evaluate(probabilities, labels, name)
    assert everything.score == pytest.approx(scale * expected)
    assert getattr(everything, name) == pytest.approx(expected)


@pytest.mark.parametrize("name", METRICS)
def test_what_is_undefined_is_none_and_nan(name: str) -> None:
    logits, probabilities = torch.randn(5, 2), np.full((5, 2), 0.5)
    negatives = np.zeros(5, int)
    undefined = name in ("f1", "roc_auc", "average_precision")
    task = Classification(2, positive=1)
    assert (task.share(probabilities, negatives, name) is None) == undefined
    assert math.isnan(task.tensor_score(logits, torch.tensor(negatives), name).item()) == undefined
    assert task.is_defined(negatives, name) != undefined
    assert task.evaluate(probabilities[:0], negatives[:0], name).score is None


def test_the_mean_is_over_classes_that_are_present() -> None:
    logits, labels = sample(4)
    labels[labels == 3] = 0
    probabilities = torch.softmax(torch.tensor(logits), 1).numpy()
    for name, reference in (("roc_auc", sk.roc_auc_score), ("average_precision", sk.average_precision_score)):
        expected = np.mean([reference(labels == c, probabilities[:, c]) for c in range(3)])
        task = Classification(4)
        assert task.share(probabilities, labels, name) == pytest.approx(expected)
        assert task.tensor_score(torch.tensor(logits), torch.tensor(labels), name).item() == pytest.approx(expected)


def test_gains_are_higher_where_scores_are_better() -> None:
    assert oriented_score("accuracy", 80.0) > oriented_score("accuracy", 70.0) > oriented_score("accuracy", None)
    assert oriented_score("log_loss", 0.3) > oriented_score("log_loss", 0.7) > oriented_score("log_loss", None)
    assert [name for name in METRICS if find_metric(name).ranking] == ["roc_auc", "average_precision"]
    assert [name for name in METRICS if not find_metric(name).percent] == ["log_loss"]


def test_unknown_metrics_and_a_name_that_is_taken_are_refused() -> None:
    with pytest.raises(ConfigError, match="no metric called 'acuracy'.*accuracy"):
        find_metric("acuracy")
    with pytest.raises(ConfigError, match="there is a metric called 'f1' already"):
        register_metric(find_metric("f1"))
    assert metric_names("number") == ()


@pytest.mark.parametrize(
    ("counts", "metric"), [((94, 6), "average_precision"), ((19, 81), "average_precision"), ((80, 20), "accuracy")]
)
def test_a_rare_class_is_judged_by_average_precision(counts: tuple[int, int], metric: str) -> None:
    labels = np.concatenate([np.repeat([0, 1], counts), np.full(50, -1)])
    assert default_metric(labels, ("fine", "fraud"))[0] == metric
    if counts == (94, 6):
        why = "average_precision is used because only 6.0% of the labelled nodes are 'fraud'"
        assert default_metric(labels, ("fine", "fraud"))[1] == f"{why}; set metric to choose another"
        assert "'1'" in str(default_metric(labels)[1])
    assert positive_class(labels, 2) == int(np.argmin(counts))


def test_other_graphs_are_judged_by_accuracy() -> None:
    for labels, names in (
        (np.array([0] * 90 + [1] * 5 + [2] * 5), None),
        (np.array([0] * 90 + [1] * 5), ("a", "b", "c")),
        (np.zeros(9, int), ("a", "b")),
        (np.full(9, -1), None),
    ):
        assert default_metric(labels, names) == ("accuracy", None)
    assert positive_class(np.array([0, 1]), 2) == 1
    assert positive_class(np.array([0, 1, 2]), 3) is None


def test_another_metric_takes_the_note_away() -> None:
    labels = np.array([0] * 50 + [1] * 5)
    metric, note = default_metric(labels, ("fine", "fraud"))
    graph = make_graph(
        num_nodes=55, labels=labels, features=np.ones((55, 1)), splits=(), label_names=("fine", "fraud"),
        metric=metric, notes=("read twice", note),
    )  # fmt: skip
    assert graph.positive == 1
    assert graph.with_metric("average_precision") is graph
    assert graph.with_metric("f1").notes == ("read twice",)
    assert graph.with_metric("f1").metric == "f1"


@pytest.mark.parametrize("name", METRICS)
def test_training_chooses_its_epoch_by_any_metric(name: str) -> None:
    graph = imbalanced_graph(name)
    assert graph.positive == 0
    config = TrainConfig.of("mlp", hidden=8, epochs=30, patience=30, select="metric")
    trainer = Trainer(Problem.of(graph, config), config, graph.splits[0], 0)
    trainer.run()
    history = [find_metric(name).sign * row[3] for row in trainer.history[1:]]
    assert trainer.best_epoch == 1 + int(np.argmax(history))
    result = train(graph, config)
    assert result.metric == name
    assert result.splits[0].test > 0
    expected = find_metric(name).scale * getattr(result.splits[0].metrics["test"], name)
    assert result.splits[0].test == pytest.approx(expected)


@pytest.mark.parametrize("name", METRICS)
def test_a_probe_scores_halves_by_any_metric(name: str) -> None:
    graph = imbalanced_graph(name)
    scores = probe(graph, TrainConfig.of("mlp", hidden=8, epochs=12), 0, with_test=True)
    assert np.isfinite([scores["loss"], scores["metric"], *scores["test"].values()]).all()
    assert all(0 <= value <= find_metric(name).scale * 2 for value in scores["test"].values())


def test_crossed_scores_of_a_loss_are_at_its_lowest() -> None:
    rows = np.array([[0.5, 0.5, 0.9, 0.9], [0.8, 0.8, 0.2, 0.2]])  # loss and score of either half, two epochs
    assert cross_fitted(rows, "log_loss")["metric"] == pytest.approx(0.5 * (0.9 + 0.8))
    assert cross_fitted(rows, "accuracy")["metric"] == pytest.approx(50 * (0.2 + 0.5))


def test_halves_have_the_positive_class_where_f1_needs_it() -> None:
    labels = np.array([1] * 18 + [0] * 2)
    graph = make_graph(num_nodes=20, labels=labels, features=np.ones((20, 1)), splits=(), metric="f1")
    for number in range(20):
        assert all((labels[half] == 0).any() for half in validation_halves(graph, np.arange(20), number))


def test_a_validation_set_of_one_class_cannot_choose() -> None:
    graph = imbalanced_graph("average_precision")
    split = graph.splits[0]
    only = replace(split, val=split.val[graph.labels[split.val] == 1])
    with pytest.raises(TrainingError, match="average precision needs two classes among the val.* so it cannot"):
        train(replace(graph, splits=(only,)), TrainConfig.of("mlp", epochs=5, select="metric"))


def counted(*support: int) -> ClassScores:
    """Scores of nodes of which there are so many in each class."""
    labels = np.repeat(np.arange(len(support)), support)
    return Classification(len(support)).evaluate(np.eye(len(support))[labels], labels, "accuracy")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("accuracy", 70.0),
        ("balanced_accuracy", 50.0),
        ("f1", 0.0),
        ("roc_auc", 50.0),
        ("average_precision", 30.0),
        ("log_loss", -(0.7 * math.log(0.8) + 0.3 * math.log(0.2))),
    ],
)
def test_the_majority_gets_the_score_of_constant_predictions(name: str, expected: float) -> None:
    score = Classification(2, positive=1).baseline_score(counted(80, 20), counted(7, 3), name)
    assert score == pytest.approx(expected)


@pytest.mark.parametrize("name", METRICS)
def test_a_comparison_has_the_majority_as_a_row(name: str) -> None:
    graph = imbalanced_graph(name)
    results = [train(graph, TrainConfig.of(model, hidden=8, epochs=30)) for model in ("mlp", "gpcn")]
    comparison = compare(graph, results)
    rows = {row.model: row for row in comparison.models}
    assert set(rows) == {"mlp", "gpcn", "majority"}
    gains = [oriented_score(name, row.test_mean) for row in comparison.models]
    assert gains == sorted(gains, reverse=True)
    assert comparison.chosen_on_validation == max(results, key=lambda r: oriented_score(name, r.val_mean)).model
    majority = rows["majority"]
    assert (majority.reference, majority.best, majority.beats_majority) == (True, False, False)
    for model in ("mlp", "gpcn"):
        better = oriented_score(name, rows[model].test_mean) > oriented_score(name, majority.test_mean)
        assert rows[model].beats_majority == better
        assert not rows[model].reference
    for split, row in zip(graph.splits, majority.splits, strict=True):
        shares = np.bincount(graph.labels[split.train], minlength=2) / split.train.size
        constant = np.tile(shares, (split.test.size, 1))
        assert row.test == pytest.approx(graph.task.score(constant, graph.labels[split.test], name))
    assert compare_finished(results, graph.task).models == comparison.models


def test_a_model_that_learns_nothing_does_not_beat_the_majority() -> None:
    graph = imbalanced_graph("accuracy")
    shuffled = replace(graph, labels=np.random.default_rng(0).permutation(graph.labels))
    comparison = compare(shuffled, [train(shuffled, TrainConfig.of("mlp", hidden=8, epochs=2))])
    assert {row.model: row.beats_majority for row in comparison.models}["mlp"] is False
    assert comparison.chosen_on_validation == "mlp"
