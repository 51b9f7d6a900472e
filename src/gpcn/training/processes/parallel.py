"""Splits over processes. What a split computes does not depend on how many run beside it.

This process works too. Another one is started only when the work is seen to last longer than its start, and helps with
the next model on the same graph as well.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from gpcn.graph import Graph
from gpcn.training.config import TrainConfig
from gpcn.training.processes.prestarted import seconds_to_start
from gpcn.training.processes.workers import Crew, Message, Send

SMALL = 2_000_000_000  # multiply-adds of one pass up to which one thread per split serves best
WORTH = 2.0  # how many starts must be left to do before one is paid
SECONDS_BETWEEN_COLLECTIONS = 0.1  # seconds
Tick = tuple[int, int, int, float, float]  # split, epoch, epochs, validation loss, validation score


def threads_per_split(graph: Graph, config: TrainConfig) -> int:
    """Threads per split, by the size of the work alone, so that results do not depend on the number of jobs."""
    hidden = int(config.hyperparameters.get("hidden", 16))
    work = graph.num_nodes * hidden * max(hidden, graph.num_classes) + graph.adjacency.nnz * hidden
    return 1 if work < SMALL else max(1, (os.cpu_count() or 1))


def jobs_for_splits(wanted: int | None, splits: int, threads: int) -> int:
    """How many splits to run at once."""
    fit = max(1, (os.cpu_count() or 1) // threads)
    return max(1, min(splits, wanted if wanted is not None else fit))


def train_splits(
    graph: Graph,
    config: TrainConfig,
    splits: Iterable[int],
    folders: dict[int, Path | None],
    *,
    jobs: int,
    threads: int,
    device: str,
    save_every: float,
    identity: str | None = None,
    at_once: bool = False,
    tick: Callable[[Tick], None] | None = None,
    helpers: Helpers | None = None,
) -> dict[int, dict[str, Any]]:
    """The result of every split, trained here and, where that pays or `at_once`, by up to `jobs - 1` helpers."""
    with Helpers(graph) if helpers is None else nullcontext(helpers) as company:
        try:
            options = {"device": device, "save_every": save_every, "identity": identity}
            work = _Work(company, config, folders, jobs, threads, options, tick)
            return work.finish(list(splits), at_once)
        except BaseException:
            company.stop()
            raise


class Helpers:
    """Processes that train splits of `graph` beside this one: started when first asked, kept until the end.

    A start costs seconds, because each imports everything anew, unless it was started early (`prestarted`).

    Args:
        graph: whose splits.
        configs_to_follow: how many configurations follow the present one.
    """

    def __init__(self, graph: Graph, configs_to_follow: int = 0) -> None:
        self.graph, self.configs_to_follow = graph, configs_to_follow
        self._crew: Crew | None = None

    def __enter__(self) -> Helpers:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def started(self) -> bool:
        """Whether there are any."""
        return self._crew is not None

    def submit(self, config: TrainConfig, number: int, *arguments: Any) -> None:
        """Have one of them train split `number`; `arguments`: its folder, threads and options."""
        self._crew = self._crew or Crew(_helper, self.graph)
        self._crew.submit(number, config, number, *arguments)

    def messages(self, timeout: float = 0.0) -> Iterator[tuple[int, Message]]:
        """The splits of which there is something new: news are ticks, what is done is a result."""
        return iter(()) if self._crew is None else self._crew.messages(timeout)

    def stop(self) -> None:
        """End all of them, whatever they are doing."""
        if self._crew is not None:
            self._crew.stop()
        self._crew = None


class _Work:
    """The splits of one configuration, shared out between this process and its helpers."""

    def __init__(
        self,
        helpers: Helpers,
        config: TrainConfig,
        folders: dict[int, Path | None],
        jobs: int,
        threads: int,
        options: dict[str, Any],
        tick: Callable[[Tick], None] | None,
    ) -> None:
        self.helpers, self.config, self.folders = helpers, config, folders
        self.jobs, self.threads, self.options, self.tick = jobs, threads, options, tick
        self.waiting: deque[int] = deque()
        self.submitted: set[int] = set()
        self.outcomes: dict[int, dict[str, Any]] = {}
        self.start: float | None = None  # of the second epoch: the first loads libraries
        self.collected_at = time.perf_counter()
        self.done_here = 0
        self.always = False

    def finish(self, splits: list[int], at_once: bool) -> dict[int, dict[str, Any]]:
        import torch

        from gpcn.training.runs.split_run import run_split

        self.waiting, self.always = deque(splits), at_once
        report = None if self.tick is None else _reporter(self.tick)

        def after_epoch(number: int, trainer: Any) -> None:
            if report is not None:
                report(number, trainer)
            now = time.perf_counter()
            self.start = self.start or now
            if now - self.collected_at > SECONDS_BETWEEN_COLLECTIONS:
                self.collect()

        before = torch.get_num_threads()
        torch.set_num_threads(self.threads)
        try:
            while self.waiting:
                number = self.waiting.popleft()
                self.collect()
                folder = self.folders[number]
                self.outcomes[number] = run_split(
                    self.helpers.graph, self.config, number, folder, report=after_epoch, **self.options
                )
                self.done_here += 1
        finally:
            torch.set_num_threads(before)
        while self.submitted:
            self.collect(SECONDS_BETWEEN_COLLECTIONS)
        return {number: self.outcomes[number] for number in splits}

    def collect(self, timeout: float = 0.0) -> None:
        """Take what helpers have finished, pass on their progress, and give them more."""
        self.collected_at = time.perf_counter()
        for number, (kind, payload) in self.helpers.messages(timeout):
            if kind == "failed":
                raise payload
            if kind == "done":
                self.submitted.remove(number)
                self.outcomes[number] = payload
            elif self.tick is not None:
                self.tick(payload)
        while self.waiting and len(self.submitted) < self.jobs - 1 and self._worth_it():
            number = self.waiting.pop()  # from the end: this process takes the next
            self.helpers.submit(self.config, number, self.folders[number], self.threads, self.options)
            self.submitted.add(number)

    def _worth_it(self) -> bool:
        if self.always or self.helpers.started:
            return True
        spent = 0.0 if self.start is None else time.perf_counter() - self.start
        per_split = spent / max(1, self.done_here)  # at least, while the first is not done
        splits_to_follow = len(self.waiting) + self.helpers.configs_to_follow * len(self.folders)
        return splits_to_follow * per_split > WORTH * seconds_to_start()


def _helper(graph: Graph) -> Callable[..., dict[str, Any]]:
    """In another process: what trains a split of `graph`."""
    import torch

    from gpcn.training.runs.split_run import run_split

    def help_with(
        send: Send, config: TrainConfig, number: int, folder: Path | None, threads: int, options: dict[str, Any]
    ) -> dict[str, Any]:
        torch.set_num_threads(threads)
        return run_split(graph, config, number, folder, report=_reporter(send), **options)

    return help_with


def _reporter(send: Callable[[Tick], None]) -> Callable[[int, Any], None]:
    last = 0.0

    def report(number: int, trainer: Any) -> None:
        nonlocal last
        now = time.perf_counter()
        if now - last > 0.2 or trainer.finished:
            last = now
            _, _, loss, score = trainer.history[-1]
            send((number, trainer.epoch, int(trainer.config["epochs"]), loss, score))

    return report
