"""How good a configuration is, judged by validation nodes alone and without the optimism of choosing on them.

The best epoch is chosen on validation nodes, so their score at that epoch flatters; most of all where the epoch is
chosen by that very score. A probe divides the validation nodes in two halves: each half's score is taken at the epoch
that the *other* half chooses. One training serves both rules of choice (`select=loss` and `select=metric`), and its
numbers can be compared between rules and configurations. Test nodes are looked at only to write down what they say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from gpcn.graph import Graph
from gpcn.tasks.metrics import find_metric
from gpcn.tasks.task import Task
from gpcn.training.config import TrainConfig
from gpcn.training.fit import fit
from gpcn.training.loop import RULES, Observer, TrainingLoop
from gpcn.training.problem import Problem

MOST_KEPT = 1 << 24  # logits of validation nodes that wait to be judged together
Rows = np.ndarray[Any, np.dtype[np.float64]]


def probe(
    graph: Graph,
    config: TrainConfig,
    number: int,
    *,
    problem: Problem | None = None,
    with_test: bool = False,
    observers: Sequence[Observer] = (),
) -> dict[str, Any]:
    """Train split `number` until neither rule improves; the cross-fitted score, as results keep it, under each rule.

    `problem` saves preparing the graph again. `with_test` adds `test`: the test score at the epoch each rule chooses
    on all validation nodes.
    """
    split = graph.splits[number]
    graph.task.check_can_choose(graph.target.values[split.val], graph.metric, f"the validation nodes of split {number}")
    problem = problem or Problem.of(graph, config)
    scores = CrossFittedScores(number, torch.tensor(split.test, device=problem.device) if with_test else None)
    training = fit(problem, config, split, number, [scores, *observers], rules=RULES, keep=False)
    found: dict[str, Any] = {**scores.by_rule(), "epochs": training.epoch}
    return found | {"test": scores.tests} if with_test else found


class CrossFittedScores(Observer):
    """Keeps loss and score of either half of the validation nodes at every epoch; `test` nodes are scored, too.

    Attributes:
        tests: the test score at the epoch that each rule chooses on all validation nodes.
    """

    def __init__(self, number: int, test: torch.Tensor | None = None) -> None:
        self.number, self.test = number, test
        self.tests = dict.fromkeys(RULES, float("nan"))
        self.waiting: list[torch.Tensor] = []  # logits of the first half, then of the other
        self.judged: list[Rows] = []

    def begin(self, training: TrainingLoop) -> None:
        """Divide the validation nodes."""
        graph = self.graph = training.problem.graph
        first, second = validation_halves(graph, training.val.cpu().numpy(), self.number)
        self.middle, both = len(first), torch.from_numpy(np.concatenate([first, second]))
        self.order, self.truth = training.val[both], training.val_truth[both]
        self.block = max(1, MOST_KEPT // max(1, len(both) * graph.task.num_outputs))
        if self.test is not None:
            training.record_logits_of(self.test)

    def after_epoch(self, training: TrainingLoop) -> None:
        """Keep the logits, and judge them when there are many."""
        if not training.judged_candidate:
            return
        self.waiting.append(training.logits[self.order])
        if len(self.waiting) == self.block:
            self._judge()
        if self.test is not None and training.improved:
            graph, metric = self.graph, find_metric(self.graph.metric)
            truth = training.problem.truth[self.test]
            judgement = graph.task.judge(training.logits[self.test], truth, graph.metric)
            self.tests |= dict.fromkeys(training.improved, metric.scale * float(judgement[1]))

    def by_rule(self) -> dict[str, float]:
        """The score of each half at the epoch that the other one chooses by a rule, their mean."""
        if self.waiting:
            self._judge()
        return cross_fitted(np.concatenate(self.judged), self.graph.metric)

    def _judge(self) -> None:
        logits = torch.stack(self.waiting)
        self.judged.append(_of_halves(self.graph.task, logits, self.truth, self.middle, self.graph.metric))
        self.waiting.clear()


def validation_halves(graph: Graph, nodes: npt.NDArray[Any], number: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return positions in `nodes`, the validation nodes of split `number`, in two halves drawn at random.

    Where one of them could not be scored, strata are dealt out in turn; where there are too few even for that, both
    are the whole.
    """
    size = len(nodes)
    drawn = np.random.default_rng(number).permutation(size)
    dealt = drawn[np.argsort(graph.target.strata[nodes[drawn]], kind="stable")]
    for first, second in ((drawn[: size // 2], drawn[size // 2 :]), (dealt[::2], dealt[1::2])):
        if all(graph.task.is_defined(graph.target.values[nodes[half]], graph.metric) for half in (first, second)):
            return first, second
    return drawn, drawn


def _of_halves(task: Task, outputs: torch.Tensor, truth: torch.Tensor, middle: int, metric: str) -> Rows:
    """Loss and score of either half, `[epochs, 4]`, from outputs `[epochs, n, C]`."""
    halves = (slice(None, middle), slice(middle, None))
    columns = [column for half in halves for column in task.judge_epochs(outputs[:, half], truth[half], metric)]
    return torch.stack(columns, 1).double().numpy()


def cross_fitted(seen: Rows, metric: str = "accuracy") -> dict[str, float]:
    """From rows of (loss, score) of one half and of the other, the score of each at the epoch the other chooses."""
    (first_loss, first_score, second_loss, second_score) = seen.T
    sign, half = find_metric(metric).sign, find_metric(metric).scale / 2
    by_first, by_second = (sign * first_score).argmax(), (sign * second_score).argmax()
    return {
        "loss": half * float(second_score[first_loss.argmin()] + first_score[second_loss.argmin()]),
        "metric": half * float(second_score[by_first] + first_score[by_second]),
    }
