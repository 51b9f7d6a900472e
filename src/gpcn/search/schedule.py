"""Who goes on: generations of configurations, halved over splits and then epochs.

Everything here is a function of what was recorded. So it does not matter where, in which order or after how many kills
evaluations were made: the same records lead to the same next step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from gpcn.core.errors import ConfigError
from gpcn.records.reading import Count, Size
from gpcn.search.tasks import Outcome, TrialTask, evaluation_key
from gpcn.tasks.metrics import oriented_score
from gpcn.training.config import TrainConfig
from gpcn.training.loop import RULES

State = Literal["running", "complete", "pruned", "diverged"]


@dataclass(frozen=True)
class Rung:
    """Whoever is here is evaluated on `splits` for at most `epochs`; the best `keep` go on."""

    splits: tuple[Count, ...]
    epochs: Size
    keep: Size


@dataclass(frozen=True)
class Plan:
    """`size` configurations a generation, and the rungs they climb."""

    size: Size
    rungs: tuple[Rung, ...]

    @classmethod
    def of(cls, splits: Sequence[int], epochs: int, *, size: int = 12, share: int = 3) -> Plan:
        """One split and a third of the epochs for all, more splits for one in `share`, everything for the best."""
        if not splits or size < 1 or epochs < 2:
            raise ConfigError(f"a search needs splits, epochs and configurations; found {splits}, {epochs}, {size}")
        short = max(2, math.ceil(epochs / 3))
        some, everything = tuple(splits[:3]), tuple(splits)
        first = max(1, math.ceil(size / share))
        second = max(1, math.ceil(first / share))
        rungs = [Rung(some[:1], short, first)]
        if len(some) > 1:
            rungs.append(Rung(some, short, second))
        rungs.append(Rung(everything, epochs, 1))
        return cls(size, tuple(rungs))


@dataclass
class Trial:
    """A configuration, what was recorded of it, and how it ended.

    Outcomes hold scores as people read them; `score`, `furthest` and `value` are gains, of which the higher is the
    better one also where `metric` is a loss.
    """

    number: int
    generation: int
    point: dict[str, Any]
    config: TrainConfig
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    state: State = "running"
    value: float | None = None
    metric: str = "accuracy"

    @property
    def failed(self) -> bool:
        """Whether an evaluation did."""
        return any("failed" in outcome for outcome in self.outcomes.values())

    def task(self, split: int, epochs: int) -> TrialTask:
        """Its evaluation on `split`."""
        config = self.config.to_json()
        config["training"] = {**config["training"], "epochs": epochs}
        return TrialTask(self.number, TrainConfig.from_json(config), split)

    def outcome(self, split: int, rung: Rung, plan: Plan) -> Outcome | None:
        """What is known of `split` at `rung`: also a shorter one that ended by itself, for it would again."""
        for other in plan.rungs:
            outcome = self.outcomes.get(evaluation_key(split, other.epochs))
            if outcome is not None and (other.epochs == rung.epochs or outcome.get("epochs", 0) < other.epochs):
                return outcome
        return None

    def score(self, rung: Rung, plan: Plan) -> tuple[float, str] | None:
        """The mean gain over the rung's splits under the better rule, and that rule; `None` where one failed."""
        outcomes = [self.outcome(split, rung, plan) for split in rung.splits]
        recorded = [outcome for outcome in outcomes if outcome is not None]
        if len(recorded) < len(outcomes) or any("failed" in outcome for outcome in recorded):
            return None
        means = {
            rule: oriented_score(self.metric, float(np.mean([outcome[rule] for outcome in recorded]))) for rule in RULES
        }
        rule = max(RULES, key=lambda name: means[name])
        return means[rule], rule

    def furthest(self, plan: Plan) -> tuple[int, float, str] | None:
        """The last rung on which it has a score, that gain and its rule; `None` where it has failed, or has none."""
        if self.failed:
            return None
        for level in reversed(range(len(plan.rungs))):
            scored = self.score(plan.rungs[level], plan)
            if scored is not None:
                return level, *scored
        return None


@dataclass(frozen=True)
class Step:
    """What a generation needs next: `tasks` to run, or nothing more; and how those who left it ended."""

    tasks: tuple[TrialTask, ...]
    ended: tuple[tuple[Trial, State, int, float | None], ...]


def next_step(generation: Sequence[Trial], plan: Plan) -> Step:
    """From all that is recorded of a generation, what comes next."""
    alive = list(generation)
    ended: list[tuple[Trial, State, int, float | None]] = []
    for level, rung in enumerate(plan.rungs):
        missing = [
            trial.task(split, rung.epochs)
            for split in rung.splits
            for trial in alive
            if trial.outcome(split, rung, plan) is None
        ]
        if missing:
            return Step(tuple(missing), tuple(ended))
        scores = {trial.number: trial.score(rung, plan) for trial in alive}
        ended += [(trial, "diverged", level, None) for trial in alive if scores[trial.number] is None]
        standing = sorted(
            (trial for trial in alive if scores[trial.number] is not None),
            key=lambda trial: (-scores[trial.number][0], trial.number),  # type: ignore[index]
        )
        last = level == len(plan.rungs) - 1
        alive = standing if last else standing[: rung.keep]
        for trial in standing[len(alive) :]:
            ended.append((trial, "pruned", level, scores[trial.number][0]))  # type: ignore[index]
        if last:
            ended += [(trial, "complete", level, scores[trial.number][0]) for trial in alive]  # type: ignore[index]
    return Step((), tuple(ended))
