"""Other processes of this machine, each talked to through a pipe of its own.

Nothing here has a name in the file system, no semaphore and no shared memory, so that killing all processes at once
leaves nothing behind. A process ends when its parent does, and Ctrl-C is for the parent alone.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from multiprocessing import resource_tracker
from multiprocessing.process import BaseProcess
from typing import Any

from gpcn.exec import prestarted


def start_process(target: Callable[..., None], *arguments: Any) -> tuple[BaseProcess, Any]:
    """A process that runs `target(pipe, *arguments)`, and this end of the pipe; `OSError` where it died meanwhile.

    The arguments are sent when it runs: that waits until the process has imported what it needs, and can be
    interrupted.
    """
    with interrupts_deferred():
        process, pipe = prestarted.take_prestarted() or prestarted.start("spawn", _begin, None)
    try:
        pipe.send((target, arguments))
    except BaseException:
        process.kill()
        process.join()
        pipe.close()
        raise
    return process, pipe


def prestart_processes(count: int, module: str) -> None:
    """Start processes that others will want soon, for tasks that need `module`: `start_process` takes them."""
    with interrupts_deferred():
        prestarted.prestart(count, _begin, module)


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """Ctrl-C and SIGTERM wait for the end of the block, and are heeded then; processes started in it never see Ctrl-C.

    A start that is interrupted would leave a process without its task; one that inherits Ctrl-C would show a traceback.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    resource_tracker.ensure_running()  # its own start would let Ctrl-C through again
    waiting: list[int] = []
    signals = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, lambda number, _: waiting.append(number)) for number in signals}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # which a process inherits
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in before.items():
            signal.signal(number, handler)
        if waiting:
            signal.raise_signal(waiting[0])


def end_with_parent(parent: int) -> None:
    """End this process when its parent is killed, so that no orphan writes into a run that somebody else took over."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        os._exit(1)


def _begin(pipe: Any, parent: int, module: str | None) -> None:
    end_with_parent(parent)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a fork has the handlers of its parent
    if module is not None:
        import_module(module)
    with suppress(EOFError):
        target, arguments = pipe.recv()
        target(pipe, *arguments)
