"""The last step: train what was chosen on every split, with fewer members where the time left does not allow all."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gpcn.core.errors import Option, TrainingError
from gpcn.graph import Graph
from gpcn.records import layout
from gpcn.search.auto.ensemble import Judge, Row, Selection
from gpcn.search.auto.evaluation import Evaluation
from gpcn.search.auto.holdouts import Holdout, holdout_of_split
from gpcn.search.auto.portfolio import EPOCHS
from gpcn.search.auto.search import Search
from gpcn.search.executors import SearchExecutor

GRACE = 1.1  # of the time left until `end`: when workers that do not listen are ended


class FinalTraining:
    """Trainings of members on `numbers` that are missing, until `end`.

    The best single member comes first: on as many splits as it has time for as long as it was trained when it was
    judged, then the others on these splits. What is kept is never below it on judged nodes.

    `trained` are, after `train`, the splits on which all members are.
    """

    def __init__(
        self, graph: Graph, executor: SearchExecutor, search: Search, numbers: Sequence[int], end: float
    ) -> None:
        self.graph, self.executor, self.search, self.end = graph, executor, search, end
        self.holdouts = [holdout_of_split(graph, number) for number in numbers]
        self.trained: list[int] = []

    def train(self, selection: Selection, judge: Judge) -> Selection:
        """The selection as far as it could be trained."""
        best = max((row for row, _ in selection.members), key=lambda row: judge.gain(row.predictions))
        self.holdouts = self._affordable_splits(best)
        kept = self._affordable_members(selection, best)
        self._evaluate([best, *(row for row, _ in kept if row is not best)])
        complete = [(row, count) for row, count in kept if not self._missing(row)]
        if complete:
            part = selection if len(complete) == len(selection.members) else _part(selection, complete, judge)
            if part.gain >= judge.gain(best.predictions):
                self.trained = [holdout.number for holdout in self.holdouts]
                return part
        if not self._trained_on(best):
            self._evaluate([best], late=True)
        self.trained = self._trained_on(best)
        return _part(selection, [(best, 1)], judge) if self.trained else self._anything(selection, judge)

    def _anything(self, selection: Selection, judge: Judge) -> Selection:
        """The best of those that were judged and trained on any split, where the best of all could not be."""
        rows = sorted(self.search.rows(judge.holdouts), key=lambda row: -judge.gain(row.predictions))
        for row in rows:
            self.trained = self._trained_on(row)
            if self.trained:
                return _part(selection, [(row, 1)], judge)
        raise TrainingError(f"there was no time to train anything on a split of {self.graph.name}; give it more time "
                            f"with {Option('budget')}, the same command goes on")  # fmt: skip

    def _trained_on(self, row: Row) -> list[int]:
        """The numbers of the splits on which the model of a row is there."""
        missing = self._missing(row)
        return [holdout.number for holdout in self.holdouts if holdout not in missing]

    def _missing(self, row: Row) -> list[Holdout]:
        """The splits on which the model of a row is not there."""
        candidate, store = self.search.candidates[row.number], self.search.store
        return [
            holdout
            for holdout in self.holdouts
            if holdout.name not in candidate.judgements or not store.has_state(row.number, holdout.name)
        ]

    def _seconds(self, row: Row) -> float:
        """What training a row on one split takes, as it was seen."""
        candidate = self.search.candidates[row.number]
        seen = []
        for name, judgement in candidate.judgements.items():
            trainings = 1 if layout.is_split_name(name) else 4
            seen.append(judgement.seconds / trainings)
        return max(seen, default=1.0)

    def _affordable_splits(self, best: Row) -> list[Holdout]:
        """Those on which `best` is trained, and as many more as the time allows; one at least."""
        missing = self._missing(best)
        seconds_left = max(0.0, self.end - time.monotonic())
        fits = math.floor(seconds_left * self.executor.workers / max(self._seconds(best), 1e-3))
        skipped = missing[fits:] if fits or len(missing) < len(self.holdouts) else missing[1:]
        return [holdout for holdout in self.holdouts if holdout not in skipped]

    def _affordable_members(self, selection: Selection, best: Row) -> list[tuple[Row, int]]:
        """`best` and as many other members, those that count most first, as the time allows to train."""
        seconds_left = max(0.0, self.end - time.monotonic()) - self._needed(best)
        kept = []
        for row, count in selection.members:
            needed = self._needed(row)
            if row is best:
                kept.append((row, count))
            elif needed <= seconds_left:
                kept.append((row, count))
                seconds_left -= needed
        return kept

    def _needed(self, row: Row) -> float:
        """Seconds until `row` is trained on all splits."""
        return self._seconds(row) * len(self._missing(row)) / self.executor.workers

    def _evaluate(self, rows: Sequence[Row], *, late: bool = False) -> None:
        """Train `rows` where they are missing, until the end; `late`: after it, the first of them on one split."""
        wanted = dict.fromkeys((row.number, holdout.number) for row in rows for holdout in self._missing(row))
        pairs = list(wanted)[:1] if late else list(wanted)
        if late:
            self.end = time.monotonic() + max(1.0, 2 * self._seconds(rows[0]))
        holdouts = {holdout.number: holdout for holdout in self.holdouts}

        def tasks() -> Iterator[Evaluation]:
            for index, (number, split) in enumerate(pairs):
                seconds_left = self.end - time.monotonic()
                if seconds_left <= 0:
                    return
                seconds = max(0.1, seconds_left * self.executor.workers / (len(pairs) - index))
                config, stage = self.search.candidates[number].config, len(self.search.stages)
                yield Evaluation(number, config, holdouts[split], stage, EPOCHS, seconds, self.end, self.search.store)

        now = time.monotonic()
        for task, outcome in self.executor.run(tasks(), now + GRACE * max(1.0, self.end - now)):
            self.search.record(task, outcome)


def _part(selection: Selection, kept: Sequence[tuple[Row, int]], judge: Judge) -> Selection:
    """Some of the members, and what judged nodes say of these."""
    part = replace(selection, members=tuple(kept))
    gained = judge.gain(part.blended())
    crosswise = selection.crosswise if len(kept) > 1 else selection.single_crosswise
    return replace(part, gain=gained, crosswise=min(crosswise, gained))
