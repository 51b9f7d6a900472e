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
from importlib import import_module
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from typing import Any

START = 2.5  # seconds from wanting a process to its first epoch, on two cores
START_PRESTARTED = 0.1  # the same, of one that is there already
WORTH = 2.0  # how many starts must be left to do before one is paid
LASTING = 300  # epochs over all splits from which on a command is worth more than one process
Started = tuple[BaseProcess, Any]
_waiting: list[Started] = []


def prestart(count: int, run: Callable[..., None], module: str) -> None:
    """Start `count` processes, or one where a start is dear; each waits in `run(pipe, parent, module)` for its task.

    `module` is what tasks will need; it is imported before there is one.
    """
    if (os.cpu_count() or 1) == 1 or count <= len(_waiting):
        return
    if may_fork():
        import_module(module)
        _waiting.extend(start("fork", run, module) for _ in range(count - len(_waiting)))
    elif not _waiting:
        _waiting.append(start("spawn", run, module))


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


def pays(seconds: float) -> bool:
    """Whether so many seconds of work are worth another process."""
    return seconds > WORTH * seconds_to_start()


def dismiss_prestarted() -> None:
    """End those that nobody took."""
    while (started := take_prestarted()) is not None:
        process, pipe = started
        process.kill()
        process.join()
        pipe.close()


def start(method: str, run: Callable[..., None], module: str | None) -> Started:
    """Start a process that runs `run(pipe, parent, module)`, by `fork` or `spawn`; it, and this end of its pipe."""
    context: Any = get_context(method)
    ours, theirs = context.Pipe()
    process = context.Process(target=run, args=(theirs, os.getpid(), module), daemon=True)
    process.start()
    theirs.close()
    return process, ours
