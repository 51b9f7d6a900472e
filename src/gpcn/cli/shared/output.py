"""What all commands share: JSON on stdout, tables for people, complaints on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from gpcn.core.text import printable_text
from gpcn.records.reading import encode

LONGEST = 4000  # characters of an error; somebody may name a file of megabytes


def _as_text(sentence: str) -> None:
    typer.echo(f"error: {printable_text(sentence)}", err=True)


show_error: ContextVar[Callable[[str], None]] = ContextVar("show_error", default=_as_text)
"""How an error is shown; a command may have it otherwise until it ends."""


def print_json(document: Any) -> None:
    """One JSON document on stdout; NaN never appears."""
    typer.echo(json.dumps(encode(document), indent=2, allow_nan=False))


class PipeConsole(Console):
    """A console that leaves a reader who went away to the guard of the command line."""

    def on_broken_pipe(self) -> None:
        """Rich would end the process with the code of a failure."""
        raise BrokenPipeError


def console() -> Console:
    """Where text for people goes; wide enough for a table when not a terminal."""
    return PipeConsole() if sys.stdout.isatty() else PipeConsole(width=120, soft_wrap=False)


def print_error(sentence: str) -> None:
    """An error, on stderr, in one line."""
    if len(sentence) > LONGEST:
        sentence = f"{sentence[: LONGEST // 2]} … {sentence[-LONGEST // 4 :]}"
    with suppress(OSError):  # where stderr is full or gone, the exit code still tells
        show_error.get()(" ".join(sentence.split()))


def escaped(text: object) -> str:
    """Text from files and users, so that none of it is taken for markup and no control character gets through."""
    return escape(printable_text(text))


def print_notes(notes: Iterable[str], to: Console | None = None) -> None:
    """What a reader had to decide, each on a line."""
    for note in notes:
        (to or console()).print(f"[dim]note: {escaped(note)}[/dim]", highlight=False)


def number_text(value: float | None, digits: int = 3) -> str:
    """A number for a table; undefined is a dash."""
    return "–" if value is None else f"{value:.{digits}f}"


def plain_table(*columns: str, numeric: tuple[str, ...] = ()) -> Table:
    """A plain table; numeric columns stand right."""
    rows = Table(box=None, header_style="bold", pad_edge=False)
    for column in columns:
        rows.add_column(column, justify="right" if column in numeric else "left")
    return rows
