"""Several workers compute what one machine computes: logits, gradients, whole trainings, in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from gpcn import Graph, TrainConfig, synthesize
from gpcn.training.problem import Problem
from gpcn.training.trainer import Trainer
from tests.distributed.workers_of_a_test import part_of, run_workers, split_of

MODELS = (
    "gpcn",
    "gpcn-link",
    "agpcn",
    "agpcn-link",
    "generalized-gpcn",
    "multi-gpcn",
    "multi-gpcn-link",
    "mlp",
    "sgc",
    "link",
)


def trained(graph: Graph, problem: Problem, split: Any, config: TrainConfig, epochs: int) -> dict[str, Any]:
    trainer = Trainer(problem, config, split, 0)
    for _ in range(epochs):
        trainer.step()
    names = [name for name, _ in trainer.model.named_parameters()]
    gradients = {name: weight.grad.numpy() for name, weight in zip(names, trainer.parameters, strict=True)}
    return {
        "logits": trainer.evaluate().numpy(), "gradients": gradients, "history": trainer.history, "best": trainer.best_epoch,
        "per_node": trainer.model.per_node_weights,
    }  # fmt: skip


def work(workers: Any, graph: Graph, configs: list[TrainConfig], epochs: int) -> list[dict[str, Any]]:
    return [
        trained(graph, part_of(graph, config, workers), split_of(graph.splits[0], workers, graph), config, epochs)
        for config in configs
    ]


@pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])
@pytest.mark.parametrize("parts", [2, 3])
def test_logits_gradients_and_scores_are_those_of_one_machine(parts: int, directed: bool) -> None:
    graph = synthesize(nodes=90, classes=3, features=7, splits=1, seed=2, directed=directed)
    configs = [TrainConfig.of(model, epochs=5, dropout=0.0, seed=1) for model in MODELS]
    answers = run_workers(parts, work, graph, configs, 5)
    torch.set_default_dtype(torch.float64)
    try:
        for index, config in enumerate(configs):
            problem = Problem.prepared(graph, config, dtype=torch.float64)
            alone = trained(graph, problem, graph.splits[0], config, 5)
            of_parts = [answer[index] for answer in answers]
            logits = np.concatenate([part["logits"] for part in of_parts])
            np.testing.assert_allclose(logits, alone["logits"], atol=1e-9, rtol=1e-9, err_msg=config.model)
            for name, gradient in alone["gradients"].items():
                if name in alone["per_node"]:
                    together = np.concatenate([part["gradients"][name] for part in of_parts])
                else:
                    together = of_parts[0]["gradients"][name]
                np.testing.assert_allclose(together, gradient, atol=1e-9, rtol=1e-9, err_msg=f"{config.model} {name}")
            np.testing.assert_allclose(of_parts[0]["history"], alone["history"], atol=1e-9)
            assert {part["best"] for part in of_parts} == {alone["best"]}
    finally:
        torch.set_default_dtype(torch.float32)
