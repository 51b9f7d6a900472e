"""`auto`: no hyperparameters to choose.

Within a budget of seconds it evaluates configurations of every model of the zoo (`search`), takes the best single one
or an average of a few (`ensemble`), trains these on all splits, and says what to expect of them (`expected_score`).
Everything it evaluates stays on disk (`candidates`), so that stopping at any moment loses nothing, and the same call
goes on.
"""

from __future__ import annotations

import hashlib
import math
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from gpcn.core.errors import ConfigError, Option, TrainingError
from gpcn.core.locking import locked_folder
from gpcn.data.graph_record import GraphSource
from gpcn.graph import Graph
from gpcn.records import layout
from gpcn.records.sealed import read_record, write_sealed
from gpcn.runs.records import ConfigRecord
from gpcn.runs.run import Run
from gpcn.runs.training import check_split_numbers
from gpcn.search.auto import choice_report
from gpcn.search.auto.candidates import Store
from gpcn.search.auto.choice import members, scores_of_average, write_auto_member, write_choice
from gpcn.search.auto.choice_record import AutoChoice, FinishedChoice
from gpcn.search.auto.choice_report import Member
from gpcn.search.auto.ensemble import POOL, Judge, Selection, select_ensemble
from gpcn.search.auto.expected_score import expected_score
from gpcn.search.auto.final_training import FinalTraining
from gpcn.search.auto.holdouts import FOLDS, Holdout, holdout_of_split, needs_cross_validation, search_stages
from gpcn.search.auto.portfolio import EPOCHS, Entry, default_portfolio
from gpcn.search.auto.refit import refit_members
from gpcn.search.auto.search import Search
from gpcn.search.budget import Budget
from gpcn.search.executors import SearchExecutor, local_executor, serial_executor
from gpcn.training.config import TrainConfig

OVERTIME = 1.05  # of the budget: when workers that do not listen are ended
SELECTED = 0.97  # of the budget: when an ensemble has to be as it is
RESERVE = 0.05  # of the budget, for choosing and writing
PER_SPLIT, MOST_FOR_SPLITS = 0.06, 0.4  # of the budget, for training the chosen on splits that the search left out
FOR_REFIT = 0.25  # of the budget, for training the chosen on validation nodes too
WRITINGS = 2  # times as long as writing a best so far: what choosing, scoring and writing take in the end
MEASURED = 4  # first configurations by which the speed of the machine is measured on a small graph
COMPARED = 12  # configurations that must fit into the share of the budget below for cross-validation
FOLDS_SHARE = 0.5
BETWEEN_CHOICES = 0.05  # of the budget at least, between two choices that are written while the search goes on
Log = Callable[[str], None]


def auto(
    graph: Graph,
    executor: SearchExecutor,
    *,
    out: str | Path,
    budget: Budget,
    splits: Sequence[int] | None = None,
    seed: int = 0,
    source: GraphSource | None = None,
    portfolio: Sequence[Entry] | None = None,
    refit: bool = False,
    log: Log = lambda text: None,
) -> FinishedChoice:
    """Choose, train and keep the result in `out`; return what was chosen, and how and why.

    Args:
        graph: what to learn.
        executor: where evaluations run.
        out: the folder; the same call goes on in it.
        budget: the seconds for all of it.
        splits: numbers of splits (default: all); the same members are trained on all of them.
        seed: decides every random draw.
        source: where the graph came from, for prediction later.
        portfolio: what to try first (default: the one of the package).
        refit: also train the members on training and validation nodes together, for prediction.
        log: called with one line per event.
    """
    if budget.seconds is None or not budget.seconds > 0:
        raise ConfigError(f"the budget is {budget.seconds} seconds; expected more than none")
    folder, numbers = Path(out), check_split_numbers(graph, splits)
    if (folder / layout.RUN).exists():
        raise ConfigError(f"{folder} holds a run of another model; choose another {Option('out')}")
    with locked_folder(folder):
        clock = _Clock(budget.seconds, budget.spent, time.monotonic() - budget.spent)
        entries = portfolio or default_portfolio()
        return _Job(graph, executor, folder, clock, numbers, seed, source, entries, log).run(refit)


@dataclass(frozen=True)
class _Clock:
    """The seconds of the budget, those of them spent before, and the moment from which they count."""

    seconds: float
    spent: float
    start: float

    def moment(self, share: float) -> float:
        """Return the moment at which so much of the budget is over."""
        return self.start + share * self.seconds

    def elapsed(self) -> float:
        """Return the seconds until now."""
        return round(time.monotonic() - self.start, 3)


class _Job:
    def __init__(
        self,
        graph: Graph,
        executor: SearchExecutor,
        folder: Path,
        clock: _Clock,
        numbers: list[int],
        seed: int,
        source: GraphSource | None,
        entries: Sequence[Entry],
        log: Log,
    ) -> None:
        self.graph, self.executor, self.folder, self.clock = graph, executor, folder, clock
        self.numbers, self.seed, self.source, self.log = numbers, seed, source, log
        self.store = Store(folder / layout.CANDIDATES, _check_owner(folder, graph, seed))
        self.stages = search_stages(graph, numbers, EPOCHS, seed, folds_fit=False)
        self.search = Search(graph, self.stages, entries, self.store, seed=seed, log=log)
        self.best_written = -math.inf
        self.last_written = clock.start
        self.writing = 0.0  # seconds that writing predictions took, which nothing cuts short

    def run(self, refit: bool) -> FinishedChoice:
        self._measure()
        for text in choice_report.describe_auto_plan(self.graph, self.stages, self.search, self.clock.seconds):
            self.log(text)
        holdouts = self.stages[-1].holdouts
        left_out = [number for number in self.numbers if number not in {holdout.outer for holdout in holdouts}]
        reserve = RESERVE + min(MOST_FOR_SPLITS, PER_SPLIT * len(left_out)) + (FOR_REFIT if refit else 0.0)
        end = self.clock.moment(max(0.3, 1 - reserve))
        self._search(end)
        selection, judged = self._select()
        end = self.clock.moment(0.98) - WRITINGS * self.writing
        finish = FinalTraining(self.graph, self.executor, self.search, self.numbers, end)
        chosen = finish.train(selection, Judge(self.graph, judged))
        return self._keep(chosen, judged, finish.trained, refit)

    def _measure(self) -> None:
        """On a small graph, the first few on a split: how fast is this machine, and is there time to cross-validate?"""
        if not needs_cross_validation(self.graph, self.numbers):
            return
        first = self.search.first(MEASURED, 0.3 * self.clock.seconds)
        for task, outcome in self.executor.run(first, self.hard_end):
            self.search.record(task, outcome)
            self._keep_best_so_far()
        takes = self.search.seconds_for_portfolio(COMPARED, FOLDS * len(self.numbers)) / self.executor.workers
        if takes < FOLDS_SHARE * self.clock.seconds:
            self.stages = search_stages(self.graph, self.numbers, EPOCHS, self.seed)
            self.search.stages = self.stages
        else:
            self.log(f"cross-validation would take {takes:.0f} s; validation nodes judge instead, though they are few")

    @property
    def hard_end(self) -> float:
        return self.clock.moment(OVERTIME)

    def _search(self, end: float) -> None:
        for task, outcome in self.executor.run(self.search.tasks(self.clock.start, end), self.hard_end):
            if "refused" in outcome and not any(candidate.judgements for candidate in self.search.candidates.values()):
                raise ConfigError(outcome["refused"])
            self.search.record(task, outcome)
            self._keep_best_so_far()
            self.search.end = min(end, self.clock.moment(1) - WRITINGS * self.writing)

    def _select(self) -> tuple[Selection, tuple[Holdout, ...]]:
        decisive = self.stages[self.search.decisive()].holdouts
        measured = holdout_of_split(
            self.graph, self.numbers[0]
        )  # where the first were tried, if there was time for no more
        choices = [holdouts for holdouts in (decisive, decisive[:1], (measured,)) if self.search.rows(holdouts)]
        judged = choices[0] if choices else decisive
        rows = self.search.rows(judged)
        if not rows:
            failures = [candidate.failed for candidate in self.search.candidates.values() if candidate.failed]
            why = f"; the first said: {failures[0]}" if failures else f"; give it more time with {Option('budget')}"
            raise TrainingError(f"no configuration could be evaluated on {self.graph.name}{why}")
        return select_ensemble(Judge(self.graph, judged), rows, self.clock.moment(SELECTED)), judged

    def _keep_best_so_far(self) -> None:
        """Write the single best down while the search goes on, so that a kill leaves something to predict with."""
        now = time.monotonic()
        if self.best_written > -math.inf and now - self.last_written < BETWEEN_CHOICES * self.clock.seconds:
            return
        if (self.folder / layout.CHOICE).exists() and self.best_written == -math.inf:
            return  # an earlier call's choice is better than nothing tried yet
        first = self.stages[0].holdouts[0]
        if first.outer is None:
            return
        rows = self.search.rows([first])
        judge = Judge(self.graph, [first])
        best = max(rows, key=lambda row: judge.gain(row.predictions), default=None)
        if best is None or not judge.gain(best.predictions) > self.best_written:
            return
        self.best_written, self.last_written = judge.gain(best.predictions), now
        candidate = self.search.candidates[best.number]
        run = write_auto_member(self.folder, self.graph, self.store, candidate, best.rule, [first.number], self.source)
        choice = AutoChoice(
            **asdict(scores_of_average(self.graph, [run], [first.number])),
            model="auto",
            chosen=f"{candidate.title}, the best so far",
            config=ConfigRecord.of(run.config),
            why=("the search was stopped; this is the best single configuration until then",),
            members=(run.path.name,),
            complete=False,
        )
        write_choice(self.folder, choice)
        self.writing = time.monotonic() - now

    def _keep(
        self, selection: Selection, judged: tuple[Holdout, ...], numbers: list[int], refit: bool
    ) -> FinishedChoice:
        """Write members and choice; with `refit` once more, for a kill meanwhile must not leave half of it."""
        chosen = [Member(self.search.candidates[row.number], row.rule, count) for row, count in selection.members]
        runs: list[Run] = []
        for member in chosen:
            run = write_auto_member(
                self.folder, self.graph, self.store, member.candidate, member.rule, numbers, self.source
            )
            runs += [run] * member.count
        expected = expected_score(self.graph, judged, numbers, selection, self.seed, self.clock.moment(1))
        scores = scores_of_average(self.graph, runs, numbers)
        choice = choice_report.describe_auto_choice(
            self.graph,
            self.search,
            judged,
            chosen,
            selection,
            expected,
            scores=scores,
            runs=runs,
            budget=self.clock.seconds,
        )
        warnings = choice_report.auto_choice_warnings(
            self.graph, self.search, chosen, expected, seconds=self.clock.seconds, workers=self.executor.workers
        )
        if numbers != self.numbers:
            skipped = ", ".join(str(number) for number in self.numbers if number not in numbers)
            warnings.append(f"there was no time to train on split(s) {skipped}; the same command goes on")
        taken = self.clock.elapsed()
        warnings += choice_report.overtime_warnings(taken, self.clock.seconds, self.clock.spent)
        choice = replace(choice, warnings=tuple(warnings), seconds=taken)
        write_choice(self.folder, choice)
        if refit:
            names = refit_members(self.folder, self.graph, runs, numbers, self.source, self.log, self.hard_end)
            missing = len({run.path.name for run in runs}) - len(names)
            if missing:
                warnings.append(
                    f"there was no time to refit {missing} of {missing + len(names)} members, which predict as they "
                    "were trained before; the same command goes on"
                )
            taken = self.clock.elapsed()
            again = {"refitted": bool(names), "refitted_members": tuple(names)}
            choice = replace(choice, **again, warnings=tuple(warnings), seconds=taken)
            write_choice(self.folder, choice)
        leaders = {candidate.number for _, candidate in self.search.leaders()[:POOL]}
        self.store.forget_states(leaders | {member.candidate.number for member in chosen})
        for text in (*choice.why, *(f"warning: {text}" for text in choice.warnings)):
            self.log(text)
        return choice


def chosen_models(
    graph: Graph, *, seconds: float, jobs: int | None = 1, seed: int = 0
) -> tuple[list[tuple[Any, TrainConfig, int]], FinishedChoice]:
    """The models that are averaged, trained on the first split of `graph`, with their configurations and how often each
    counts; and how they were chosen."""
    from gpcn.runs.predictions.fitted import Fitted

    executor: SearchExecutor = (
        serial_executor(graph) if jobs in (None, 1) else local_executor(graph, jobs, begin_here=True)
    )
    with tempfile.TemporaryDirectory(prefix="gpcn-auto-") as folder:
        try:
            result = auto(graph, executor, out=folder, budget=Budget(seconds=seconds), splits=[0], seed=seed)
        finally:
            executor.close()
        runs = {run.path: run for run in members(Path(folder))}
        counts = Counter(run.path for run in members(Path(folder)))
        models = [(Fitted.of(run, graph).model(0), run.config, counts[path]) for path, run in runs.items()]
        return models, result


class OwnerRecord(Struct, frozen=True):
    """Whose the candidates in a folder are: a checksum, and what it is of."""

    owner: str
    graph: str
    metric: str
    seed: int


def _check_owner(folder: Path, graph: Graph, seed: int) -> str:
    """What everything in `folder` belongs to; a folder of another graph is refused."""
    key = hashlib.sha256(f"{graph.fingerprint()}|{graph.metric}|{seed}".encode()).hexdigest()
    file = folder / layout.CANDIDATES / layout.OWNER
    if file.exists():
        if read_record(file, OwnerRecord, f"choose another {Option('out')}").owner != key:
            raise ConfigError(
                f"{folder} holds what auto tried on another graph, metric or seed; choose another {Option('out')}"
            )
        return key
    if (folder / layout.CHOICE).exists():
        raise ConfigError(f"{folder} has lost the candidates of its choice; choose another {Option('out')}")
    file.parent.mkdir(parents=True, exist_ok=True)
    write_sealed(file, OwnerRecord(key, graph.name, graph.metric, seed))
    return key
