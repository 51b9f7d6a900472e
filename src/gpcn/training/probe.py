"""How good a configuration is, judged by validation nodes alone and without the optimism of choosing on them.

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
from gpcn.nn.engine.memory import reuse_freed_memory
from gpcn.tasks.metrics import find_metric
from gpcn.tasks.task import Task
from gpcn.training.config import TrainConfig
from gpcn.training.loop import loss_and_score
from gpcn.training.problem import Problem
from gpcn.training.trainer_choice import trainer_for

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
    before_epoch: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """Train split `number` until neither rule improves; the crossed score, as results keep it, under each rule.

    `problem` saves preparing the graph again. `with_test` adds `test`: the test score at the epoch each rule chooses
    on all validation nodes. `before_epoch` is called before every epoch and may raise to stop.
    """
    reuse_freed_memory()
    problem = problem or Problem.of(graph, config)
    split = graph.splits[number]
    graph.task.check_can_choose(graph.labels[split.val], graph.metric, f"the validation nodes of split {number}")
    trainer = trainer_for(problem, config, split, number)
    first, second = validation_halves(graph.task, graph.labels[split.val], number, graph.metric)
    metric = find_metric(graph.metric)
    order = trainer.val[torch.from_numpy(np.concatenate([first, second]))]
    block = max(1, MOST_KEPT // max(1, len(order) * graph.num_classes))
    test = torch.tensor(split.test, device=problem.device)
    if with_test:
        trainer.also_judge(test)
    labels = problem.labels
    seen: list[torch.Tensor] = []
    judged: list[Rows] = []
    last_improvement = dict.fromkeys(RULES, 0)
    best = {rule: float("inf") for rule in RULES}
    tests = dict.fromkeys(RULES, float("nan"))
    while trainer.epoch < config["epochs"] and trainer.epoch - max(last_improvement.values()) <= config["patience"]:
        before_epoch()
        trainer.step()
        if trainer.epoch == 1:  # weights as drawn are no candidate
            continue
        logits = trainer.logits
        seen.append(logits[order])
        if len(seen) == block:
            judged.append(_of_halves(graph.task, torch.stack(seen), labels[order], len(first), graph.metric))
            seen.clear()
        _, _, loss, score = trainer.history[-1]
        for rule, value in zip(RULES, (loss, -metric.sign * score), strict=True):
            if value < best[rule]:
                best[rule], last_improvement[rule] = value, trainer.epoch
                if with_test:
                    judgement = loss_and_score(graph.task, logits[test], labels[test], graph.metric)
                    tests[rule] = metric.scale * float(judgement[1])
    if seen:
        judged.append(_of_halves(graph.task, torch.stack(seen), labels[order], len(first), graph.metric))
    scores: dict[str, Any] = {**crossed(np.concatenate(judged), graph.metric), "epochs": trainer.epoch}
    return scores | {"test": tests} if with_test else scores


def validation_halves(
    task: Task, labels: npt.NDArray[Any], number: int, metric: str
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Positions of the validation nodes, in two halves drawn at random.

    Where one of them could not be scored, classes are dealt out in turn; where there are too few even for that, both
    are the whole.
    """
    size = len(labels)
    drawn = np.random.default_rng(number).permutation(size)
    dealt = drawn[np.argsort(labels[drawn], kind="stable")]
    for first, second in ((drawn[: size // 2], drawn[size // 2 :]), (dealt[::2], dealt[1::2])):
        if all(task.is_defined(labels[half], metric) for half in (first, second)):
            return first, second
    return drawn, drawn


def _of_halves(task: Task, logits: torch.Tensor, labels: torch.Tensor, middle: int, metric: str) -> Rows:
    """Loss and score of either half, `[epochs, 4]`, from logits `[epochs, n, C]`: all epochs at once, for an epoch of a
    small graph takes no longer than a few of these operations."""
    columns = []
    for half in (slice(None, middle), slice(middle, None)):
        guesses, truth = logits[:, half], labels[half]
        epochs, size, _ = guesses.shape
        cross_entropy = F.cross_entropy(guesses.flatten(0, 1), truth.repeat(epochs), reduction="none")
        losses = cross_entropy.view(epochs, size).mean(1)
        if metric == "accuracy":
            scores = (guesses.argmax(2) == truth).to(losses.dtype).mean(1)
        elif metric == "log_loss":
            scores = losses
        else:
            scores = torch.stack([loss_and_score(task, epoch, truth, metric)[1] for epoch in guesses])
        columns += [losses, scores]
    return torch.stack(columns, 1).double().numpy()


def crossed(seen: Rows, metric: str = "accuracy") -> dict[str, float]:
    """From rows of (loss, score) of one half and of the other, the score of each at the epoch the other chooses."""
    (first_loss, first_score, second_loss, second_score) = seen.T
    sign, half = find_metric(metric).sign, find_metric(metric).scale / 2
    by_first, by_second = (sign * first_score).argmax(), (sign * second_score).argmax()
    return {
        "loss": half * float(second_score[first_loss.argmin()] + first_score[second_loss.argmin()]),
        "metric": half * float(second_score[by_first] + first_score[by_second]),
    }
