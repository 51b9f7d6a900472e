"""Every error a user can meet, as one sentence: what, where, found, expected, what to do.

An option that mends it stands in the sentence as data, `f"...; choose another {Option('out')}"`, and whoever shows
the error words that: `--out` on the command line, `out` in Python.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import astuple, dataclass

MARK = "\x1a"  # around an option in a message
IN_PYTHON = {
    "random_splits": "gpcn.random_splits(graph, count={value})",
    "folds": "gpcn.folds(graph, count={value})",
    "split_by": "by={value!r}",
    "split_group": "group={value!r}",
    "split": "splits={value!r}",
    **{role: "roles={{{value!r}: " + repr(role) + "}}" for role in ("category", "drop", "text")},
}
"""The words of Python for options that it has otherwise than by name."""


@dataclass(frozen=True)
class Option:
    """Something that can be set, named in the message of an error.

    Args:
        name: that of the command line, with underscores.
        value: what to set it to, where the error says so.
        command: the command that has it, where that is not the one that was called.
    """

    name: str
    value: str | int | None = None
    command: str | None = None

    def __format__(self, _: str) -> str:
        return MARK + json.dumps(astuple(self)) + MARK

    def __str__(self) -> str:
        """Return Python's words for it."""
        words = IN_PYTHON.get(self.name, self.name + "={value!r}")
        words = re.split("[(=]", words)[0] if self.value is None else words.format(value=self.value)
        return words if self.command is None else f"{self.command}({words})"


class GpcnError(Exception):
    """Base of all errors raised on purpose; the command line prints its text and exits with 2."""

    def worded(self, word: Callable[[Option], str]) -> str:
        """Return the sentence with `word` for every option in it."""

        def words(found: re.Match[str]) -> str:
            try:
                return word(Option(*json.loads(found[1])))
            except (ValueError, TypeError):  # a name of somebody's that holds the mark
                return found[0]

        return re.sub(f"{MARK}(.*?){MARK}", words, format(self))

    def __str__(self) -> str:
        return self.worded(str)

    def __format__(self, _: str) -> str:
        """Return the sentence with its options still as data, for an error about this one."""
        return super().__str__()


class DataError(GpcnError):
    """A graph, a table or a file holds something that cannot be used."""


class FetchError(DataError):
    """A dataset's file could not be obtained, or is not the file its checksum promises."""


class ConfigError(GpcnError):
    """An option or parameter has a value that makes no sense."""


class CapacityError(GpcnError):
    """What was asked for needs more memory than this machine, container or process may use."""


class CheckpointError(GpcnError):
    """A run's files are damaged, foreign, or in use by another process."""


class StorageError(GpcnError):
    """Object storage does not answer, refuses, or lacks what is to be read."""


class TrainingError(GpcnError):
    """Training cannot go on, for example because the loss is no longer a number."""


def near_matches(name: str, choices: Iterable[str]) -> str:
    """A hint for an unknown `name`: the closest of `choices`, or all of them if none is close."""
    options = sorted(choices)
    close = difflib.get_close_matches(name.lower(), options, n=3, cutoff=0.5)
    if close:
        return "did you mean " + " or ".join(close) + "?"
    return "known: " + ", ".join(options)
