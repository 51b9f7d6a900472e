"""Progress on a terminal: of training a line per split, of a search a table of the best; silent elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from gpcn.cli.shared.output import escaped, plain_table
from gpcn.paper.evaluations import Question
from gpcn.tasks.metrics import find_metric
from gpcn.training.progress import Listener
from gpcn.training.progress import Progress as SplitProgress

SHOWN = 5  # of the best configurations
BETWEEN = 0.5  # seconds, at least, from one table to the next


class _Rate(ProgressColumn):
    """Epochs per second."""

    def render(self, task: Task) -> Text:
        """The rate, once it is known."""
        return Text(f"{task.speed:,.0f} epochs/s" if task.speed else "")


@contextmanager
def _shown(*more: ProgressColumn, **options: Any) -> Iterator[Progress | None]:
    """A bar that counts, with `more` columns; `None` where nobody is watching."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=24), MofNCompleteColumn(), *more)
    with Progress(*columns, console=console, transient=True, **options) as progress:
        yield progress


@contextmanager
def training_progress(title: str, metric: str) -> Iterator[Listener | None]:
    """A function to call with progress, or `None` where nobody is watching."""
    with _shown(TextColumn("{task.fields[numbers]}"), _Rate(), TimeRemainingColumn()) as progress:
        if progress is None:
            yield None
            return
        tasks: dict[int, TaskID] = {}
        judged = find_metric(metric)

        def show(now: SplitProgress) -> None:
            if now.split not in tasks:
                tasks[now.split] = progress.add_task(f"{title} split {now.split}", total=now.epochs, numbers="")
            numbers = f"val loss {now.loss:.3f}, score {judged.scale * now.score:.{judged.digits - 1}f}"
            progress.update(tasks[now.split], completed=now.epoch, numbers=numbers)

        yield show


@contextmanager
def parts_progress() -> Iterator[Callable[[int, int], None] | None]:
    """A function to call with how many parts are written of how many, or `None` where nobody is watching."""
    with _shown(TimeElapsedColumn()) as progress:
        if progress is None:
            yield None
            return
        task = progress.add_task("parts", total=None)
        yield lambda done, parts: progress.update(task, completed=done, total=parts)


@contextmanager
def counting_progress(title: str) -> Iterator[Callable[[int, int, Question], None] | None]:
    """A function to call with what is done of how many, or `None` where nobody is watching."""
    columns = TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn()
    with _shown(*columns, speed_estimate_period=600) as progress:
        if progress is None:
            yield None
            return
        task = progress.add_task(title, total=None)

        def show(done: int, total: int, question: Question) -> None:
            what = f"{title}: {question.dataset} {question.config.model} split {question.split}"
            progress.update(task, completed=done, total=total, description=what)

        yield show


@contextmanager
def study_progress(budget: Any) -> Iterator[Callable[[Any], None] | None]:
    """A function to call with the ledger after every evaluation, for a live table; `None` where nobody is watching."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    timed = budget.seconds is not None
    news = TextColumn("{task.fields[news]}"), TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn()
    bar = Progress(TextColumn("tune"), BarColumn(bar_width=24), *news, console=console, speed_estimate_period=600)
    task = bar.add_task("", total=budget.seconds if timed else budget.configurations, news="")
    start, evaluations, last_drawn = time.monotonic(), 0, 0.0
    with Live(bar, console=console, transient=True, refresh_per_second=4) as live:

        def watch(ledger: Any) -> None:
            nonlocal evaluations, last_drawn
            evaluations += 1
            spent = time.monotonic() - start
            if spent - last_drawn < BETWEEN and evaluations > 1:
                return
            last_drawn = spent
            ended = sum(trial.state != "running" for trial in ledger.trials)
            rate = f"{ended} of {len(ledger.trials)} ended, {60 * evaluations / max(spent, 1e-9):.0f} evaluations/min"
            bar.update(task, completed=spent if timed else ended, news=rate)
            live.update(Group(_standing(ledger), bar))

        yield watch


def _standing(ledger: Any) -> Table:
    """The best so far, and how far each came."""
    from gpcn.search.study import best

    digits = find_metric(ledger.metric).digits
    rows = plain_table("best so far", "val", "splits", "settings", numeric=("val", "splits"))
    for trial, score, _ in best(ledger)[:SHOWN]:
        settings = {name: trial.config[name] for name in ledger.space.choices[trial.config.model]}
        words = " ".join(f"{name}={value}" for name, value in settings.items())
        seen = {key.split(":")[1] for key in trial.outcomes}  # splits
        rows.add_row(f"#{trial.number} {trial.config.model}", f"{score:.{digits}f}", str(len(seen)), escaped(words))
    return rows
