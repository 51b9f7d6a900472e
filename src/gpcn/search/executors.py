"""Executors that evaluate tasks of a search on one graph; all give the same outcomes."""

from __future__ import annotations

from typing import TypeAlias

from gpcn.exec.executor import Executor
from gpcn.exec.local import LocalExecutor
from gpcn.graph import Graph
from gpcn.search.tasks import Evaluator, Outcome, SearchTask

SearchExecutor: TypeAlias = Executor[Outcome]


def serial_executor(graph: Graph) -> SearchExecutor:
    """Return an executor of this very process, one task after the other: for scripts, notebooks and estimators."""
    return LocalExecutor(Evaluator, graph, 1, here="always")


def local_executor(graph: Graph, jobs: int | None = None, *, begin_here: bool = False) -> SearchExecutor:
    """Return an executor of `jobs` processes, by default as many as cores and only for work that lasts.

    With `begin_here` this process begins alone whatever `jobs` says, and goes on until others have started.
    """
    return LocalExecutor(Evaluator, graph, jobs, here="first" if begin_here else None, lost=lost_outcome)


def ray_executor(graph: Graph, jobs: int | None = None, address: str | None = None) -> SearchExecutor:
    """Return an executor of the Ray cluster at `address`; without one, of `jobs` CPUs of this machine."""
    from gpcn.exec.ray_executor import RayExecutor

    return RayExecutor(Evaluator, graph, jobs, address, lost=lost_outcome)


def lost_outcome(task: SearchTask, attempts: int) -> Outcome:
    """Return the outcome of a task whose workers died one after the other."""
    return {"failed": f"its worker died {attempts} times (killed, or out of memory)", "seconds": 0.0}
