"""How good a configuration is, told by validation nodes alone and without the optimism of choosing on them.

The best epoch is chosen on validation nodes, so their score at that epoch flatters; most of all where the epoch is
chosen by that very score. A probe divides the validation nodes in two halves: each half's score is taken at the epoch
that the *other* half chooses. One training serves both rules of choice (`select=loss` and `select=metric`), and its
numbers can be compared between rules and configurations. Test nodes are never looked at.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from gpcn.graph import Graph
from gpcn.nn.memory import reuse_freed_memory
from gpcn.training.config import TrainConfig
from gpcn.training.problem import Problem
from gpcn.training.trainer import Trainer, loss_and_score

RULES = ("loss", "metric")


def probe(graph: Graph, config: TrainConfig, number: int) -> dict[str, Any]:
    """Train split `number` until neither rule improves; the crossed score, in percent, under each rule."""
    reuse_freed_memory()
    trainer = Trainer(Problem.of(graph, config), config, graph.splits[number], number)
    size = len(trainer.val)
    order = torch.from_numpy(np.random.default_rng(number).permutation(size))
    halves = (order[: size // 2], order[size // 2 :])
    labels = trainer.problem.labels[trainer.val]
    seen: list[list[float]] = []
    last_improvement = dict.fromkeys(RULES, 0)
    best = {rule: float("inf") for rule in RULES}
    while trainer.epoch < config["epochs"] and trainer.epoch - max(last_improvement.values()) <= config["patience"]:
        trainer.step()
        if trainer.epoch == 1:  # weights as drawn are no candidate
            continue
        logits = trainer.val_logits
        numbers = [part for half in halves for part in loss_and_score(logits[half], labels[half], graph.metric)]
        seen.append(torch.stack([part.double() for part in numbers]).tolist())
        _, _, loss, score = trainer.history[-1]
        for rule, value in zip(RULES, (loss, -score), strict=True):
            if value < best[rule]:
                best[rule], last_improvement[rule] = value, trainer.epoch
    return {**crossed(np.array(seen)), "epochs": trainer.epoch}


def crossed(seen: np.ndarray[Any, np.dtype[np.float64]]) -> dict[str, float]:
    """From rows of (loss, score) of one half and of the other, the score of each at the epoch the other chooses."""
    (first_loss, first_score, second_loss, second_score) = seen.T
    return {
        "loss": 50 * float(second_score[first_loss.argmin()] + first_score[second_loss.argmin()]),
        "metric": 50 * float(second_score[first_score.argmax()] + first_score[second_score.argmax()]),
    }
