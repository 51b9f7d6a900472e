"""What a command that runs by itself says while it does: one line per step on stderr, for people or for machines."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from gpcn.cli.shared import output
from gpcn.core.errors import ConfigError
from gpcn.core.text import printable_text

FORMATS = ("text", "json")
LogFormat = Annotated[
    str | None,
    typer.Option(
        "--log-format",
        metavar="text|json",
        help="A line per step on stderr, also of an error (default: text where stderr is no terminal, without --json).",
    ),
]


def step_log(log_format: str | None, *, quiet: bool) -> Callable[[str], None]:
    """A function to call with every step; it says nothing to a terminal, and where `quiet`, unless asked to.

    With `json` an error is a line of JSON as well, from now on until the command ends.
    """
    if log_format is not None and log_format not in FORMATS:
        raise ConfigError(f"--log-format is {log_format!r}; expected {' or '.join(FORMATS)}")
    if log_format is None and (quiet or sys.stderr.isatty()):
        return lambda text: None
    start = time.monotonic()
    if log_format == "json":
        output.show_error.set(lambda sentence: _write(_line("error", sentence, start)))
        return lambda text: _write(_line("info", text, start))
    return lambda text: _write(f"{_now()} {printable_text(text)}")


def _line(level: str, text: str, start: float) -> str:
    record: dict[str, Any] = {"time": _now(), "level": level, "message": printable_text(text)}
    return json.dumps(record | {"seconds": round(time.monotonic() - start, 3)})


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _write(line: str) -> None:
    with suppress(OSError):  # a log that cannot be written ends no prediction
        print(line, file=sys.stderr, flush=True)
