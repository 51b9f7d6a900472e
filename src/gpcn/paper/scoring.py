"""Configurations ranked by validation nodes alone, under the better rule for the best epoch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpcn.paper.evaluations import Evaluations, Progress, Question
from gpcn.paper.plans import Plan, Settings
from gpcn.training.config import TrainConfig
from gpcn.training.probe import RULES


@dataclass(frozen=True)
class Scored:
    """A configuration, the better rule for it, and its crossed validation score."""

    settings: Settings
    rule: str
    score: float


@dataclass(frozen=True)
class Scorer:
    """Asks `evaluations` how good settings are on one dataset."""

    dataset: str
    plan: Plan
    evaluations: Evaluations
    progress: Progress | None = None

    def rank(
        self, model: str, settings: Sequence[Settings], splits: tuple[int, ...], *, long: bool = False
    ) -> list[Scored]:
        """Best first; a configuration that failed on any split comes last. `long` has twice the epochs."""
        rounds = 2 if long else 1
        length = {"epochs": rounds * self.plan.epochs, "patience": rounds * self.plan.patience}
        unique = list({tuple(sorted(each.items())): each for each in settings}.values())
        configs = [TrainConfig.of(model, **{**each, **length}) for each in unique]
        questions = [Question(self.dataset, config, split, "probe") for config in configs for split in splits]
        answers = iter(self.evaluations.answer(questions, self.progress))
        found = []
        for each in unique:
            of_splits = [next(answers) for _ in splits]
            means = {rule: _mean(answer.get(rule) for answer in of_splits) for rule in RULES}
            rule = max(RULES, key=lambda name: means[name])
            found.append(Scored(each, rule, means[rule]))
        return sorted(found, key=lambda each: -each.score)


def _mean(values: Iterable[Any]) -> float:
    found = list(values)
    return float("-inf") if None in found else float(np.mean(found))
