"""One process at a time in a folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from gpcn.core.errors import CheckpointError, Option


@contextmanager
def locked_folder(path: Path) -> Iterator[None]:
    """Make the folder, and keep others out of it; the lock of a killed process is free again."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path / ".lock", timeout=0)
        lock.acquire()
    except Timeout as error:
        raise CheckpointError(
            f"another process is working on {path}; wait for it, or choose another {Option('out')}"
        ) from error
    except OSError as error:
        raise CheckpointError(
            f"cannot write to {path}: {error.strerror or error}; choose another {Option('out')}"
        ) from error
    try:
        yield
    finally:
        lock.release()
