"""A folder of runs on one graph, as `gpcn compare --out` writes it: ranked again from what the runs kept."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from gpcn.core.errors import CheckpointError, DataError
from gpcn.records import layout
from gpcn.runs.comparison import Comparison, compare_finished
from gpcn.runs.results import RunResult
from gpcn.runs.run import Run


@dataclass(frozen=True)
class ComparedRuns:
    """Runs with a finished split, by the names of their folders; `unfinished` names the others.

    `table` is what `runs.comparison.compare_finished` gives, its models called like the folders.
    """

    runs: dict[str, Run]
    results: dict[str, RunResult]
    table: Comparison
    unfinished: tuple[str, ...]

    @property
    def best(self) -> str:
        """The one with the best mean on validation nodes; the first, where no score there is defined."""
        return self.table.chosen_on_validation or next(iter(self.runs))


def read_comparison(path: Path) -> ComparedRuns:
    """The comparison in `path`, whose runs must be on one graph and judged by one metric."""
    opened = {folder.resolve().name: Run.open(folder) for folder in layout.runs_in(path)}
    runs = {name: run for name, run in opened.items() if run.finished()}
    if not runs:
        raise CheckpointError(
            f"{path} has no run with a finished split; run the same gpcn compare command to finish it"
        )
    (first_name, first), *others = runs.items()
    for name, run in others:
        if run.graph.fingerprint != first.graph.fingerprint:
            raise DataError(
                f"{path} holds runs on different graphs ({first_name}: {first.graph.name}, {name}: "
                f"{run.graph.name}, or other splits of it); expected one graph; take them one by one"
            )
        if run.graph.metric != first.graph.metric:
            raise DataError(
                f"{path} holds runs judged by different metrics ({first_name}: {first.graph.metric}, "
                f"{name}: {run.graph.metric}); expected one metric; take them one by one"
            )
    results = {name: run.result() for name, run in runs.items()}
    table = compare_finished([replace(result, model=name) for name, result in results.items()], first.task())
    return ComparedRuns(runs, results, table, tuple(name for name in opened if name not in runs))
