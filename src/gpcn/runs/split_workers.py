"""`SplitWorkers`: the splits of a run, trained side by side. What a split computes does not depend on how many are."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from gpcn.exec.executor import Running, Task
from gpcn.exec.local import LocalExecutor
from gpcn.graph import Graph
from gpcn.nn import zoo
from gpcn.runs.results import SplitResult
from gpcn.training.config import TrainConfig
from gpcn.training.memory_estimate import graph_size
from gpcn.training.progress import Listener

SMALL = 2_000_000_000  # multiply-adds of one pass up to which one thread per split serves best
BETWEEN = 0.2  # seconds, at least, from one progress of a split to the next


@dataclass(frozen=True)
class SplitTask(Task):
    """Train `config` on a split; `identity` is what the run calls its graph (`Run.identity`)."""

    config: TrainConfig
    split: int
    folder: Path | None
    identity: str | None
    device: str
    save_every: float
    threads: int = 1


def threads_per_split(graph: Graph, config: TrainConfig) -> int:
    """Return the threads per split, by the size of the work alone, so that results do not depend on `jobs`."""
    work = zoo.specification_of(config.model).pass_work(graph_size(graph), config.hyperparameters)
    return 1 if work < SMALL else max(1, (os.cpu_count() or 1))


def jobs_for_splits(wanted: int | None, splits: int, threads: int) -> int:
    """Return how many splits to train at once."""
    fit = max(1, (os.cpu_count() or 1) // threads)
    return max(1, min(splits, wanted if wanted is not None else fit))


class SplitWorkers:
    """This process and others that help it to train splits of `graph`, kept from one configuration to the next.

    Args:
        graph: whose splits.
        jobs: splits at once, started at once; `None`: as many as cores allow, started when they pay.

    Attributes:
        configs_to_follow: how many configurations follow the present one, for which a start may pay, too.
    """

    def __init__(self, graph: Graph, jobs: int | None = None) -> None:
        self.graph, self.jobs, self.configs_to_follow = graph, jobs, 0
        self.executor: LocalExecutor[SplitResult] = LocalExecutor(_split_trainer, graph, jobs, here="always")

    def __enter__(self) -> SplitWorkers:
        return self

    def __exit__(self, *_: object) -> None:
        self.executor.close()

    def train(self, tasks: Iterable[SplitTask], listener: Listener | None = None) -> dict[int, SplitResult]:
        """Train all of them; the results by split."""
        tasks = list(tasks)
        threads = max((task.threads for task in tasks), default=1)
        self.executor.workers = jobs_for_splits(self.jobs, len(tasks), threads)
        self.executor.to_follow = self.configs_to_follow * len(tasks)
        outcomes = self.executor.run(tasks, listener=listener or (lambda progress: None))
        results = {task.split: result for task, result in outcomes}
        return {task.split: results[task.split] for task in tasks}


def _split_trainer(graph: Graph) -> Callable[[SplitTask, Running], SplitResult]:
    """Return what trains a split of `graph`, in this process or another."""
    return partial(_train_split, graph)


def _train_split(graph: Graph, task: SplitTask, running: Running) -> SplitResult:
    from gpcn.runs.split_run import run_split
    from gpcn.training.observers import Pulse, ReportProgress

    return run_split(
        graph,
        task.config,
        task.split,
        task.folder,
        device=task.device,
        save_every=task.save_every,
        observers=[ReportProgress(task.split, running.report, BETWEEN), Pulse(running.pulse)],
        identity=task.identity,
    )
