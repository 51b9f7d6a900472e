"""How long the present command has been running: importing and reading tables take time too."""

from __future__ import annotations

import time
from contextvars import ContextVar

_start: ContextVar[float | None] = ContextVar("gpcn_command_start", default=None)


def start_clock() -> None:
    """A command begins."""
    _start.set(time.monotonic())


def seconds_elapsed() -> float:
    """Since it began; none where nobody said so."""
    begun = _start.get()
    return 0.0 if begun is None else time.monotonic() - begun
