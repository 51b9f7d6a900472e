"""Progress of training on a terminal: a line per split, with loss, score, rate and time left; silent elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
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
from rich.text import Text

from gpcn.paper.evaluations import Question
from gpcn.training.parallel import Tick


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
def training_progress(title: str) -> Iterator[Callable[[Tick], None] | None]:
    """A function to call with progress, or `None` where nobody is watching."""
    with _shown(TextColumn("{task.fields[numbers]}"), _Rate(), TimeRemainingColumn()) as progress:
        if progress is None:
            yield None
            return
        tasks: dict[int, TaskID] = {}

        def tick(news: Tick) -> None:
            split, epoch, epochs, loss, score = news
            if split not in tasks:
                tasks[split] = progress.add_task(f"{title} split {split}", total=epochs, numbers="")
            numbers = f"val loss {loss:.3f}, score {100 * score:.1f}"
            progress.update(tasks[split], completed=epoch, numbers=numbers)

        yield tick


@contextmanager
def counting_progress(title: str) -> Iterator[Callable[[int, int, Question], None] | None]:
    """A function to call with what is done of how many, or `None` where nobody is watching."""
    columns = TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn()
    with _shown(*columns, speed_estimate_period=600) as progress:
        if progress is None:
            yield None
            return
        task = progress.add_task(title, total=None)

        def tick(done: int, total: int, question: Question) -> None:
            what = f"{title}: {question.dataset} {question.config.model} split {question.split}"
            progress.update(task, completed=done, total=total, description=what)

        yield tick


@contextmanager
def study_progress(budget: Any) -> Iterator[Callable[[Any], None] | None]:
    """A function to call with the ledger after every evaluation: best so far, rate, time left; `None` unwatched."""
    from gpcn.tuning.study import best

    timed = budget.seconds is not None
    columns = TextColumn("{task.fields[news]}"), TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn()
    with _shown(*columns, speed_estimate_period=600) as progress:
        if progress is None:
            yield None
            return
        start, made = time.monotonic(), 0
        task = progress.add_task("tune", total=budget.seconds if timed else budget.configurations, news="")

        def watch(ledger: Any) -> None:
            nonlocal made
            made += 1
            spent = time.monotonic() - start
            ranking = best(ledger)
            top = f"best {ranking[0][1]:.2f} {ranking[0][0].config.model}, " if ranking else ""
            news = f"{top}{60 * made / max(spent, 1e-9):.0f} evaluations/min"
            ended = sum(trial.state != "running" for trial in ledger.trials)
            progress.update(task, completed=spent if timed else ended, news=news)

        yield watch
