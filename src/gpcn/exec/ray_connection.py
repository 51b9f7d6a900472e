"""How a Ray cluster is reached or started: on loopback alone and behind a token, unless an address is given."""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import socket
import sys
from pathlib import Path
from typing import Any

from gpcn.core.errors import ConfigError, Option
from gpcn.core.extras import require_library
from gpcn.exec.executor import RETRIES

FIRST_WITH_TOKENS = (2, 52)
STARTS = 5  # of a cluster on this machine, where it is too busy for one


def connect_to_ray(ray: Any, cpus: int | None, address: str | None) -> None:
    """Join the cluster at `address`; without one, start a cluster of `cpus` on this machine, for it alone."""
    if address is not None and not _answers(address):
        raise ConfigError(
            f"no Ray cluster at {address}: nothing answers there; start one with: ray start {Option('head')}"
        )
    options: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    if address is None:
        options |= {
            "num_cpus": cpus or os.cpu_count() or 1,
            "include_dashboard": False,
            "_node_ip_address": "127.0.0.1",
        }
    for attempt in range(1 if address else STARTS):
        try:
            ray.init(address=address or "local", **options)  # else Ray joins whatever cluster it finds
            return
        except (ConnectionError, RuntimeError, ValueError) as error:
            where = address or "this machine"
            raise ConfigError(
                f"there is no Ray cluster at {where}: {error}; start one with: ray start {Option('head')}"
            ) from error
        except Exception as error:  # Ray gives a node half a minute to start, and says so with no kind of its own
            with contextlib.suppress(Exception):
                ray.shutdown()
            if address or attempt + 1 == STARTS or "timed out during startup" not in str(error):
                where = address or "this machine"
                reason = " ".join(str(error).split())
                raise ConfigError(
                    f"Ray did not start on {where}: {reason:.200}; run the same command again when it is less busy"
                ) from error


def _answers(address: str) -> bool:
    """Whether somebody listens at `host:port`; Ray itself would go on asking for minutes. Other forms are Ray's."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or "/" in host:
        return True
    try:
        with socket.create_connection((host, int(port)), timeout=10):
            return True
    except (OSError, OverflowError):
        return False


def load_ray(*, local: bool, library: str = "ray") -> Any:
    """Ray, which reads its environment when it is imported; whoever has a token for clusters shows it.

    For a `local` cluster Ray is set up as if there were no others: only then does it listen on loopback alone, for it
    takes 127.0.0.1 for the address by which other machines reach this one. A script that imported Ray before has
    decided for itself: what is set now would reach its servers, but not it. `library` is `ray.train` where that is
    needed, too.
    """
    if "ray" not in sys.modules:
        if local:
            os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_task_oom_retries", str(RETRIES))  # without it, for ever
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        _show_token(local)
    require_library(library, Option("engine", "ray"))
    import ray
    import ray.exceptions

    check_ray_version(str(ray.__version__))
    return ray


def check_ray_version(version: str) -> None:
    """Refuse a Ray that knows no tokens: whoever reaches its ports can run code."""
    major, minor = (int(part) for part in version.split(".")[:2])
    if (major, minor) < FIRST_WITH_TOKENS:
        needed = ".".join(map(str, FIRST_WITH_TOKENS))
        raise ConfigError(f"Ray {version} has no tokens; expected {needed} or later: pip install 'ray>={needed}'")


def _show_token(local: bool) -> None:
    """The token of clusters, where there is one; a cluster started here gets one of its own, kept in no file."""
    file = Path.home() / ".ray" / "auth_token"
    if file.is_file() and file.stat().st_uid == os.getuid() and file.stat().st_mode & 0o077:
        file.chmod(0o600)  # Ray itself writes it for everybody to read
    elsewhere = os.environ.get("RAY_AUTH_TOKEN") or os.environ.get("RAY_AUTH_TOKEN_PATH") or file.is_file()
    mode = os.environ.get("RAY_AUTH_MODE")
    if local and not elsewhere and mode in (None, "token"):
        os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
    if local or elsewhere:
        os.environ.setdefault("RAY_AUTH_MODE", "token")
