"""Processes that help this one: each does one thing at a time and is talked to through a pipe of its own.

Nothing here has a name in the file system, no semaphore and no shared memory, so that killing all processes at once
leaves nothing behind. A worker ends when its parent does, and Ctrl-C is for the parent alone.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from typing import Any, Literal

from gpcn.errors import TrainingError
from gpcn.training.processes import prestarted

DIED = "a worker process died (killed, or out of memory); what was finished is kept, run the same command to go on"
Send = Callable[[Any], None]
Work = Callable[..., Any]
Message = tuple[Literal["news", "done", "failed"], Any]


class Crew:
    """Workers that all do the same kind of work, started one by one when there is a task and none is idle.

    Args:
        prepare: called once in every worker; what it returns does a task, `work(send, *task)`, where `send` passes news
            to the parent.
        arguments: arguments of `prepare`.
    """

    def __init__(self, prepare: Callable[..., Work], *arguments: Any) -> None:
        self.prepare, self.arguments = prepare, arguments
        self.workers: list[Worker] = []

    def submit(self, key: Any, *task: Any) -> None:
        """Have a worker do `task`, known as `key` until it is done."""
        worker = next((worker for worker in self.workers if not worker.busy), None)
        if worker is None:
            worker = Worker(self.prepare, self.arguments)
            self.workers.append(worker)
        worker.key, worker.busy = key, True
        with _dying():
            worker.pipe.send(task)

    def messages(self, timeout: float | None = 0.0) -> Iterator[tuple[Any, Message]]:
        """What workers have sent, with the key of their task: waits up to `timeout` seconds for the first."""
        busy = {worker.pipe: worker for worker in self.workers if worker.busy}
        while busy and (ready := wait(list(busy), timeout)):
            for worker in (busy[pipe] for pipe in ready):
                with _dying():
                    message: Message = worker.pipe.recv()
                if message[0] != "news":
                    worker.busy = False
                    del busy[worker.pipe]
                yield worker.key, message
            timeout = 0.0

    def stop(self) -> None:
        """End all of them, whatever they are doing."""
        for worker in self.workers:
            worker.process.kill()
        for worker in self.workers:
            worker.process.join()
            worker.pipe.close()
        self.workers = []


class Worker:
    """One process, and while it is `busy` the `key` of its task."""

    def __init__(self, prepare: Callable[..., Work], arguments: tuple[Any, ...]) -> None:
        self.key: Any = None
        self.busy = False
        self.process, self.pipe = start_process(_serve, prepare, arguments)


def start_process(target: Callable[..., None], *arguments: Any) -> tuple[BaseProcess, Any]:
    """A process that runs `target(pipe, *about)`, and this end of the pipe.

    What it is about, which may be much, is sent when it runs: that waits until the process has imported what it needs,
    and can be interrupted.
    """
    with interrupts_deferred():
        process, pipe = prestarted.take_prestarted() or prestarted.spawn(_begin, early=False)
    try:
        with _dying():
            pipe.send((target, arguments))
    except BaseException:
        process.kill()
        process.join()
        pipe.close()
        raise
    return process, pipe


def prestart_workers(count: int) -> None:
    """Start processes that others will want soon: `start_process` takes them."""
    with interrupts_deferred():
        prestarted.prestart(count, _begin)


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


@contextmanager
def _dying() -> Iterator[None]:
    """A pipe that breaks is a worker that died."""
    try:
        yield
    except (EOFError, ConnectionError, BrokenPipeError) as error:
        raise TrainingError(DIED) from error


def _begin(pipe: Any, parent: int, before_need: bool) -> None:
    end_with_parent(parent)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a fork has the handlers of its parent
    if before_need:
        import gpcn.training.runs.split_run  # noqa: F401, and PyTorch with it
    with suppress(EOFError):
        target, arguments = pipe.recv()
        target(pipe, *arguments)


def _serve(pipe: Any, prepare: Callable[..., Work], arguments: tuple[Any, ...]) -> None:
    work = prepare(*arguments)
    with suppress(EOFError):
        while True:
            task = pipe.recv()
            try:
                message = "done", work(lambda news: pipe.send(("news", news)), *task)
            except Exception as error:
                message = "failed", _portable(error)
            pipe.send(message)


def _portable(error: Exception) -> Exception:
    """An error that another process can read, with the traceback of this one as a note."""
    error.add_note("in a worker process:\n" + traceback.format_exc())
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301
    except Exception:
        return TrainingError(f"a worker process failed: {type(error).__name__}: {' '.join(str(error).split())[:300]}")
    return error
