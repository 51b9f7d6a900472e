"""Where a study lives: a file of its own, or any database that Optuna can use; what goes wrong is one sentence."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import optuna
from optuna.storages import BaseStorage, RDBStorage
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.pool import NullPool

from gpcn.core.errors import CheckpointError, ConfigError, GpcnError
from gpcn.core.extras import how_to_install
from gpcn.records import layout

BEING_CREATED = re.compile(r"already exists|unique constraint|duplicate key|database is locked", re.IGNORECASE)
ATTEMPTS, PAUSE = 6, 0.2  # seconds, more each time


def open_storage(folder: Path, url: str | None) -> BaseStorage:
    """The storage at `url`, or the file in `folder`."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    options: dict[str, Any] = {"connect_args": {"timeout": 60}}
    if url is not None:  # a server's connections are few, and a search needs one for a moment now and then
        options = {"poolclass": NullPool}
    try:
        return _open(url or f"sqlite:///{(folder / layout.STUDY_STORAGE).resolve()}", options)
    except ImportError as error:
        location = storage_location(folder, url)
        raise ConfigError(f"there is no driver for {location}; for PostgreSQL {how_to_install('postgres')}") from error
    except Exception as error:
        reason = str(error).splitlines()[0] if url is None or isinstance(error, GpcnError) else type(error).__name__
        raise CheckpointError(f"the study cannot be opened at {storage_location(folder, url)}: {reason}") from error


def _open(url: str, options: dict[str, Any]) -> BaseStorage:
    """Open the storage; where another process is just creating its tables, wait for it."""
    attempt = 1
    while True:
        try:
            return RDBStorage(url, engine_kwargs=options)
        except DBAPIError as error:
            if not BEING_CREATED.search(str(error.orig)):
                raise
            if attempt == ATTEMPTS:
                raise CheckpointError("another process is creating it; try again in a moment") from error
        time.sleep(PAUSE * attempt)
        attempt += 1


@contextmanager
def storage_errors(folder: Path, url: str | None) -> Iterator[None]:
    """Whatever a damaged or unreachable storage makes of itself, in one sentence."""
    try:
        yield
    except GpcnError:
        raise
    except Exception as error:
        cause = _innermost(error)
        reason = " ".join(str(cause).split())[:200]
        full = "; free some space, and the same command goes on" if "disk is full" in reason else ""
        raise CheckpointError(
            f"the study at {storage_location(folder, url)} cannot be read or written "
            f"({type(cause).__name__}: {reason}){full}"
        ) from error


def _innermost(error: BaseException) -> BaseException:
    """What a storage's error comes from: SQLAlchemy and Optuna each wrap it once more."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def sqlite_file(url: str) -> Path | None:
    """The file of an SQLite address, where it is one."""
    try:
        address = make_url(url)
    except ArgumentError:
        return None
    return Path(address.database) if address.get_backend_name() == "sqlite" and address.database else None


def storage_location(folder: Path, url: str | None) -> str:
    """Where a study is, without what only its owner should see."""
    if url is None:
        return str(folder / layout.STUDY_STORAGE)
    try:
        address = make_url(url)
    except (ArgumentError, ValueError):
        return url.partition(":")[0][:20]
    host = (address.host or "").rpartition("@")[2] or None  # a password may hold the sign that ends it
    return URL.create(address.drivername, host=host, port=address.port, database=address.database).render_as_string()
