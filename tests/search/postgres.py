"""A PostgreSQL server of its own for a test, on loopback, where the machine has one to start."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin"))


def _as_nobody_special() -> list[str]:
    """PostgreSQL refuses to run as root."""
    if os.getuid() != 0:
        return []
    try:
        pwd.getpwnam("postgres")
    except KeyError:
        pytest.skip("no user postgres to run PostgreSQL as")
    return ["runuser", "-u", "postgres", "--"]


@contextmanager
def server() -> Iterator[str]:
    """The address of an empty database."""
    if not PROGRAMS or importlib.util.find_spec("psycopg") is None:
        pytest.skip("no PostgreSQL: needs its server (Debian's postgresql) and psycopg")
    who = _as_nobody_special()
    folder = Path(tempfile.mkdtemp(prefix="gpcn-postgres-"))
    if who:
        shutil.chown(folder, "postgres")
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    initdb = [*who, str(PROGRAMS[-1] / "initdb"), "-D", str(folder / "data"), "-U", "gpcn", "--auth=trust", "--no-sync"]
    subprocess.run(initdb, check=True, capture_output=True, cwd="/")
    options = ["-p", str(port), "-h", "127.0.0.1", "-k", str(folder), "-c", "fsync=off"]
    process = subprocess.Popen(
        [*who, str(PROGRAMS[-1] / "postgres"), "-D", str(folder / "data"), *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
    )
    try:
        _wait_for(port, process)
        yield f"postgresql://gpcn@127.0.0.1:{port}/postgres"
    finally:
        process.terminate()
        process.wait(timeout=300)
        shutil.rmtree(folder, ignore_errors=True)


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    import psycopg

    limit = time.monotonic() + 300
    while True:
        assert process.poll() is None, "PostgreSQL did not start"
        try:
            psycopg.connect(host="127.0.0.1", port=port, user="gpcn", dbname="postgres").close()
            return
        except psycopg.OperationalError:
            assert time.monotonic() < limit, "PostgreSQL does not answer"
            time.sleep(0.2)
