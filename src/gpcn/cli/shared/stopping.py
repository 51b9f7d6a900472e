"""Ctrl-C and SIGTERM: heeded from the first moment, before anything slow is imported."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

SENTENCE = "stopped; what was saved is kept, and the same command goes on from there"


class Stopped(BaseException):
    """Somebody asked the process to end: Ctrl-C or SIGTERM."""


def handle_stop_signal(number: int, frame: object) -> None:
    """Handle a signal."""
    raise Stopped(128 + number)


@contextmanager
def stoppable() -> Iterator[None]:
    """What is stopped in this block ends the process with one sentence."""
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, handle_stop_signal)
        yield
    except (Stopped, KeyboardInterrupt) as stopped:
        sys.stderr.write(f"error: {SENTENCE}\n")
        sys.exit(stopped.args[0] if isinstance(stopped, Stopped) else 128 + signal.SIGINT)
