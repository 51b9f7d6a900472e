"""Several workers compute what one machine computes: logits, gradients, whole trainings, in float64."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from gpcn import Graph, TrainConfig
from gpcn.nn import zoo
from gpcn.training.problem import Problem
from gpcn.training.trainer import Trainer
from tests.distributed.workers_of_a_test import part_of, run_workers, split_of
from tests.graphs import graph_of_kind

Job = tuple[str, Graph, TrainConfig, int | None]
"""What to call it, on what, what, and how many epochs: all there are where not said."""


def jobs() -> list[Job]:
    """Every model for two epochs on every kind of graph, and some trainings to their end."""
    listed: list[Job] = []
    for directed in (False, True):
        for sparse in (False, True):
            graph = graph_of_kind(directed, sparse)
            kind = f"{'directed' if directed else 'undirected'} {'sparse' if sparse else 'dense'}"
            for model in (model.name for model in zoo.specifications() if model.exact_on_parts):
                config = TrainConfig.of(model, epochs=2, dropout=0.0, seed=1, **_narrow(model))
                listed.append((f"{model}, {kind}", graph, config, 2))
    two = replace(graph_of_kind(True, False, classes=2, nodes=80), metric="roc_auc")
    for model in ("gpcn-link", "agpcn", "multi-gpcn-link"):
        settings = {"epochs": 25, "patience": 8, "dropout": 0.0, "seed": 3, **_narrow(model)}
        by_metric = TrainConfig.of(model, class_weights=True, select="metric", **settings)
        listed.append((f"{model} to its end, by ROC-AUC, classes weighed", two, by_metric, None))
    settings = {"epochs": 20, "patience": 5, "dropout": 0.0, "seed": 3}
    normalized = TrainConfig.of("sgc", normalize_features=True, direction="both", **settings)
    listed.append(("sgc to its end, features normalized, both directions", graph_of_kind(True, True), normalized, None))
    return listed


def _narrow(model: str) -> dict[str, int]:
    return {} if model in ("sgc", "link") else {"hidden": 6}


def trained(problem: Problem, split: Any, config: TrainConfig, epochs: int | None) -> dict[str, Any]:
    trainer = Trainer(problem, config, split, 0)
    if epochs is None:
        trainer.run()
    for _ in range(epochs or 0):
        trainer.step()
    named = dict(trainer.model.named_parameters())
    gradients = {name: weight.grad.numpy().copy() for name, weight in named.items() if weight.grad is not None}
    return {
        "gradients": gradients,
        "logits": (trainer.evaluate() if epochs else trainer.best_logits()).numpy(),
        "history": trainer.history,
        "epochs": (trainer.epoch, trainer.best_epoch),
        "per_node": trainer.model.per_node_weights,
    }


def work(workers: Any, to_do: list[Job]) -> list[dict[str, Any]]:
    return [
        trained(part_of(graph, config, workers), split_of(graph.splits[0], workers, graph), config, epochs)
        for _, graph, config, epochs in to_do
    ]


@pytest.fixture(scope="module")
def alone() -> Iterator[list[dict[str, Any]]]:
    torch.set_default_dtype(torch.float64)
    try:
        yield [
            trained(Problem.prepared(graph, config, dtype=torch.float64), graph.splits[0], config, epochs)
            for _, graph, config, epochs in jobs()
        ]
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("parts", [1, 2, 3, 4])
def test_logits_gradients_and_trainings_are_those_of_one_machine(alone: list[dict[str, Any]], parts: int) -> None:
    answers = run_workers(parts, work, jobs())
    for index, ((name, *_), expected) in enumerate(zip(jobs(), alone, strict=True)):
        of_parts = [answer[index] for answer in answers]
        close = {"atol": 1e-9, "rtol": 1e-9, "err_msg": name}
        np.testing.assert_allclose(np.concatenate([part["logits"] for part in of_parts]), expected["logits"], **close)
        for weight, gradient in expected["gradients"].items():
            gradients = [part["gradients"][weight] for part in of_parts]
            whole = np.concatenate(gradients) if weight in expected["per_node"] else gradients[0]
            np.testing.assert_allclose(whole, gradient, **close)
        np.testing.assert_allclose(of_parts[0]["history"], expected["history"], **close)
        assert {part["epochs"] for part in of_parts} == {expected["epochs"]}, name
        predicted = np.concatenate([part["logits"] for part in of_parts]).argmax(1)
        np.testing.assert_array_equal(predicted, expected["logits"].argmax(1), err_msg=name)
