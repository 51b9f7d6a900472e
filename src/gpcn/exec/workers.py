"""Processes that serve tasks on one payload, one at a time, started when there is a task and none is idle."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from typing import Any, Literal

from gpcn.core.errors import TrainingError
from gpcn.exec.executor import DIED, RETRIES, Running, Task, perform
from gpcn.exec.processes import start_process
from gpcn.exec.shared_payload import PayloadAddress, SharedPayload

READY = ("ready", None)
Message = tuple[Literal["news", "done", "failed", "died"], Any]


@dataclass(eq=False)
class _Worker:
    process: BaseProcess
    pipe: Any
    ready: bool = False
    key: Any = field(default=None)

    def is_ready(self) -> bool:
        """Whether it has started and would begin at once."""
        with suppress(EOFError, OSError):
            if not self.ready and self.pipe.poll():
                self.ready = self.pipe.recv() == READY
        return self.ready


class Workers:
    """Processes that each call `prepare(payload)` once, and perform tasks with what it returns."""

    def __init__(self, prepare: Any, payload: Any) -> None:
        self._prepare, self._payload = prepare, payload
        self._shared: SharedPayload | None = None
        self.idle: list[_Worker] = []
        self.busy: list[_Worker] = []

    @property
    def started(self) -> bool:
        """Whether there are any."""
        return bool(self.idle or self.busy)

    def start(self, count: int) -> bool:
        """Have `count` of them; whether one has started and would begin at once."""
        while len(self.idle) + len(self.busy) < count:
            self.idle.append(self._new())
        return any(worker.is_ready() for worker in self.idle)

    def submit(self, key: Any, task: Task) -> None:
        """Have one of them perform `task`, known as `key` until it is done."""
        self.idle.sort(key=lambda worker: worker.is_ready())
        while True:
            worker = self.idle.pop() if self.idle else self._new()
            try:
                worker.pipe.send(task)
            except OSError:  # it died while it had nothing to do
                _end(worker)
                continue
            worker.key = key
            self.busy.append(worker)
            return

    def messages(self, timeout: float | None) -> Iterator[tuple[Any, Message]]:
        """What workers have sent, with the key of their task: waits up to `timeout` seconds for the first."""
        while self.busy and (readable := wait([worker.pipe for worker in self.busy], timeout)):
            timeout = 0.0
            for worker in [worker for worker in self.busy if worker.pipe in readable]:
                message = _received(worker)
                if message == READY:
                    worker.ready = True
                    continue
                if message[0] != "news":
                    self.busy.remove(worker)
                    if message[0] == "died":
                        _end(worker)
                    else:
                        self.idle.append(worker)
                yield worker.key, message

    def end_busy(self) -> None:
        """End those that are performing a task."""
        while self.busy:
            _end(self.busy.pop())

    def stop(self) -> None:
        """End all of them, whatever they are doing."""
        self.end_busy()
        while self.idle:
            _end(self.idle.pop())
        if self._shared is not None:
            self._shared.close()
            self._shared = None

    def _new(self) -> _Worker:
        """A worker; one that dies while it starts, before it has a task, is replaced as often as tasks are tried."""
        self._shared = self._shared or SharedPayload(self._payload)
        for _ in range(RETRIES + 1):
            with suppress(OSError):
                return _Worker(*start_process(_serve, self._prepare, self._shared.address))
        raise TrainingError(DIED)


def _end(worker: _Worker) -> None:
    worker.process.kill()
    worker.process.join()
    worker.pipe.close()


def _received(worker: _Worker) -> Any:
    try:
        return worker.pipe.recv()
    except (EOFError, OSError):
        return "died", None


def _serve(pipe: Any, prepare: Any, address: PayloadAddress) -> None:
    """In a worker: perform tasks until the pipe ends."""
    import torch  # noqa: F401, which takes most of a start

    work = prepare(address.read())
    running = Running(report=lambda news: pipe.send(("news", news)))
    pipe.send(READY)
    with suppress(EOFError):
        while True:
            task = pipe.recv()
            try:
                message = "done", perform(work, task, running)
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
