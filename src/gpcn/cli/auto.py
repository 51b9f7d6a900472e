"""`gpcn auto`, and `gpcn train --model auto`: model and settings are chosen within a budget of time."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpcn.api.prepare import PreparedGraph
from gpcn.cli.shared.elapsed_time import seconds_elapsed
from gpcn.cli.shared.option_groups import takes_option_groups
from gpcn.cli.shared.options import GraphArgument, Json
from gpcn.cli.shared.output import console, escaped, number_text, print_json
from gpcn.cli.shared.training_options import Jobs, SplitNumbers, TrainingGraph, metric_choice_note, read_splits
from gpcn.core.text import printable_text

if TYPE_CHECKING:
    from gpcn.search.auto.choice_record import FinishedChoice

Budget = Annotated[str, typer.Option("--budget", metavar="5m", help="Time to choose and train: 90s, 5m, 1h.")]
Refit = Annotated[
    bool,
    typer.Option(
        "--refit", help="Then train what was chosen on validation nodes too; the score reported is from before."
    ),
]
PortfolioFile = Annotated[
    Path | None,
    typer.Option("--portfolio", metavar="FILE", help="What to try first, as benchmarks/portfolio.py writes it."),
]


@takes_option_groups
def auto(
    graph: GraphArgument,
    described: TrainingGraph,
    budget: Budget = "5m",
    refit: Refit = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder of what it finds (default: runs/auto-NAME).")
    ] = None,
    splits: SplitNumbers = None,
    jobs: Jobs = None,
    portfolio: PortfolioFile = None,
    json: Json = False,
) -> None:
    """Have model and settings chosen, trained and judged within a budget of time; no hyperparameters.

    The same command again goes on, and never ends with less than it had.

    Example: [bold]gpcn auto mine --label fraud --budget 5m --out runs/mine[/bold]
    """
    prepared = described.prepare(graph, quiet=json)
    folder = out or Path("runs") / f"auto-{re.sub(r'[^A-Za-z0-9._-]+', '-', prepared.graph.name) or 'graph'}"
    numbers, seed = read_splits(splits), described.seed or 0
    train_auto(prepared, folder, budget, numbers, jobs, seed, json, refit=refit, portfolio=portfolio)


def train_auto(
    prepared: PreparedGraph,
    out: Path,
    budget: str,
    splits: list[int] | None,
    jobs: int | None,
    seed: int,
    json: bool,
    *,
    refit: bool = False,
    portfolio: Path | None = None,
) -> None:
    """Choose, train, and say why."""
    from gpcn.cli.shared.prestarted_workers import prestarted_search_workers
    from gpcn.search.auto import auto as choose
    from gpcn.search.auto.portfolio import read_portfolio
    from gpcn.search.budget import Budget, read_seconds
    from gpcn.search.executors import local_executor

    seconds, graph = read_seconds(budget), prepared.graph
    entries = None if portfolio is None else read_portfolio(portfolio)
    with (
        prestarted_search_workers(jobs, Budget(seconds=seconds)),
        closing(local_executor(graph, jobs, begin_here=True)) as executor,
    ):
        result = choose(
            graph,
            executor,
            out=out,
            budget=Budget(seconds=seconds, spent=seconds_elapsed()),
            splits=splits,
            seed=seed,
            source=prepared.source,
            portfolio=entries,
            refit=refit,
            log=event_log(),
        )
    if json:
        print_json(result)
        return
    print_choice(result, out, metric_choice_note(graph))


def event_log() -> Callable[[str], None]:
    """One line per event on stderr, with the seconds since the command began; a terminal is not needed."""

    def log(text: str) -> None:
        print(f"[{seconds_elapsed():6.1f} s] {printable_text(text)}", file=sys.stderr, flush=True)

    return log


def print_choice(result: FinishedChoice, out: Path, note: str | None = None) -> None:
    """The result for people."""
    from gpcn.tasks.metrics import find_metric

    to, digits = console(), find_metric(result.metric).digits
    mean, std = number_text(result.test_mean, digits), number_text(result.test_std, digits)
    spread = "" if result.test_std is None else f" ± {std}"
    to.print(f"chosen: {escaped(result.chosen)}", highlight=False)
    to.print(
        f"auto on {escaped(result.graph)}: {result.metric} [bold]{mean}{spread}[/bold] on test nodes, "
        f"{result.configurations} configurations in {result.seconds:.0f} s",
        highlight=False,
    )
    expected = result.expected
    to.print(
        f"expected before looking at test nodes: {number_text(expected.score, digits)}, between "
        f"{number_text(expected.low, digits)} and {number_text(expected.high, digits)}",
        highlight=False,
    )
    if result.refitted:
        to.print("refitted on validation nodes too, for predictions; the scores above are from before", highlight=False)
    for text in result.warnings:
        to.print(f"[bold]warning:[/bold] {escaped(text)}", highlight=False)
    if note is not None:
        to.print(f"[dim]note: {escaped(note)}[/dim]", highlight=False)
    to.print(
        f"kept in {escaped(out)}; predictions: gpcn predict {escaped(out)} --out predictions.csv",
        highlight=False,
    )
