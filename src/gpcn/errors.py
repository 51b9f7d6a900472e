"""Every error a user can meet, as one sentence: what, where, found, expected, what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class GpcnError(Exception):
    """Base of all errors raised on purpose; the command line prints its text and exits with 2."""


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
