"""Files that appear whole or not at all: write to a temporary neighbour, flush to disk, rename.

The writer holds a lock on its temporary file, which the system takes back when the writer is killed: whoever writes
the same file next takes away what was left.
"""

from __future__ import annotations

import glob
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

try:
    import fcntl
except ImportError:  # Windows, which deletes no file that is open
    fcntl = None  # type: ignore[assignment]

from gpcn.core.errors import CheckpointError, DataError, Option


@contextmanager
def replacing(path: Path, *, new_folders: bool = True) -> Iterator[BinaryIO]:
    """Open a temporary file beside `path`; on success it becomes `path`, on any failure it vanishes.

    Its folder is made where it is not there; without `new_folders` it must be, for somebody works in it.
    """
    try:
        if new_folders:
            path.parent.mkdir(parents=True, exist_ok=True)
        else:
            _require_folder(path.parent)
        remove_leftovers(path)
        descriptor, temporary = _locked_temporary(path)
    except OSError as error:
        raise _write_error(path, error, "; choose a writable folder") from error
    try:
        with os.fdopen(descriptor, "wb") as stream:
            yield cast(BinaryIO, stream)
            stream.flush()
            os.fsync(stream.fileno())
            os.chmod(temporary, 0o666 & ~_umask())
            os.replace(temporary, path)
    except OSError as error:
        Path(temporary).unlink(missing_ok=True)
        raise _write_error(path, error) from error
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def add_folder(path: Path) -> None:
    """Make a folder, where it is not there, in one that must be."""
    _require_folder(path.parent)
    try:
        path.mkdir(exist_ok=True)
    except OSError as error:
        raise CheckpointError(
            f"cannot make {path}: {error.strerror or error}; choose another {Option('out')}"
        ) from error


def _require_folder(path: Path) -> None:
    if not path.is_dir():
        raise CheckpointError(
            f"{path} is gone: it was deleted or moved while it was worked on; run the same command again, which goes "
            "on with what is there"
        )


def _write_error(path: Path, error: OSError, advice: str = "") -> DataError:
    """What to raise where writing `path` failed; in a folder that is gone meanwhile, that it is."""
    if isinstance(error, FileNotFoundError):
        _require_folder(path.parent)
    return DataError(f"cannot write {path}: {error.strerror or error}{advice}")


def write_json(path: Path, payload: Any) -> None:
    """Write `payload` to `path` as JSON that people can read, whole or not at all; NaN is refused."""
    with replacing(path) as stream:
        stream.write(json.dumps(payload, indent=1, allow_nan=False).encode())


@contextmanager
def hidden_folder(path: Path) -> Iterator[Path]:
    """An empty hidden folder beside `path`, for a library that writes files in its own way; `move_into_place` takes
    one from it.

    What a kill leaves in it is taken away the next time. One process at a time may have it.
    """
    folder = _hidden(path)
    _require_folder(path.parent)
    try:
        remove_hidden_folder(path)
        folder.mkdir()
    except OSError as error:
        raise _write_error(path, error, "; choose a writable folder") from error
    try:
        yield folder
    except OSError as error:
        raise _write_error(path, error) from error
    finally:
        remove_hidden_folder(path)


def remove_hidden_folder(path: Path) -> None:
    """Take away what a kill has left beside `path`."""
    shutil.rmtree(_hidden(path), ignore_errors=True)


def _hidden(path: Path) -> Path:
    return path.parent / f".{path.name}.written"


def move_into_place(file: Path, path: Path) -> None:
    """Flush `file` to disk, and make it `path`."""
    with file.open("rb") as stream:
        os.fsync(stream.fileno())
    os.chmod(file, 0o666 & ~_umask())
    os.replace(file, path)
    _sync_folder(path.parent)


def remove_leftovers(path: Path) -> None:
    """Take away temporary files for `path` whose writer was killed; those of a living one are locked, and stay."""
    for leftover in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
        with suppress(OSError):
            descriptor = os.open(leftover, os.O_RDWR)
            try:
                _lock(descriptor)
                leftover.unlink()
            finally:
                os.close(descriptor)


def _locked_temporary(path: Path) -> tuple[int, str]:
    while True:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
        try:
            _lock(descriptor)
            if os.path.samestat(Path(temporary).stat(), os.fstat(descriptor)):
                return descriptor, temporary
        except (BlockingIOError, FileNotFoundError):
            pass
        except OSError:  # a file system without locks, where nobody takes anything for a leftover either
            return descriptor, temporary
        os.close(descriptor)  # somebody took it for a leftover before it was locked
        Path(temporary).unlink(missing_ok=True)


def _lock(descriptor: int) -> None:
    if fcntl is not None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def _sync_folder(folder: Path) -> None:
    """Make the rename last; some file systems and permissions do not allow it, and the file is whole either way."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
