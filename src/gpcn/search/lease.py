"""One driver at a time on a study in a shared storage, from whatever machine.

A folder has a lock; a database that several machines reach offers, through Optuna, only this: of two studies with one
name, the second cannot be made. So whoever drives makes a study called `NAME-driver`, writes its own name there, renews
that while it lives, and deletes it at the end. A note that nobody renews is that of somebody who was killed.
"""

from __future__ import annotations

import hashlib
import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from optuna.exceptions import DuplicatedStudyError
from optuna.storages import BaseStorage
from optuna.study import StudyDirection

from gpcn.core.errors import CheckpointError

KEY = "driver"
LEASE, RENEW = 60.0, 10.0  # seconds: how long a note may stay as it is, how often it is renewed


class Lease:
    """The right to drive the study called `name`."""

    def __init__(self, storage: BaseStorage, name: str) -> None:
        self._storage, self._name = storage, f"{name}-driver"
        self.me = f"{socket.gethostname()}:{os.getpid()}:{_machine()}:{uuid.uuid4().hex[:8]}"
        self._study = -1  # no study has this number
        self._beats = 0

    def take(self) -> None:
        """Become the driver, or say who is."""
        if not self._make():
            study, note = self._other()
            if not self._is_dead(note):
                who = ":".join(str(note.get("name", "just now")).split(":")[:2])
                raise CheckpointError(f"another driver ({who}) is working on this study; wait for it, or stop it first")
            if self._other() == (study, note):
                with suppress(KeyError):  # somebody else was faster
                    self._storage.delete_study(study)
            if not self._make():
                raise CheckpointError("another driver has just begun to work on this study; wait for it")
        self.renew()

    def renew(self) -> None:
        """Say that this driver lives, unless somebody else took over (numbers of studies are used again)."""
        if self._beats and self._note(self._study).get("name") != self.me:
            return
        self._beats += 1
        with suppress(KeyError):  # taken away: `check` will say so
            self._storage.set_study_user_attr(self._study, KEY, {"name": self.me, "beat": self._beats})

    def check(self) -> None:
        """Fail where somebody else has become the driver."""
        if self._note(self._study).get("name") != self.me:
            raise CheckpointError("another driver has taken this study over; this one stops")

    def release(self) -> None:
        """Leave it to others, unless it is somebody else's already."""
        if self._note(self._study).get("name") == self.me:
            with suppress(KeyError):
                self._storage.delete_study(self._study)

    def _make(self) -> bool:
        try:
            self._study = self._storage.create_new_study([StudyDirection.MAXIMIZE], self._name)
        except DuplicatedStudyError:
            return False
        return True

    def _other(self) -> tuple[int, dict[str, Any]]:
        try:
            study = self._storage.get_study_id_from_name(self._name)
        except KeyError:
            return -1, {}
        return study, self._note(study)

    def _note(self, study: int) -> dict[str, Any]:
        try:
            return dict(self._storage.get_study_user_attrs(study).get(KEY) or {})
        except KeyError:
            return {}

    def _is_dead(self, note: dict[str, Any]) -> bool:
        if note:
            _, process, host = str(note["name"]).split(":")[:3]
            if host == _machine() and not _runs(int(process)):
                return True
        limit = time.monotonic() + LEASE
        while time.monotonic() < limit:
            time.sleep(min(RENEW, LEASE) / 5)
            if self._other()[1] != note:
                return False
        return True


@contextmanager
def leased_study(storage: BaseStorage, name: str) -> Iterator[Lease]:
    """Be the only driver of the study `name`; a thread keeps the note fresh, for an evaluation can take long."""
    lease = Lease(storage, name)
    lease.take()
    over = threading.Event()

    def keep() -> None:
        while not over.wait(RENEW):
            with suppress(Exception):  # a storage that does not answer now may later; `check` guards every write
                lease.renew()

    keeper = threading.Thread(target=keep, daemon=True, name="gpcn-lease")
    keeper.start()
    try:
        yield lease
    finally:
        over.set()
        keeper.join(timeout=5)
        lease.release()


def _machine() -> str:
    """This machine since it was started, and who sees the same processes on it; host names are often alike."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()
        identity = f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        identity = f"{socket.gethostname()} {uuid.getnode()}"
    return hashlib.sha256(identity.encode()).hexdigest()[:12]


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
