"""`PausableTraining`: what a training by either rule and a probe give; pauses change nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpcn import Graph
from gpcn.errors import TrainingError
from gpcn.training.config import TrainConfig
from gpcn.training.pausable_training import PausableTraining, train_to_epoch
from gpcn.training.probe import RULES, probe, validation_halves
from gpcn.training.problem import Problem
from gpcn.training.runs.split_run import run_split

GRAPH_OPTIONS = {"nodes": 200, "classes": 3, "degree": 6, "homophily": 0.05, "mixing": "ring", "splits": 1, "seed": 3}

MODELS: list[tuple[str, dict[str, Any]]] = [
    ("gpcn", {"hidden": 8}),
    ("link", {}),
    ("deep-gpcn", {"hidden": 8, "blocks": 2}),
    ("trees", {}),
    ("label-propagation", {}),
]


def training(graph: Graph, config: TrainConfig) -> PausableTraining:
    return PausableTraining(Problem.of(graph, config), config, graph.splits[0], 0)


@pytest.mark.parametrize(("model", "settings"), MODELS, ids=[model for model, _ in MODELS])
class TestAgainstOthers:
    def test_it_is_a_probe_that_keeps_predictions(self, model: str, settings: dict[str, Any], graph: Graph) -> None:
        config = TrainConfig.of(model, epochs=25, patience=10, **settings)
        judged = training(graph, config)
        judged.run(1000)
        crossed = probe(graph, config, 0)
        labels = graph.labels[graph.splits[0].val]
        parts = validation_halves(graph.task, labels, 0, graph.metric)
        for rule, choice in judged.chosen().items():
            mean = np.mean([graph.task.score(choice.crossed[part], labels[part], graph.metric) for part in parts])
            assert mean == pytest.approx(crossed[rule], abs=1e-3)

    def test_its_models_are_those_of_a_training(self, model: str, settings: dict[str, Any], graph: Graph) -> None:
        config = TrainConfig.of(model, epochs=15, patience=100, **settings)
        judged = training(graph, config)
        judged.run(1000)
        for rule, choice in judged.chosen().items():
            result = run_split(graph, TrainConfig.of(model, epochs=15, patience=100, select=rule, **settings), 0)
            assert choice.epoch == result["best_epoch"]
            np.testing.assert_allclose(choice.probabilities, result["probabilities"], atol=1e-6)

    def test_a_pause_changes_nothing(self, model: str, settings: dict[str, Any], graph: Graph) -> None:
        config = TrainConfig.of(model, epochs=20, **settings)
        whole = training(graph, config)
        whole.run(1000)
        first = training(graph, config)  # made when it is run: draws are those of the process
        first.run(6)
        state = first.state()
        first.chosen()  # what was taken before must not change
        second = training(graph, config)
        second.restore(*state)
        second.run(1000)
        expected, paused = whole.chosen(), second.chosen()
        assert expected.keys() == paused.keys()
        for rule in expected:
            np.testing.assert_array_equal(expected[rule].probabilities, paused[rule].probabilities)
            np.testing.assert_array_equal(expected[rule].crossed, paused[rule].crossed)


def test_before_the_second_epoch_there_is_no_model(graph: Graph) -> None:
    judged = training(graph, TrainConfig.of("gpcn", hidden=8))
    judged.run(1)
    assert not judged.usable
    with pytest.raises(TrainingError, match="before its second epoch"):
        judged.chosen()


def test_training_stops_when_its_time_is_over(graph: Graph) -> None:
    judged = training(graph, TrainConfig.of("gpcn", hidden=8))
    judged.run(1000, until=-1.0)
    assert judged.loop.epoch == 0


@pytest.mark.parametrize("model", ["gpcn", "trees", "deep-gpcn"])
def test_a_fixed_number_of_epochs_is_that_epoch(model: str, graph: Graph) -> None:
    """On the same nodes, training to the best epoch is the training that found it."""
    config = TrainConfig.of(model, epochs=15)
    result = run_split(graph, config, 0)
    _, likely = train_to_epoch(Problem.of(graph, config), config, graph.splits[0], 0, result["best_epoch"])
    np.testing.assert_allclose(likely, result["probabilities"], atol=1e-6)


def test_where_validation_nodes_have_no_score_the_loss_chooses(graph: Graph) -> None:
    from dataclasses import replace

    from gpcn import Split

    split = graph.splits[0]
    one_class = split.val[graph.labels[split.val] == 0]
    rest = np.setdiff1d(split.val, one_class)
    changed = replace(
        graph, metric="roc_auc", splits=(Split(train=split.train, val=one_class, test=np.union1d(split.test, rest)),)
    )
    judged = training(changed, TrainConfig.of("gpcn", hidden=8, epochs=5))
    judged.run(1000)
    assert list(judged.chosen()) == [RULES[0]]
