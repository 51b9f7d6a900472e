"""Train a configuration on splits of a graph, and keep what comes of it in a folder."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from gpcn.core.errors import ConfigError, DataError, Option
from gpcn.core.locking import locked_folder
from gpcn.data.graph_record import GraphSource
from gpcn.graph import Graph
from gpcn.graph.split import missing_part
from gpcn.runs.results import RunResult
from gpcn.runs.run import Run
from gpcn.runs.run_creation import open_or_create_run
from gpcn.runs.split_workers import SplitTask, SplitWorkers, threads_per_split
from gpcn.training.config import TrainConfig
from gpcn.training.progress import Listener

__all__ = ["Run", "check_split_numbers", "train"]


def train(
    graph: Graph,
    config: TrainConfig,
    *,
    out: str | Path | None = None,
    splits: Sequence[int] | None = None,
    jobs: int | None = 1,
    device: str = "auto",
    save_every: float = 10.0,
    source: GraphSource | None = None,
    progress: Listener | None = None,
    workers: SplitWorkers | None = None,
) -> RunResult:
    """Train `config` on the given `splits` of `graph` (default: all) and summarize.

    Args:
        graph: what to train on.
        config: what to train.
        out: the run's folder; without one nothing is kept and each split's result carries its `probabilities`.
        splits: numbers of splits.
        jobs: splits at once, one in this process and each other in one of its own; `None`: as many as cores allow,
            started only when they pay. More than one needs the usual `if __name__ == "__main__":` in scripts.
        device: `auto`, `cpu` or `cuda`.
        save_every: seconds between checkpoints.
        source: where the graph came from, for prediction later.
        progress: called with how far it is.
        workers: processes to share the work with, kept for what follows on the same graph, instead of `jobs`.

    Returns:
        Scores of every split and their means.
    """
    from gpcn.training.problem import choose_device

    if not isinstance(graph, Graph):
        raise ConfigError(f"graph is of type {type(graph).__name__}; expected a Graph, such as gpcn.load gives")
    if not isinstance(config, TrainConfig):
        raise ConfigError(f"config is {config!r:.80}; expected a TrainConfig, such as TrainConfig.of('gpcn')")
    numbers, kind = check_split_numbers(graph, splits), choose_device(device).type
    threads = threads_per_split(graph, config)
    with SplitWorkers(graph, jobs) if workers is None else nullcontext(workers) as split_workers:
        if out is None:
            tasks = [SplitTask(config, number, None, None, kind, save_every, threads) for number in numbers]
            results = split_workers.train(tasks, progress)
            return RunResult.of(config, graph.name, graph.metric, list(results.values()))
        path = Path(out)
        with locked_folder(path):
            run = open_or_create_run(path, graph, config, source)
            missing = [number for number in numbers if run.outcome(number) is None]
            tasks = [
                SplitTask(config, number, run.folder(number), run.identity, kind, save_every, threads)
                for number in missing
            ]
            split_workers.train(tasks, progress)
            run.keep_result()
            return run.result(numbers)


def check_split_numbers(graph: Graph, splits: Sequence[int] | None) -> list[int]:
    """The numbers of the splits that are meant, all of them by default; each has nodes to train and to validate."""
    if not graph.splits:
        raise DataError(
            f"{graph.name} has no splits; add a split column, or random ones with {Option('random_splits', 5)}"
        )
    numbers = list(range(len(graph.splits))) if splits is None else sorted(set(splits))
    if not numbers:
        raise ConfigError(f"no split is named; expected some of 0 to {len(graph.splits) - 1}, or None for all")
    for number in numbers:
        if not 0 <= number < len(graph.splits):
            raise ConfigError(f"there is no split {number}; {graph.name} has splits 0 to {len(graph.splits) - 1}")
        for part in ("train", "val"):
            if not getattr(graph.splits[number], part).size:
                raise missing_part(f"split {number} of {graph.name}", part)
    return numbers
