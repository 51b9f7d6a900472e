"""`CrossFitting`: what a training by either rule and a probe give; pauses change nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpcn import Graph
from gpcn.core.errors import TrainingError
from gpcn.runs.split_run import run_split
from gpcn.training.config import TrainConfig
from gpcn.training.cross_fitting import CrossFitting
from gpcn.training.fit import fit
from gpcn.training.loop import LAST, RULES
from gpcn.training.observers import EndAt
from gpcn.training.probe import probe, validation_halves
from gpcn.training.problem import Problem

GRAPH_OPTIONS = {"nodes": 200, "classes": 3, "degree": 6, "homophily": 0.05, "mixing": "ring", "splits": 1, "seed": 3}

MODELS: list[tuple[str, dict[str, Any]]] = [
    ("gpcn", {"hidden": 8}),
    ("link", {}),
    ("deep-gpcn", {"hidden": 8, "blocks": 2}),
    ("trees", {}),
    ("label-propagation", {}),
]


def observed(graph: Graph, config: TrainConfig, end: EndAt | None = None, paused: Any = None) -> CrossFitting:
    crossing = CrossFitting(0, paused)
    observers = [crossing] if end is None else [crossing, end]
    fit(Problem.of(graph, config), config, graph.splits[0], 0, observers, rules=RULES)
    return crossing


@pytest.mark.parametrize(("model", "settings"), MODELS, ids=[model for model, _ in MODELS])
class TestAgainstOthers:
    def test_it_is_a_probe_that_keeps_predictions(self, model: str, settings: dict[str, Any], graph: Graph) -> None:
        config = TrainConfig.of(model, epochs=25, patience=10, **settings)
        judged = observed(graph, config)
        crossed = probe(graph, config, 0)
        labels = graph.labels[graph.splits[0].val]
        parts = validation_halves(graph, graph.splits[0].val, 0)
        for rule, choice in judged.chosen().items():
            mean = np.mean([graph.task.score(choice.cross_fitted[part], labels[part], graph.metric) for part in parts])
            assert mean == pytest.approx(crossed[rule], abs=1e-3)

    def test_its_models_are_those_of_a_training(self, model: str, settings: dict[str, Any], graph: Graph) -> None:
        config = TrainConfig.of(model, epochs=15, patience=100, **settings)
        judged = observed(graph, config)
        for rule, choice in judged.chosen().items():
            result = run_split(graph, TrainConfig.of(model, epochs=15, patience=100, select=rule, **settings), 0)
            assert choice.facts.best_epoch == result.best_epoch
            np.testing.assert_allclose(choice.probabilities, result.probabilities, atol=1e-6)

    def test_a_pause_changes_nothing(self, model: str, settings: dict[str, Any], graph: Graph) -> None:
        config = TrainConfig.of(model, epochs=20, **settings)
        whole = observed(graph, config)
        first = observed(graph, config, EndAt(6))
        state = first.state()
        first.chosen()  # what was taken before must not change
        second = observed(graph, config, paused=state)
        expected, paused = whole.chosen(), second.chosen()
        assert expected.keys() == paused.keys()
        for rule in expected:
            np.testing.assert_array_equal(expected[rule].probabilities, paused[rule].probabilities)
            np.testing.assert_array_equal(expected[rule].cross_fitted, paused[rule].cross_fitted)


def test_before_the_second_epoch_there_is_no_model(graph: Graph) -> None:
    judged = observed(graph, TrainConfig.of("gpcn", hidden=8), EndAt(1))
    assert not judged.usable
    with pytest.raises(TrainingError, match="before its second epoch"):
        judged.chosen()


def test_training_stops_when_its_time_is_over(graph: Graph) -> None:
    for least in (0, 2):
        judged = observed(graph, TrainConfig.of("gpcn", hidden=8), EndAt(1000, until=-1.0, least=least))
        assert judged.training.epoch == least


@pytest.mark.parametrize("model", ["gpcn", "trees", "deep-gpcn"])
def test_a_fixed_number_of_epochs_is_that_epoch(model: str, graph: Graph) -> None:
    """On the same nodes, training to the best epoch is the training that found it."""
    config = TrainConfig.of(model, epochs=15)
    result = run_split(graph, config, 0)
    end = EndAt(result.best_epoch + 1)
    likely = fit(Problem.of(graph, config), config, graph.splits[0], 0, [end], rules=[LAST]).best_logits().softmax(1)
    np.testing.assert_allclose(likely, result.probabilities, atol=1e-6)


def test_where_validation_nodes_have_no_score_the_loss_chooses(graph: Graph) -> None:
    from dataclasses import replace

    from gpcn import Split

    split = graph.splits[0]
    one_class = split.val[graph.labels[split.val] == 0]
    rest = np.setdiff1d(split.val, one_class)
    changed = replace(
        graph, metric="roc_auc", splits=(Split(train=split.train, val=one_class, test=np.union1d(split.test, rest)),)
    )
    judged = observed(changed, TrainConfig.of("gpcn", hidden=8, epochs=5))
    assert list(judged.chosen()) == [RULES[0]]
