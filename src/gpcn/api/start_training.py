"""`train`, `compare` and `auto` from Python: what the commands of these names do, on a graph that may be in memory."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gpcn.api.folder import RunFolder
from gpcn.api.prepare import prepare
from gpcn.core.errors import ConfigError
from gpcn.data.split_plan import SplitPlan
from gpcn.data.tables.columns import Columns
from gpcn.graph import Graph
from gpcn.nn import zoo
from gpcn.records import layout
from gpcn.runs.model_comparison import train_models
from gpcn.runs.training import train as train_run
from gpcn.search.auto import auto as choose
from gpcn.search.auto.portfolio import read_portfolio
from gpcn.search.budget import Budget, read_seconds
from gpcn.search.executors import SearchExecutor, local_executor, serial_executor
from gpcn.training.config import TrainConfig
from gpcn.training.settle import settle


def train(
    graph: Graph | str | Path,
    config: TrainConfig | str = zoo.DEFAULT,
    *,
    nodes: str | Path | None = None,
    columns: Columns | None = None,
    out: str | Path | None = None,
    plan: SplitPlan | None = None,
    splits: Sequence[int] | None = None,
    metric: str | None = None,
    jobs: int | None = 1,
    device: str = "auto",
    save_every: float = 10.0,
    mirror: str | Path | None = None,
) -> RunFolder:
    """Train a model on the splits of a graph; `evaluate()` of the result has its scores.

    Args:
        graph: a graph, a dataset's name or a path (as for `gpcn.load`). A graph in memory is kept in `out` as well, so
            that its run can be opened later.
        config: a model's name, or `TrainConfig.of(name, ...)` with settings; those that nobody named suit the graph.
        nodes: the table of nodes that goes with a table of edges.
        columns: what the columns of the tables hold.
        out: the folder; the same call finishes what is missing in it. Without one all is kept in a temporary one for
            as long as the result lives.
        plan: how to split, instead of by the splits the graph has; a graph that has none gets five random ones.
        splits: numbers of splits (default: all).
        metric: what is measured (default: the graph's own).
        jobs: splits at once; more than one needs the usual `if __name__ == "__main__":` in scripts.
        device: `auto`, `cpu` or `cuda`.
        save_every: seconds between checkpoints.
        mirror: a folder with the raw files of the benchmark datasets.
    """
    chosen = TrainConfig.of(config) if isinstance(config, str) else config
    if not isinstance(chosen, TrainConfig):
        raise ConfigError(f"config is {config!r:.80}; expected a model's name, or a TrainConfig")
    folder = Path(tempfile.mkdtemp(prefix="gpcn-train-")) if out is None else Path(out)
    with _removed_on_failure(folder, temporary=out is None):
        layout.refuse_folder_of_other_kind(folder, "run")
        prepared = prepare(graph, plan, metric, chosen.seed, nodes=nodes, columns=columns, mirror=mirror)
        prepared = prepared.kept_in(folder)
        train_run(
            prepared.graph,
            settle(chosen, prepared.graph),
            out=folder,
            splits=splits,
            jobs=jobs,
            device=device,
            save_every=save_every,
            source=prepared.source,
        )
        return _result_in(folder, prepared.graph, mirror, temporary=out is None)


def compare(
    graph: Graph | str | Path,
    models: Sequence[str] | None = None,
    *,
    settings: dict[str, Any] | None = None,
    nodes: str | Path | None = None,
    columns: Columns | None = None,
    out: str | Path | None = None,
    plan: SplitPlan | None = None,
    splits: Sequence[int] | None = None,
    metric: str | None = None,
    seed: int = 0,
    jobs: int | None = 1,
    device: str = "auto",
    mirror: str | Path | None = None,
) -> RunFolder:
    """Train several models on the same splits and compare them; `evaluate()` of the result is the table.

    Args:
        graph: a graph, a dataset's name or a path (as for `gpcn.load`). A graph in memory is kept in `out` as well, so
            that its runs can be opened later.
        models: names that `gpcn models` lists (default: nine).
        settings: hyperparameters or training settings; each applies to every model that has it.
        nodes: the table of nodes that goes with a table of edges.
        columns: what the columns of the tables hold.
        out: the folder; without one all is kept in a temporary one for as long as the result lives.
        plan: how to split, instead of by the splits the graph has; a graph that has none gets five random ones.
        splits: numbers of splits (default: all).
        metric: what is measured (default: the graph's own).
        seed: decides every random draw.
        jobs: splits at once; more than one needs the usual `if __name__ == "__main__":` in scripts.
        device: `auto`, `cpu` or `cuda`.
        mirror: a folder with the raw files of the benchmark datasets.
    """
    folder = Path(tempfile.mkdtemp(prefix="gpcn-compare-")) if out is None else Path(out)
    with _removed_on_failure(folder, temporary=out is None):
        layout.refuse_folder_of_other_kind(folder)
        prepared = prepare(graph, plan, metric, seed, nodes=nodes, columns=columns, mirror=mirror).kept_in(folder)
        loaded, source = prepared.graph, prepared.source
        train_models(
            loaded,
            zoo.USUAL if models is None else models,
            dict(settings or {}),
            out=folder,
            seed=seed,
            splits=splits,
            jobs=jobs,
            device=device,
            source=source,
        )
        return _result_in(folder, loaded, mirror, temporary=out is None)


def auto(
    graph: Graph | str | Path,
    budget: str | float = "5m",
    *,
    nodes: str | Path | None = None,
    columns: Columns | None = None,
    out: str | Path | None = None,
    plan: SplitPlan | None = None,
    splits: Sequence[int] | None = None,
    metric: str | None = None,
    seed: int = 0,
    jobs: int | None = 1,
    refit: bool = False,
    portfolio: str | Path | None = None,
    log: Callable[[str], None] | None = None,
    mirror: str | Path | None = None,
) -> RunFolder:
    """Have model and settings chosen, trained and judged within a budget of time; `evaluate()` says what and why.

    Args:
        graph: a graph, a dataset's name or a path (as for `gpcn.load`). A graph in memory is kept in `out` as well.
        budget: time to choose and train: seconds, or `90s`, `5m`, `1h`.
        nodes: the table of nodes that goes with a table of edges.
        columns: what the columns of the tables hold.
        out: the folder; the same call goes on in it. Without one all is kept in a temporary one for as long as the
            result lives.
        plan: how to split, instead of by the splits the graph has; a graph that has none gets five random ones.
        splits: numbers of splits (default: all).
        metric: what is measured (default: the graph's own).
        seed: decides every random draw.
        jobs: processes; `None`: as many as cores. More than one needs `if __name__ == "__main__":` in scripts.
        refit: then train what was chosen on validation nodes too, for prediction.
        portfolio: a file with what to try first.
        log: called with one line per event.
        mirror: a folder with the raw files of the benchmark datasets.
    """
    seconds = read_seconds(str(budget))
    entries = None if portfolio is None else read_portfolio(Path(portfolio))
    folder = Path(tempfile.mkdtemp(prefix="gpcn-auto-")) if out is None else Path(out)
    with _removed_on_failure(folder, temporary=out is None):
        layout.refuse_folder_of_other_kind(folder, "auto")
        prepared = prepare(graph, plan, metric, seed, nodes=nodes, columns=columns, mirror=mirror).kept_in(folder)
        loaded, source = prepared.graph, prepared.source
        executor: SearchExecutor = (
            serial_executor(loaded) if jobs == 1 else local_executor(loaded, jobs, begin_here=True)
        )
        try:
            choose(
                loaded,
                executor,
                out=folder,
                budget=Budget(seconds=seconds),
                splits=splits,
                seed=seed,
                source=source,
                portfolio=entries,
                refit=refit,
                log=log or (lambda text: None),
            )
        finally:
            executor.close()
        return _result_in(folder, loaded, mirror, temporary=out is None)


def _result_in(folder: Path, graph: Graph, mirror: str | Path | None, *, temporary: bool) -> RunFolder:
    result = RunFolder(folder, graph=graph, mirror=mirror)
    if temporary:
        weakref.finalize(result, shutil.rmtree, folder, ignore_errors=True)
    return result


@contextmanager
def _removed_on_failure(folder: Path, *, temporary: bool) -> Iterator[None]:
    """A temporary folder is taken away where what was to be kept in it failed."""
    try:
        yield
    except BaseException:
        if temporary:
            shutil.rmtree(folder, ignore_errors=True)
        raise
