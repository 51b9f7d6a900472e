"""Processes that are started before anybody needs them: they import what trainings need while this one does the same.

A command that is likely to last starts them as soon as it has read the graph; whoever wants a process first takes one
of these. Those that nobody takes end with the command.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from typing import Any

START = 2.5  # seconds from wanting a process to its first epoch, on two cores
START_AHEAD = 0.3  # the same, of one that is there already
LASTING = 1000  # epochs over all splits from which on a command is worth more than one process
Started = tuple[BaseProcess, Any]
_waiting: list[Started] = []


def start(count: int, run: Callable[..., None]) -> None:
    """Start as many of `count` processes as cores allow; each waits in `run(pipe, parent, ahead)` for its task."""
    missing = min(count, (os.cpu_count() or 1) - 1) - len(_waiting)
    _waiting.extend(spawn(run, ahead=True) for _ in range(missing))


def take() -> Started | None:
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
    return START_AHEAD if _waiting else START


def dismiss() -> None:
    """End those that nobody took."""
    while (started := take()) is not None:
        process, pipe = started
        process.kill()
        process.join()
        pipe.close()


def spawn(run: Callable[..., None], *, ahead: bool) -> Started:
    """A process that runs `run(pipe, parent, ahead)`, and this end of its pipe."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=run, args=(theirs, os.getpid(), ahead), daemon=True)
    process.start()
    theirs.close()
    return process, ours
