"""Several models on the same splits of one graph: differences to the best, tested, and the majority as reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from gpcn.graph import Graph
from gpcn.runs.results import RunResult
from gpcn.runs.score_statistics import PairedDifference, compare_pairs, summarize
from gpcn.tasks.metrics import oriented_score
from gpcn.tasks.task import Task

MAJORITY = "majority"
"""The name of the row for who knows the class shares of the training nodes and nothing else."""


class SplitScores(Struct, frozen=True):
    """Scores of a model on one split."""

    split: int
    test: float | None
    val: float | None
    epochs: int
    seconds: float


class ModelScores(Struct, frozen=True, kw_only=True):
    """Scores of a model on all splits, and their means."""

    model: str
    test_mean: float | None
    test_std: float | None
    val_mean: float | None
    seconds: float
    parameters: int | None
    splits: tuple[SplitScores, ...]

    @classmethod
    def of(cls, result: RunResult) -> ModelScores:
        """Return what a comparison shows of `result`."""
        names = [name for name in ModelScores.__struct_fields__ if name != "splits"]
        splits = tuple(
            SplitScores(split.split, split.test, split.val, split.epochs, split.seconds) for split in result.splits
        )
        return cls(**{name: getattr(result, name) for name in names}, splits=splits)


class ComparedModel(ModelScores, frozen=True, kw_only=True):
    """A row of a comparison.

    Args:
        against_best: its difference to the best over the same splits; `None` of the best itself.
        best: whether it has the best mean on validation nodes.
        reference: whether it is the majority.
        beats_majority: in the mean test score; `None` where one of the two is undefined.
    """

    against_best: PairedDifference | None
    best: bool
    reference: bool
    beats_majority: bool | None

    @property
    def is_idle(self) -> bool:
        """Whether it is a model that does no better than the majority."""
        return self.beats_majority is False and not self.reference


class Comparison(Struct, frozen=True):
    """Models on one graph, sorted by mean test score; `chosen_on_validation` is the best on validation nodes."""

    graph: str
    metric: str
    chosen_on_validation: str | None
    models: tuple[ComparedModel, ...]


def compare(graph: Graph, results: Sequence[RunResult]) -> Comparison:
    """Return rows sorted by mean test score, each with its difference to the best over the same splits.

    The best is the one with the best mean on *validation* nodes, so that the reference is not chosen on test nodes;
    where no model has a score there (ROC-AUC of nodes of one class), none is, and `chosen_on_validation` is `None`.
    The row `majority` is what the class shares of the training nodes alone achieve; it is never the best.
    """
    share = float(np.mean([split.test.size / (split.test.size + split.train.size) for split in graph.splits]))
    return _ranked(results, graph.name, graph.metric, share, graph.task)


def compare_finished(results: Sequence[RunResult], task: Task) -> Comparison:
    """Return the same from results alone, whose splits say how many nodes each part has."""
    sizes = [[split.metrics[role].size for role in ("train", "test")] for result in results for split in result.splits]
    share = float(np.mean([test / (test + train) for train, test in sizes]))
    return _ranked(results, results[0].graph, results[0].metric, share, task)


def _ranked(results: Sequence[RunResult], graph: str, metric: str, share: float, task: Task) -> Comparison:
    majority, models = majority_scores(results, metric, task), list(map(ModelScores.of, results))
    ranked = sorted([*models, majority], key=lambda row: oriented_score(metric, row.test_mean), reverse=True)
    scored = [row for row in models if row.val_mean is not None]
    best = max(scored, key=lambda row: oriented_score(metric, row.val_mean), default=None)
    rows = [
        ComparedModel(
            **{name: getattr(row, name) for name in ModelScores.__struct_fields__},
            against_best=None if best is None or row is best else _paired(row, best, share),
            best=row is best,
            reference=row is majority,
            beats_majority=_beats(row, majority, metric),
        )
        for row in ranked
    ]
    return Comparison(graph, metric, None if best is None else best.model, tuple(rows))


def _beats(row: ModelScores, majority: ModelScores, metric: str) -> bool | None:
    """Whether the mean is better, over the splits that both have."""
    both = {split.split for split in row.splits}
    mean, _ = summarize([split.test for split in majority.splits if split.split in both])
    if mean is None or row.test_mean is None:
        return None
    return oriented_score(metric, row.test_mean) > oriented_score(metric, mean)


def majority_scores(results: Sequence[RunResult], metric: str, task: Task) -> ModelScores:
    """Return the scores of the majority on all splits that some model has; nothing is trained."""
    finished = {split.split: split.metrics for result in results for split in result.splits}
    splits = []
    for number, parts in sorted(finished.items()):
        test, val = (task.baseline_score(parts["train"], parts[role], metric) for role in ("test", "val"))
        splits.append(SplitScores(number, test, val, 0, 0.0))
    test_mean, test_std = summarize([split.test for split in splits])
    val_mean, _ = summarize([split.val for split in splits])
    means: dict[str, Any] = {"test_mean": test_mean, "test_std": test_std, "val_mean": val_mean}
    return ModelScores(model=MAJORITY, **means, seconds=0.0, parameters=0, splits=tuple(splits))


def _paired(first: ModelScores, second: ModelScores, share: float) -> PairedDifference | None:
    other = {split.split: split.test for split in second.splits}
    pairs = [
        (split.test, reference)
        for split in first.splits
        if split.test is not None and (reference := other.get(split.split)) is not None
    ]
    if not pairs:
        return None
    first_scores, second_scores = zip(*pairs, strict=True)
    return compare_pairs(first_scores, second_scores, share)
