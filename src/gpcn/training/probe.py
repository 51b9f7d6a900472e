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
import numpy.typing as npt
import torch
import torch.nn.functional as F

from gpcn.graph import Graph
from gpcn.nn.memory import reuse_freed_memory
from gpcn.training.config import TrainConfig
from gpcn.training.problem import Problem
from gpcn.training.trainer import Trainer, loss_and_score

RULES = ("loss", "metric")
MOST_KEPT = 1 << 24  # logits of validation nodes that wait to be judged together
Rows = np.ndarray[Any, np.dtype[np.float64]]


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
    first, second = halves(graph.labels[split.val], number, graph.metric)
    order = trainer.val[torch.from_numpy(np.concatenate([first, second]))]
    block = max(1, MOST_KEPT // max(1, len(order) * graph.num_classes))
    test = torch.tensor(split.test, device=problem.device)
    labels = problem.labels
    seen: list[torch.Tensor] = []
    judged: list[Rows] = []
    last_improvement = dict.fromkeys(RULES, 0)
    best = {rule: float("inf") for rule in RULES}
    tests = dict.fromkeys(RULES, float("nan"))
    while trainer.epoch < config["epochs"] and trainer.epoch - max(last_improvement.values()) <= config["patience"]:
        each_epoch()
        trainer.step()
        if trainer.epoch == 1:  # weights as drawn are no candidate
            continue
        logits = trainer.logits
        seen.append(logits[order])
        if len(seen) == block:
            judged.append(_of_halves(torch.stack(seen), labels[order], len(first), graph.metric))
            seen.clear()
        _, _, loss, score = trainer.history[-1]
        for rule, value in zip(RULES, (loss, -score), strict=True):
            if value < best[rule]:
                best[rule], last_improvement[rule] = value, trainer.epoch
                if with_test:
                    tests[rule] = 100 * float(loss_and_score(logits[test], labels[test], graph.metric)[1])
    if seen:
        judged.append(_of_halves(torch.stack(seen), labels[order], len(first), graph.metric))
    found: dict[str, Any] = {**crossed(np.concatenate(judged)), "epochs": trainer.epoch}
    return found | {"test": tests} if with_test else found


def halves(labels: npt.NDArray[Any], number: int, metric: str) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Places of the validation nodes, in two halves drawn at random.

    Where one of them could not be scored, classes are dealt out in turn; where there are too few even for that, both
    are the whole.
    """
    size = len(labels)
    drawn = np.random.default_rng(number).permutation(size)
    dealt = drawn[np.argsort(labels[drawn], kind="stable")]
    for first, second in ((drawn[: size // 2], drawn[size // 2 :]), (dealt[::2], dealt[1::2])):
        if all(_can_be_scored(labels[half], metric) for half in (first, second)):
            return first, second
    return drawn, drawn


def _can_be_scored(labels: npt.NDArray[Any], metric: str) -> bool:
    return len(labels) > 0 and (metric != "roc_auc" or len(np.unique(labels)) > 1)


def _of_halves(logits: torch.Tensor, labels: torch.Tensor, middle: int, metric: str) -> Rows:
    """Loss and score of either half, `[epochs, 4]`, from logits `[epochs, n, C]`: all epochs at once, for an epoch of a
    small graph takes no longer than a few of these operations."""
    columns = []
    for half in (slice(None, middle), slice(middle, None)):
        mine, truth = logits[:, half], labels[half]
        epochs, size, _ = mine.shape
        losses = F.cross_entropy(mine.flatten(0, 1), truth.repeat(epochs), reduction="none").view(epochs, size).mean(1)
        if metric == "roc_auc":
            scores = torch.stack([loss_and_score(each, truth, metric)[1] for each in mine])
        else:
            scores = (mine.argmax(2) == truth).to(losses.dtype).mean(1)
        columns += [losses, scores]
    return torch.stack(columns, 1).double().numpy()


def crossed(seen: Rows) -> dict[str, float]:
    """From rows of (loss, score) of one half and of the other, the score of each at the epoch the other chooses."""
    (first_loss, first_score, second_loss, second_score) = seen.T
    return {
        "loss": 50 * float(second_score[first_loss.argmin()] + first_score[second_loss.argmin()]),
        "metric": 50 * float(second_score[first_score.argmax()] + first_score[second_score.argmax()]),
    }
