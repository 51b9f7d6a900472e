"""Configurations ranked by validation nodes alone, under the better rule for the best epoch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpcn.paper.evaluations import Evaluations, Progress, Question
from gpcn.paper.searches.plans import Plan, Settings
from gpcn.training.config import TrainConfig
from gpcn.training.loop import RULES


@dataclass(frozen=True)
class Scored:
    """A configuration, the better rule for it, and its crossed validation score."""

    settings: Settings
    rule: str
    score: float


@dataclass(frozen=True)
class SearchResult:
    """The best settings of a search, and all that it tried."""

    best: Scored
    tried: tuple[Settings, ...]


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
        distinct = list({tuple(sorted(candidate.items())): candidate for candidate in settings}.values())
        configs = [TrainConfig.of(model, **{**candidate, **length}) for candidate in distinct]
        questions = [Question(self.dataset, config, split, "probe") for config in configs for split in splits]
        answers = iter(self.evaluations.answer(questions, self.progress))
        ranked = []
        for candidate in distinct:
            split_answers = [next(answers) for _ in splits]
            means = {rule: _mean(answer.get(rule) for answer in split_answers) for rule in RULES}
            rule = max(RULES, key=lambda name: means[name])
            ranked.append(Scored(candidate, rule, means[rule]))
        return sorted(ranked, key=lambda scored: -scored.score)


def _mean(values: Iterable[Any]) -> float:
    scores = list(values)
    return float("-inf") if None in scores else float(np.mean(scores))
