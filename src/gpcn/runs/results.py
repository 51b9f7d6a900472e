"""Results of a run: scores of every split and part, and their means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from msgspec import Struct

from gpcn.graph.split import SCORED
from gpcn.records.reading import Count, Number, Seconds
from gpcn.runs.records import ConfigRecord
from gpcn.runs.score_statistics import summarize
from gpcn.tasks.task import PartScores
from gpcn.training.config import TrainConfig
from gpcn.training.training_facts import TrainingFacts


class SplitResult(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Scores of one split, and how its training went.

    Args:
        epochs: how many there were.
        best_epoch: the one whose weights are kept.
        parameters: learned numbers.
        coefficients: of the powers, where the model has them.
        mix: the share of convolution, where the model has links beside it.
        metrics: what the task's `evaluate` gives for `train`, `val` and `test`.
        probabilities: of all nodes, `[N, C]`, of a split that is not kept on disk.
    """

    split: Count
    seed: Count
    test: Number | None
    val: Number | None
    train: Number | None
    epochs: Count
    best_epoch: Count
    seconds: Seconds
    parameters: Count
    coefficients: tuple[Number | None, ...] | None
    mix: Number | None
    metrics: dict[str, Any]
    probabilities: Any = None

    def __post_init__(self) -> None:
        for role in SCORED:
            if role not in self.metrics:
                raise ValueError(f"metrics.{role} is missing")

    @classmethod
    def of(cls, number: int, seed: int, metrics: Mapping[str, PartScores], facts: TrainingFacts) -> SplitResult:
        """Return the result of split `number` from its `metrics` and the `facts` of its training."""
        scores: dict[str, Any] = {role: metrics[role].score for role in SCORED}
        return cls(split=number, seed=seed, metrics=dict(metrics), **scores, **asdict(facts))


class SplitRecord(Struct, frozen=True):
    """A split's `result.json`: whose it is, its result, and the checksums of the files beside it."""

    owner: str
    files: dict[str, str]
    result: SplitResult


class RunResult(Struct, frozen=True, kw_only=True):
    """Mean and deviation over splits, every single value kept."""

    graph: str
    model: str
    metric: str
    test_mean: float | None
    test_std: float | None
    val_mean: float | None
    seconds: float
    parameters: int | None
    config: ConfigRecord
    splits: tuple[SplitResult, ...]

    @classmethod
    def of(cls, config: TrainConfig, graph: str, metric: str, splits: Sequence[SplitResult]) -> RunResult:
        """Summarize the results of `splits`."""
        test_mean, test_std = summarize([split.test for split in splits])
        val_mean, _ = summarize([split.val for split in splits])
        return cls(
            graph=graph,
            model=config.model,
            metric=metric,
            test_mean=test_mean,
            test_std=test_std,
            val_mean=val_mean,
            seconds=round(sum(split.seconds for split in splits), 3),
            parameters=splits[0].parameters if splits else None,
            config=ConfigRecord.of(config),
            splits=tuple(splits),
        )
