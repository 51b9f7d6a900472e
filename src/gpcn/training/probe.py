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

from gpcn.graph import Graph
from gpcn.nn.engine.memory import reuse_freed_memory
from gpcn.tasks.metrics import find_metric
from gpcn.tasks.task import Task
from gpcn.training.config import TrainConfig
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
    block = max(1, MOST_KEPT // max(1, len(order) * graph.task.num_outputs))
    test = torch.tensor(split.test, device=problem.device)
    if with_test:
        trainer.record_logits_of(test)
    truth = problem.truth
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
            judged.append(_of_halves(graph.task, torch.stack(seen), truth[order], len(first), graph.metric))
            seen.clear()
        _, _, loss, score = trainer.history[-1]
        for rule, value in zip(RULES, (loss, -metric.sign * score), strict=True):
            if value < best[rule]:
                best[rule], last_improvement[rule] = value, trainer.epoch
                if with_test:
                    judgement = graph.task.judge(logits[test], truth[test], graph.metric)
                    tests[rule] = metric.scale * float(judgement[1])
    if seen:
        judged.append(_of_halves(graph.task, torch.stack(seen), truth[order], len(first), graph.metric))
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


def _of_halves(task: Task, outputs: torch.Tensor, truth: torch.Tensor, middle: int, metric: str) -> Rows:
    """Loss and score of either half, `[epochs, 4]`, from outputs `[epochs, n, C]`."""
    halves = (slice(None, middle), slice(middle, None))
    columns = [column for half in halves for column in task.judge_epochs(outputs[:, half], truth[half], metric)]
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
