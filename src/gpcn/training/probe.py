"""How good a configuration is, told by validation nodes alone and without the optimism of choosing on them.

The best epoch is chosen on validation nodes, so their score at that epoch flatters; most of all where the epoch is
chosen by that very score. A probe divides the validation nodes in two halves: each half's score is taken at the epoch
that the *other* half chooses. One training serves both rules of choice (`select=loss` and `select=metric`), and its
numbers can be compared between rules and configurations. Test nodes are looked at only to write down what they say.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from gpcn.graph import Graph
from gpcn.nn.memory import reuse_freed_memory
from gpcn.training.config import TrainConfig
from gpcn.training.problem import Problem
from gpcn.training.trainer import Trainer, loss_and_score

RULES = ("loss", "metric")


def probe(
    graph: Graph,
    config: TrainConfig,
    number: int,
    *,
    problem: Problem | None = None,
    with_test: bool = False,
    each_epoch: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """Train split `number` until neither rule improves; the crossed score, in percent, under each rule.

    `problem` saves preparing the graph again. `with_test` adds `test`: the test score at the epoch each rule chooses
    on all validation nodes. `each_epoch` is called before every epoch and may raise to stop.
    """
    reuse_freed_memory()
    problem = problem or Problem.of(graph, config)
    split = graph.splits[number]
    trainer = Trainer(problem, config, split, number)
    size = len(trainer.val)
    order = trainer.val[torch.from_numpy(np.random.default_rng(number).permutation(size))]
    halves = (order[: size // 2], order[size // 2 :])
    test = torch.tensor(split.test, device=problem.device)
    labels = problem.labels
    seen: list[list[float]] = []
    last_improvement = dict.fromkeys(RULES, 0)
    best = {rule: float("inf") for rule in RULES}
    tests = dict.fromkeys(RULES, float("nan"))
    while trainer.epoch < config["epochs"] and trainer.epoch - max(last_improvement.values()) <= config["patience"]:
        each_epoch()
        trainer.step()
        if trainer.epoch == 1:  # weights as drawn are no candidate
            continue
        logits = trainer.logits
        numbers = [part for half in halves for part in loss_and_score(logits[half], labels[half], graph.metric)]
        seen.append(torch.stack([part.double() for part in numbers]).tolist())
        _, _, loss, score = trainer.history[-1]
        for rule, value in zip(RULES, (loss, -score), strict=True):
            if value < best[rule]:
                best[rule], last_improvement[rule] = value, trainer.epoch
                if with_test:
                    tests[rule] = 100 * float(loss_and_score(logits[test], labels[test], graph.metric)[1])
    found: dict[str, Any] = {**crossed(np.array(seen)), "epochs": trainer.epoch}
    return found | {"test": tests} if with_test else found


def crossed(seen: np.ndarray[Any, np.dtype[np.float64]]) -> dict[str, float]:
    """From rows of (loss, score) of one half and of the other, the score of each at the epoch the other chooses."""
    (first_loss, first_score, second_loss, second_score) = seen.T
    return {
        "loss": 50 * float(second_score[first_loss.argmin()] + first_score[second_loss.argmin()]),
        "metric": 50 * float(second_score[first_score.argmax()] + first_score[second_score.argmax()]),
    }
