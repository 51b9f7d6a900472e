"""The last step: train what was chosen on every split, with fewer members where the time left does not allow all."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence

from gpcn.graph import Graph
from gpcn.tuning.auto.arenas import Arena, split_arena
from gpcn.tuning.auto.ensemble import Judge, Row, Selection
from gpcn.tuning.auto.evaluation import Evaluation
from gpcn.tuning.auto.portfolio import EPOCHS
from gpcn.tuning.auto.search import Search
from gpcn.tuning.executors import Executor

GRACE = 1.1  # of the time left until `end`: when workers that do not listen are ended


class Finish:
    """Trainings of members on `numbers` that are missing, until `end`.

    `trained` are, after `train`, the splits on which all members are.
    """

    def __init__(self, graph: Graph, executor: Executor, search: Search, numbers: Sequence[int], end: float) -> None:
        self.graph, self.executor, self.search, self.end = graph, executor, search, end
        self.arenas = [split_arena(graph, number) for number in numbers]
        self.numbers = list(numbers)
        self.trained: list[int] = []

    def train(self, selection: Selection, judge: Judge) -> Selection:
        """The selection as far as it could be trained."""
        selection = self._affordable(selection, judge)
        self._evaluate([row for row, _ in selection.members])
        complete = [(row, count) for row, count in selection.members if not self._missing(row)]
        if not complete:  # what there is of the first, on the splits that it has
            first = max(selection.members, key=lambda member: -len(self._missing(member[0])))
            complete = [first]
        self.trained = [arena.number for arena in self.arenas if arena not in self._missing(complete[0][0])]
        if not self.trained:
            return self._anything(selection)
        return selection if len(complete) == len(selection.members) else _reduced(selection, complete, judge)

    def _anything(self, selection: Selection) -> Selection:
        """Whoever was trained on any split, where the time was over before the chosen were."""
        ranked = [candidate for _, candidate in self.search.leaders()]
        ranked += [each for each in self.search.candidates.values() if each not in ranked]
        for candidate in ranked:
            for rule in ("loss", "metric"):
                row = Row(candidate.number, rule, candidate.config.model, ())
                done = [arena for arena in self.arenas if arena not in self._missing(row)]
                judged = [arena.name for arena in done if rule in candidate.judgements[arena.name].predictions]
                if judged:
                    self.trained = [arena.number for arena in done if arena.name in judged]
                    known = next((member for member, _ in selection.members if member.number == row.number), None)
                    judged_row = known or selection.members[0][0]
                    kept = Row(row.number, rule, row.model, judged_row.predictions)
                    return Selection(((kept, 1),), selection.gain, selection.crosswise, selection.single,
                                     selection.single_crosswise)  # fmt: skip
        first = selection.members[0][0]
        self.end = max(self.end, time.monotonic())
        self._evaluate([first], at_least_one=True)
        self.trained = [arena.number for arena in self.arenas if arena not in self._missing(first)]
        return Selection(((first, 1),), selection.gain, selection.crosswise, selection.single,
                         selection.single_crosswise)  # fmt: skip

    def _missing(self, row: Row) -> list[Arena]:
        """The splits on which the model of a row is not there."""
        candidate, store = self.search.candidates[row.number], self.search.store
        return [
            arena
            for arena in self.arenas
            if arena.name not in candidate.judgements or not store.has_state(row.number, arena.name)
        ]

    def _seconds(self, row: Row) -> float:
        """What training a row on one split takes, as it was seen."""
        candidate = self.search.candidates[row.number]
        seen = []
        for name, judgement in candidate.judgements.items():
            trainings = 1 if name.startswith("split-") else 4
            seen.append(judgement.seconds / trainings)
        return max(seen, default=1.0)

    def _affordable(self, selection: Selection, judge: Judge) -> Selection:
        """As many of the members, those that count most first, as the time allows to train."""
        left = max(0.0, self.end - time.monotonic())
        kept: list[tuple[Row, int]] = []
        for row, count in selection.members:
            needed = self._seconds(row) * len(self._missing(row)) / self.executor.workers
            if kept and needed > left:
                continue
            kept.append((row, count))
            left -= needed
        return selection if len(kept) == len(selection.members) else _reduced(selection, kept, judge)

    def _evaluate(self, rows: Sequence[Row], *, at_least_one: bool = False) -> None:
        wanted = dict.fromkeys((row.number, arena.number) for row in rows for arena in self._missing(row))
        pairs = list(wanted)
        arenas = {arena.number: arena for arena in self.arenas}

        def tasks() -> Iterator[Evaluation]:
            for index, (number, split) in enumerate(pairs):
                left = self.end - time.monotonic()
                if left <= 0 and not at_least_one:
                    return
                share = left * self.executor.workers / (len(pairs) - index)
                seconds, end = (60.0, math.inf) if at_least_one else (max(share, 0.1), self.end)
                config, stage = self.search.candidates[number].config, len(self.search.stages)
                yield Evaluation(number, config, arenas[split], stage, EPOCHS, seconds, end, self.search.store)
                if at_least_one:
                    return

        now = time.monotonic()
        until = now + (120.0 if at_least_one else GRACE * max(1.0, self.end - now))
        for task, outcome in self.executor.run(tasks(), until):
            self.search.record(task, outcome)


def _reduced(selection: Selection, kept: Sequence[tuple[Row, int]], judge: Judge) -> Selection:
    """A part of the members; the best of them alone where the rest is worse than that."""
    part = Selection(tuple(kept), 0.0, selection.crosswise, selection.single, selection.single_crosswise)
    together = judge.gain(part.blended())
    best, _ = max(kept, key=lambda member: judge.gain(member[0].predictions))
    single = judge.gain(best.predictions)
    if together >= single:
        return Selection(tuple(kept), together, min(selection.crosswise, together), selection.single,
                         selection.single_crosswise)  # fmt: skip
    return Selection(((best, 1),), single, min(selection.single_crosswise, single), selection.single,
                     selection.single_crosswise)  # fmt: skip
