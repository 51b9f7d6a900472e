"""Ensemble selection: greedy and forward, with replacement (Caruana et al., *Ensemble Selection from Libraries of
Models*, ICML 2004), over the judged predictions of everything evaluated.

Selection flatters itself on the nodes it selects by. So it begins with the average of the best few instead of the best
(the paper's sorted initialization), and whether it pays is decided crosswise: what one half of the judged nodes selects
is scored on the other. The single best is taken where both halves prefer it.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gpcn.graph import Graph
from gpcn.search.auto.holdouts import Holdout
from gpcn.tasks.metrics import oriented_score

MOST_MEMBERS = 8
FIRST_MEMBERS = 5  # of the best, with whose average selection begins
POOL = 24  # of the best that are considered
Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Row:
    """A candidate under one rule, with its judged predictions, one array per holdout."""

    number: int
    rule: str
    model: str
    predictions: tuple[Array, ...]


@dataclass(frozen=True)
class Selection:
    """Members with how often each was chosen, and what judged nodes say.

    `gain` is of the members on all judged nodes, `crosswise` of the procedure that chose them, without the optimism of
    choosing; `single` is the gain of the best single one, `single_crosswise` of choosing that.
    """

    members: tuple[tuple[Row, int], ...]
    gain: float
    crosswise: float
    single: float
    single_crosswise: float

    def blended(self) -> tuple[Array, ...]:
        """Judged predictions of the members' average, by holdout."""
        holdouts = range(len(self.members[0][0].predictions))
        counts = [count for _, count in self.members]
        return tuple(
            np.average([row.predictions[index] for row, _ in self.members], axis=0, weights=counts)
            for index in holdouts
        )


class Judge:
    """Scores of predictions in some holdouts, on all nodes or on one side of each."""

    def __init__(self, graph: Graph, holdouts: Sequence[Holdout]) -> None:
        self.graph, self.holdouts = graph, tuple(holdouts)
        self.truth = [graph.target.values[holdout.nodes] for holdout in holdouts]

    def gain(self, predictions: Sequence[Array], side: int | None = None) -> float:
        """The mean gain over holdouts that have a score."""
        gains = []
        for holdout, probabilities in zip(self.holdouts, predictions, strict=True):
            value = holdout.score(self.graph, probabilities, side)
            if value is not None:
                gains.append(oriented_score(self.graph.metric, value))
        return float(np.mean(gains)) if gains else -np.inf

    def rank(self, predictions: Sequence[Array], side: int | None = None) -> tuple[float, float]:
        """The gain, and among equals how likely the answers are: many averages make the same mistakes."""
        likelihoods = []
        for holdout, truth, probabilities in zip(self.holdouts, self.truth, predictions, strict=True):
            nodes = slice(None) if side is None else holdout.side(side)
            likelihoods.append(float(self.graph.task.log_likelihood(probabilities[nodes], truth[nodes]).mean()))
        return self.gain(predictions, side), float(np.mean(likelihoods))


def select_ensemble(judge: Judge, rows: Sequence[Row], until: float = math.inf) -> Selection:
    """The ensemble, or the single best where selecting does not pay.

    When the clock (`time.monotonic`) passes `until`, averages stay as they are then.
    """
    gains = [judge.gain(row.predictions) for row in rows]
    order = sorted(range(len(rows)), key=lambda index: (-gains[index], rows[index].number, rows[index].rule))
    pool = _pool([rows[index] for index in order])
    best, top = pool[0], gains[order[0]]
    ensembles, singles = [], []
    for side in (0, 1):
        sided = [judge.gain(row.predictions, side) for row in pool]
        singles.append(judge.rank(pool[int(np.argmax(sided))].predictions, 1 - side))
        ensembles.append(judge.rank(_average(_greedy(judge, pool, sided, side, until)), 1 - side))
    ensemble, single = (float(np.mean([gained for gained, _ in ranks])) for ranks in (ensembles, singles))
    picked = _greedy(judge, pool, [judge.gain(row.predictions) for row in pool], None, until)
    members = Counter((row.number, row.rule) for row in picked)
    pays = any(average > alone for average, alone in zip(ensembles, singles, strict=True))
    if pays and len(members) > 1:
        by_key = {(row.number, row.rule): row for row in picked}
        counted = tuple((by_key[key], count) for key, count in members.most_common())
        return Selection(counted, judge.gain(_average(picked)), ensemble, top, single)
    return Selection(((best, 1),), top, single, top, single)


def _pool(ranked: Sequence[Row]) -> list[Row]:
    """The best, and of every other model its best: what differs most helps most."""
    different = _without_copies(ranked)
    chosen = different[:POOL]
    models = {row.model for row in chosen}
    for row in different[POOL:]:
        if row.model not in models:
            models.add(row.model)
            chosen.append(row)
    return chosen


def _without_copies(ranked: Sequence[Row]) -> list[Row]:
    """Without rows that predict what the same candidate predicts under its other rule."""
    kept: dict[int, list[Row]] = {}
    for row in ranked:
        rows = kept.setdefault(row.number, [])
        if not any(all(map(np.array_equal, row.predictions, other.predictions)) for other in rows):
            rows.append(row)
    different = {id(row) for rows in kept.values() for row in rows}
    return [row for row in ranked if id(row) in different]


def _greedy(judge: Judge, pool: Sequence[Row], gains: Sequence[float], side: int | None, until: float) -> list[Row]:
    """The ensemble that begins with the best few; the one that begins with the best alone where that is above it."""
    few = _grown(judge, pool, gains, FIRST_MEMBERS, side, until)
    if judge.gain(_average(few), side) >= max(gains):
        return few
    return _grown(judge, pool, gains, 1, side, until)


def _grown(
    judge: Judge, pool: Sequence[Row], gains: Sequence[float], first: int, side: int | None, until: float
) -> list[Row]:
    """Beginning with the `first` best, always add whoever helps most, again where that helps; the best of all these
    averages.

    A second member rarely helps and a third often does, so it does not stop at the first that helps nobody.
    """
    ranked = sorted(range(len(pool)), key=lambda index: -gains[index])
    picked = [pool[index] for index in ranked[:first]]
    total = [probabilities * len(picked) for probabilities in _average(picked)]
    begun = len(picked)
    reached = [judge.rank([probabilities / begun for probabilities in total], side)]
    while len(picked) < MOST_MEMBERS and time.monotonic() < until:
        size = len(picked) + 1
        trials = [judge.rank([summed / size for summed in _added(total, row)], side) for row in pool]
        best = max(range(len(pool)), key=lambda index: trials[index])
        picked.append(pool[best])
        reached.append(trials[best])
        total = _added(total, pool[best])
    return picked[: begun + max(range(len(reached)), key=lambda index: reached[index])]


def _added(total: Sequence[Array], row: Row) -> list[Array]:
    """`total` with the predictions of `row` added, by holdout."""
    return [summed + probabilities for summed, probabilities in zip(total, row.predictions, strict=True)]


def _average(rows: Sequence[Row]) -> list[Array]:
    holdouts = range(len(rows[0].predictions))
    return [np.mean([row.predictions[index] for row in rows], axis=0) for index in holdouts]
