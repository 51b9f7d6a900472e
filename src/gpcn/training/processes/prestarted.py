"""Processes that are started before anybody needs them, by a command that is likely to last.

Where that is safe they are forked once this process has imported what trainings need, which costs hundredths of a
second; elsewhere they import the same, while this one does. Whoever wants a process first takes one of these. Those
that nobody takes end with the command.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from typing import Any

START = 2.5  # seconds from wanting a process to its first epoch, on two cores
START_PRESTARTED = 0.1  # the same, of one that is there already
LASTING = 300  # epochs over all splits from which on a command is worth more than one process
Started = tuple[BaseProcess, Any]
_waiting: list[Started] = []


def prestart(count: int, run: Callable[..., None]) -> None:
    """Start `count` processes, or one where a start is dear; each waits in `run(pipe, parent, early)` for its task."""
    if (os.cpu_count() or 1) == 1 or count <= len(_waiting):
        return
    if may_fork():
        _waiting.extend(fork(run, early=True) for _ in range(count - len(_waiting)))
    elif not _waiting:
        _waiting.append(spawn(run, early=True))


def may_fork() -> bool:
    """Whether a copy of this process could go on: a lock that another thread holds would never be released in it.

    The pools of NumPy's and SciPy's BLAS know about forks. PyTorch's does not, so what is forked computes with one
    thread; everybody who starts processes here has one thread per process.
    """
    if not sys.platform.startswith("linux") or threading.active_count() > 1:
        return False
    import torch

    return not torch.cuda.is_initialized()  # type: ignore[no-untyped-call]


def take_prestarted() -> Started | None:
    """One that was started and lives, if there is any."""
    while _waiting:
        process, pipe = _waiting.pop()
        if process.is_alive():
            return process, pipe
        process.join()
        pipe.close()
    return None


def seconds_to_start() -> float:
    """What the next process costs before it helps."""
    return START_PRESTARTED if _waiting else START


def dismiss_prestarted() -> None:
    """End those that nobody took."""
    while (started := take_prestarted()) is not None:
        process, pipe = started
        process.kill()
        process.join()
        pipe.close()


def fork(run: Callable[..., None], *, early: bool) -> Started:
    """`spawn`, with all that is imported here."""
    import gpcn.training.runs.split_run  # noqa: F401, and PyTorch with it

    return _started("fork", run, early)


def spawn(run: Callable[..., None], *, early: bool) -> Started:
    """A process that runs `run(pipe, parent, early)`, and this end of its pipe."""
    return _started("spawn", run, early)


def _started(method: str, run: Callable[..., None], early: bool) -> Started:
    context: Any = get_context(method)
    ours, theirs = context.Pipe()
    process = context.Process(target=run, args=(theirs, os.getpid(), early), daemon=True)
    process.start()
    theirs.close()
    return process, ours
