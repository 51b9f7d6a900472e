"""What to evaluate next: asynchronous successive halving over stages, beginning with the portfolio.

All of it is a function of what was recorded and of the clock: a search that was killed goes on from its records.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from gpcn.core.errors import GpcnError
from gpcn.graph import Graph
from gpcn.search.auto.candidates import Candidate, Store
from gpcn.search.auto.config_neighbours import neighbouring_config
from gpcn.search.auto.cost import EpochCosts
from gpcn.search.auto.ensemble import Row
from gpcn.search.auto.evaluation import Evaluation
from gpcn.search.auto.holdouts import Holdout, Stage
from gpcn.search.auto.portfolio import Entry
from gpcn.search.tasks import Outcome
from gpcn.tasks.metrics import find_metric
from gpcn.training.config import TrainConfig

KEEP = 3  # one in so many goes on to the next stage
ENOUGH = 6  # candidates of a stage before any goes on, unless there will be no more; who ends at once counts, too
SHARES = (0.08, 0.15, 0.25, 0.4)  # of the time, for one evaluation of each stage at most
LAST_SHARE = 0.25  # of the time in which new candidates have to give way to those that are ahead
NO_NEW_SHARE = 0.1  # of the time in which a new candidate could not be judged in all holdouts any more
USUAL_EPOCHS = 150  # until patience runs out, on small graphs
MOMENT = 1.0  # seconds in which nothing new is begun
PER_NODE = 0.7  # configurations for each judged node, from which on none is proposed; all of the portfolio is tried
PARENTS = 6  # of the best, from which local search starts
Log = Callable[[str], None]


class Search:
    """The state of a search: candidates with their judgements, and what is under way."""

    def __init__(
        self,
        graph: Graph,
        stages: Sequence[Stage],
        entries: Sequence[Entry],
        store: Store,
        *,
        seed: int,
        log: Log,
    ) -> None:
        self.graph, self.stages, self.store, self.seed, self.log = graph, tuple(stages), store, seed, log
        self.candidates = {candidate.number: candidate for candidate in store.read()}
        self.costs = EpochCosts(graph)
        for candidate in self.candidates.values():
            for judgement in candidate.judgements.values():
                self.costs.measured(candidate.config, judgement.epochs, judgement.seconds)
        tried = {candidate.config.canonical() for candidate in self.candidates.values()}
        self.entries = [entry for entry in entries if entry.fits(graph)]
        self.portfolio = [entry for entry in self.entries if entry.config(graph, seed).canonical() not in tried]
        self.portfolio_size = len(self.entries)
        self.running: set[tuple[int, str]] = set()
        self.skipped: dict[str, str] = {}
        self.stopped: dict[tuple[int, str], int] = {}
        self.start = self.end = time.monotonic()
        self.evaluations = 0
        self.taken: list[float] = []  # seconds of each evaluation
        self.exhausted = False

    @property
    def seconds_left(self) -> float:
        """Seconds until the search has to end."""
        return self.end - time.monotonic()

    def tasks(self, start: float, end: float) -> Iterator[Evaluation]:
        """What to evaluate next, each time somebody has nothing to do, until the time is over."""
        self.start, self.end = start, end
        while self.seconds_left > 0 or not (self.running or self._any_judged()):
            task = self._next()
            if task is None or (self._any_judged() and not self._has_time_for(task)):
                return
            self.running.add((task.number, task.holdout.name))
            yield task

    def _any_judged(self) -> bool:
        return any(candidate.judgements for candidate in self.candidates.values())

    def _has_time_for(self, task: Evaluation) -> bool:
        """Whether its first epoch, which nothing cuts short, is likely to end in time.

        No evaluation is shorter than the shortest so far; the first, which also loads libraries, tells nothing.
        """
        shortest = min(self.taken) if len(self.taken) > 1 else 0.0
        epoch = self.costs.seconds(task.config, 1, len(task.holdout.splits))
        return max(shortest, epoch) < self.seconds_left

    def first(self, count: int, seconds: float) -> Iterator[Evaluation]:
        """The first entries of the portfolio, in the first holdout."""
        self.start, self.end = time.monotonic(), time.monotonic() + seconds
        for _ in range(count):
            task = self._missing(0) or self._from_portfolio()
            if task is None:
                return
            self.running.add((task.number, task.holdout.name))
            yield task

    def seconds_for_portfolio(self, count: int, trainings: int) -> float:
        """What so many entries would take, each trained so often, as far as anybody knows."""
        configs = [entry.config(self.graph, self.seed) for entry in self.entries[:count]]
        return sum(self.costs.seconds(config, USUAL_EPOCHS, trainings) for config in configs)

    def record(self, task: Evaluation, outcome: Outcome) -> None:
        """An evaluation has ended."""
        self.running.discard((task.number, task.holdout.name))
        candidate = self.candidates[task.number]
        if "taken" in outcome:
            self.taken.append(float(outcome["taken"]))
        if "failed" in outcome or "refused" in outcome:
            candidate.failed = str(outcome.get("failed") or GpcnError(outcome["refused"]))
            self.store.add(candidate)
            self.log(f"failed: {candidate.title}: {candidate.failed}")
            return
        if "stopped" in outcome:
            self.stopped[task.number, task.holdout.name] = task.stage
            if not candidate.judgements:
                self.skipped[candidate.title] = str(outcome["stopped"])
                self.log(f"skipped: {candidate.title}: {outcome['stopped']}")
            return
        candidate.judgements[task.holdout.name] = self.store.judgement(task.number, task.holdout.name)
        self.costs.measured(candidate.config, int(outcome["epochs"]), float(outcome["seconds"]))
        self.evaluations += 1
        best = candidate.best(self.graph, (task.holdout,))
        if best is not None:
            shown = self.shown(best[0])
            end = "" if outcome["finished"] else ", paused"
            effort = f"{outcome['epochs']} epochs{end}, {outcome['seconds']:.1f} s"
            self.log(f"tried: {candidate.title}: {shown} in {task.holdout.name} ({effort})")

    def shown(self, gained: float) -> str:
        """A gain as people read the score."""
        metric = find_metric(self.graph.metric)
        return f"{metric.sign * gained:.{metric.digits}f}"

    # what comes next

    def _next(self) -> Evaluation | None:
        unfinished = self._missing(0)
        if unfinished is not None:
            return unfinished
        for stage in reversed(range(1, len(self.stages))):
            task = self._missing(stage) or self._promotion(stage)
            if task is not None:
                return task
        if self.portfolio:
            task = self._from_portfolio()
            if task is not None:
                return task
        return self._local()

    def _missing(self, stage: int) -> Evaluation | None:
        """The next evaluation of a candidate that has begun a stage and not ended it."""
        for candidate in self.candidates.values():
            if candidate.failed is None and self._entered(candidate) == stage:
                for holdout in self.stages[stage].holdouts:
                    if self._needs(candidate, holdout, stage):
                        return self._task(candidate, holdout, stage)
        return None

    def _entered(self, candidate: Candidate) -> int:
        """The highest stage in which anything of it was evaluated or is."""
        stages = [judgement.stage for judgement in candidate.judgements.values()]
        stages += [self.stopped[key] for key in self.stopped if key[0] == candidate.number]
        return max(stages, default=0)

    def _needs(self, candidate: Candidate, holdout: Holdout, stage: int) -> bool:
        key = candidate.number, holdout.name
        if key in self.running or self.stopped.get(key, -1) >= stage:
            return False
        judgement = candidate.judgements.get(holdout.name)
        if judgement is None:
            return True
        return not judgement.finished and judgement.stage < stage and judgement.epochs < self.stages[stage].epochs

    def _has_ended(self, candidate: Candidate, stage: int) -> bool:
        names = [holdout.name for holdout in self.stages[stage].holdouts]
        if any((candidate.number, name) in self.running or name not in candidate.judgements for name in names):
            return False
        return not any(self._needs(candidate, holdout, stage) for holdout in self.stages[stage].holdouts)

    def ended(self, stage: int) -> list[tuple[float, Candidate]]:
        """Gains of the candidates that have a score at `stage`, best first."""
        scored = []
        for candidate in self.candidates.values():
            if candidate.failed is None and self._has_ended(candidate, stage):
                best = candidate.best(self.graph, self.stages[stage].holdouts)
                if best is not None:
                    scored.append((best[0], candidate))
        return sorted(scored, key=lambda pair: (-pair[0], pair[1].number))

    def _promotion(self, stage: int) -> Evaluation | None:
        """Somebody among the best of the stage before who has not begun this one."""
        ranked = self.ended(stage - 1)
        late = not self.portfolio or self.seconds_left < LAST_SHARE * (self.end - self.start)
        if not ranked or (len(ranked) < ENOUGH and not late):
            return None
        count = max(1, math.ceil(len(ranked) / KEEP))
        for _, candidate in ranked[:count]:
            for holdout in self.stages[stage].holdouts:
                if self._needs(candidate, holdout, stage):
                    return self._task(candidate, holdout, stage)
        return None

    def _from_portfolio(self) -> Evaluation | None:
        """The next entry whose shortest evaluation fits the time; the others are named."""
        if self.seconds_left < MOMENT and self.candidates:
            titles = [entry.title for entry in self.portfolio]
            self.skipped |= dict.fromkeys(titles, "no time was left")
            self.portfolio = []
            self.log(f"skipped, for no time is left: {', '.join(titles)}")
            return None
        while self.portfolio:
            entry = self.portfolio.pop(0)
            config = entry.config(self.graph, self.seed)
            holdout = self.stages[0].holdouts[0]
            least = self.costs.least(config, len(holdout.splits))
            if least > self.seconds_left and self.candidates:
                self.skipped[entry.title] = f"would take {least:.0f} s, {max(0.0, self.seconds_left):.0f} s are left"
                self.log(f"skipped: {entry.title} {self.skipped[entry.title]}")
                continue
            return self._task(self._add(config, entry.title, "portfolio"), holdout, 0)
        return None

    def _local(self) -> Evaluation | None:
        """A neighbour of one of the best; none any more where the best of so many would be so by chance."""
        holdout = self.stages[0].holdouts[0]
        if len(self.candidates) >= max(self.portfolio_size, round(PER_NODE * holdout.nodes.size)):
            if not self.exhausted:
                self.log(
                    f"{len(self.candidates)} configurations on {holdout.nodes.size} nodes: more would win by chance"
                )
            self.exhausted = True
            return None
        parents = [candidate for _, candidate in self.leaders()[:PARENTS]]
        several = len(self.stages[-1].holdouts) > len(self.stages[0].holdouts)
        too_late = several and self.seconds_left < NO_NEW_SHARE * (self.end - self.start)
        if not parents or too_late:
            return None
        rng = np.random.default_rng([self.seed, len(self.candidates)])
        tried = {candidate.config.canonical() for candidate in self.candidates.values()}
        weights = 0.6 ** np.arange(len(parents))
        for index in rng.choice(len(parents), size=len(parents), replace=False, p=weights / weights.sum()):
            parent = parents[int(index)]
            config = neighbouring_config(self.graph, parent.config, tried, rng)
            if config is None:
                continue
            if self.costs.least(config, len(holdout.splits)) > self.seconds_left:
                continue
            return self._task(self._add(config, _described(parent, config), "search"), holdout, 0)
        return None

    def leaders(self) -> list[tuple[float, Candidate]]:
        """The best of the furthest stage first, then of those before, each once."""
        ranked: list[tuple[float, Candidate]] = []
        for stage in reversed(range(len(self.stages))):
            present = {candidate.number for _, candidate in ranked}
            ranked += [pair for pair in self.ended(stage) if pair[1].number not in present]
        return ranked

    def _add(self, config: TrainConfig, title: str, origin: str) -> Candidate:
        candidate = Candidate(max(self.candidates, default=-1) + 1, config, title, origin)
        self.candidates[candidate.number] = candidate
        self.store.add(candidate)
        return candidate

    def _task(self, candidate: Candidate, holdout: Holdout, stage: int) -> Evaluation:
        share = SHARES[min(stage, len(SHARES) - 1)] * (self.end - self.start) * (2 if len(holdout.splits) > 1 else 1)
        epochs = self.stages[stage].epochs
        needed = not any(other.judgements for other in self.candidates.values())
        return Evaluation(
            candidate.number, candidate.config, holdout, stage, epochs, share, self.end, self.store, needed
        )

    # what came of it

    def decisive(self) -> int:
        """The furthest stage at which the best of every stage before it was judged too, so that nothing better is
        passed over for want of time."""
        stage = 0
        while stage + 1 < len(self.stages):
            ranked, following = self.ended(stage), self.ended(stage + 1)
            numbers = {candidate.number for _, candidate in following}
            if not ranked or ranked[0][1].number not in numbers:
                return stage
            stage += 1
        return stage

    def rows(self, holdouts: Sequence[Holdout]) -> list[Row]:
        """Everything that was judged in all of `holdouts`, a row per rule."""
        rows = []
        for candidate in self.candidates.values():
            if candidate.failed is not None:
                continue
            for rule in ("loss", "metric"):
                judged = [candidate.judgements.get(holdout.name) for holdout in holdouts]
                if all(judgement is not None and rule in judgement.predictions for judgement in judged):
                    arrays = tuple(judgement.predictions[rule] for judgement in judged if judgement is not None)
                    rows.append(Row(candidate.number, rule, candidate.config.model, arrays))
        return rows


def _described(parent: Candidate, config: TrainConfig) -> str:
    """What a neighbour is called: its model, and what differs from where the search started."""
    before = {**parent.config.hyperparameters, **parent.config.training}
    now = {**config.hyperparameters, **config.training}
    changes = [f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}"
               for name, value in now.items() if value != before.get(name)]  # fmt: skip
    return f"{config.model} ({', '.join(changes)}, else as {parent.number})"
