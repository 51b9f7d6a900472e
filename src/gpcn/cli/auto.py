"""`gpcn train --model auto`: the model and its settings are chosen within a budget of time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gpcn.cli.output import console, number, print_json, safe
from gpcn.cli.training_options import metric_note
from gpcn.errors import ConfigError
from gpcn.graph import Graph


def train_auto(
    graph: Graph,
    out: Path | None,
    budget: str,
    splits: list[int] | None,
    jobs: int | None,
    seed: int,
    source: dict[str, Any],
    json: bool,
) -> None:
    """Choose, train, and say why."""
    from gpcn.training.metrics import definition
    from gpcn.tuning.auto import auto
    from gpcn.tuning.executors.local import LocalExecutor
    from gpcn.tuning.summary import read_seconds

    if out is None:
        raise ConfigError("--model auto keeps what it finds; name a folder with --out, such as --out runs/mine")
    to, seconds = console(), read_seconds(budget)  # a mistake is told before any process is started
    executor = LocalExecutor(graph, jobs)
    try:
        found = auto(
            graph,
            executor,
            out=out,
            seconds=seconds,
            splits=splits,
            seed=seed,
            source=source,
            say=lambda text: None if json else to.print(safe(text), highlight=False),
        )
    finally:
        executor.close()
    if json:
        print_json(found)
        return
    digits = definition(found["metric"]).digits
    mean, std = number(found["test_mean"], digits), number(found["test_std"], digits)
    told = f"auto on {safe(found['graph'])}: {found['metric']} [bold]{mean} ± {std}[/bold] in {found['seconds']:.0f} s"
    to.print(told, highlight=False)
    note = metric_note(graph)
    if note is not None:
        to.print(f"[dim]note: {safe(note)}[/dim]", highlight=False)
    to.print(f"kept in {safe(out)}; predictions: gpcn predict {safe(out)} --out predictions.csv", highlight=False)
