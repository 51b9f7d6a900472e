"""The driver: propose, evaluate, record, and go on until the budget is spent.

Proposals of a generation depend on what ended before it and on the seed; the schedule depends on what is recorded. So a
study that was killed, or ran on other machines, makes the same evaluations as one that was left in peace.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gpcn.core.errors import ConfigError
from gpcn.core.locking import locked_folder
from gpcn.data.graph_record import GraphSource
from gpcn.graph import Graph
from gpcn.nn.zoo.hyperparameters import Value
from gpcn.search.budget import Budget
from gpcn.search.executors import SearchExecutor
from gpcn.search.ledger import Ledger
from gpcn.search.proposal import propose_point
from gpcn.search.request import StudyRequest
from gpcn.search.schedule import Plan, Trial, next_step
from gpcn.search.space import Space
from gpcn.search.study_header import StudyHeader, study_header
from gpcn.search.tasks import TrialTask
from gpcn.tasks.metrics import find_metric

ATTEMPTS = 20  # at a point that was not tried before
Watch = Callable[[Ledger], None]


@contextmanager
def open_or_create_study(
    folder: Path, header: StudyHeader, storage: str | None, request: StudyRequest | None = None
) -> Iterator[Ledger]:
    """The study in `folder`, a new one or the one that is there, kept from other drivers meanwhile.

    `request` is written down before another driver can be in the way: it says where the study is.
    """
    with locked_folder(folder):
        ledger = Ledger.create(folder, header, storage)
        if request is not None:
            request.keep(folder)
        with ledger.driven():
            yield ledger


def drive_study(ledger: Ledger, executor: SearchExecutor, budget: Budget, watch: Watch | None = None) -> None:
    """Go on with the study until the budget is spent; `watch` sees the ledger after every evaluation."""
    until = float("inf") if budget.seconds is None else time.monotonic() + budget.seconds
    while True:
        generation = _generation(ledger, budget)
        if not generation:
            return
        step = next_step(generation, ledger.plan)
        for trial, state, level, value in step.ended:
            ledger.end(trial, state, level, value)
        if step.tasks and not _evaluate(ledger, executor, step.tasks, until, watch):
            return


def _evaluate(
    ledger: Ledger, executor: SearchExecutor, tasks: tuple[TrialTask, ...], until: float, watch: Watch | None
) -> bool:
    """Whether all were evaluated before the time was over."""
    if time.monotonic() >= until:
        return False
    done = 0
    for task, outcome in executor.run(tasks, until):
        if "refused" in outcome:
            raise ConfigError(outcome["refused"])
        ledger.record(task, outcome)
        done += 1
        if watch is not None:
            watch(ledger)
    return done == len(tasks)


def _generation(ledger: Ledger, budget: Budget) -> list[Trial]:
    """The trials to go on with: those of the last generation, or of a new one; none when all is done.

    A generation whose trials have all ended is closed for good, also one that a budget made small.
    """
    most = budget.configurations if budget.configurations is not None else ledger.space.size()
    most = min(most, ledger.space.size())
    current = ledger.trials[-1].generation if ledger.trials else 0
    trials = [trial for trial in ledger.trials if trial.generation == current]
    if trials and all(trial.state != "running" for trial in trials):
        current, trials = current + 1, []
    past = [trial for trial in ledger.trials if trial.generation < current]
    while len(trials) < _wanted(ledger, current, most):
        trials.append(_new(ledger, past, current))
    return trials


def _wanted(ledger: Ledger, generation: int, most: int) -> int:
    before = sum(trial.generation < generation for trial in ledger.trials)
    return max(0, min(ledger.plan.size, most - before))


def _new(ledger: Ledger, past: list[Trial], generation: int) -> Trial:
    """A configuration that was not tried yet, where one is found."""
    number = len(ledger.trials)
    if number < len(ledger.header.first):
        return ledger.add(number, generation, ledger.header.first[number])
    tried = {trial.config.canonical() for trial in ledger.trials}

    def is_new(point: dict[str, Any]) -> bool:
        return ledger.space.config(point, seed=ledger.seed).canonical() not in tried

    points = (
        propose_point(ledger.space, past, number + 1_000_003 * attempt, ledger.seed) for attempt in range(ATTEMPTS)
    )
    point = next(filter(is_new, points), None) or next(filter(is_new, ledger.space.shuffled(ledger.seed)))
    return ledger.add(number, generation, point)


def best(ledger: Ledger) -> list[tuple[Trial, float, str]]:
    """Trials with their score and rule, those that came furthest first, then the best; none that failed."""
    scored = [(trial, *reached) for trial in ledger.trials if (reached := trial.furthest(ledger.plan)) is not None]
    scored.sort(key=lambda row: (-row[1], -row[2], row[0].number))
    sign = find_metric(ledger.metric).sign
    return [(trial, sign * gain, rule) for trial, _, gain, rule in scored]


def tune(
    graph: Graph,
    space: Space,
    plan: Plan,
    executor: SearchExecutor,
    *,
    out: str | Path,
    budget: Budget,
    seed: int = 0,
    storage: str | None = None,
    source: GraphSource | None = None,
    first: Sequence[dict[str, Value]] = (),
) -> Ledger:
    """Start the study in `out`, with the points `first`, or go on with it."""
    header = study_header(graph, space, plan, seed=seed, source=source, first=first)
    with open_or_create_study(Path(out), header, storage) as ledger:
        drive_study(ledger, executor, budget)
    return ledger
