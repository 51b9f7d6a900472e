"""A Ray cluster: one on this machine, or one that is running somewhere. The graph is put into its object store once."""

from __future__ import annotations

import contextlib
import logging
import math
import os
import secrets
import socket
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

from gpcn.errors import ConfigError
from gpcn.graph import Graph
from gpcn.tuning.executors import RETRIES, gone, left
from gpcn.tuning.tasks import Evaluator, Outcome, Task

FIRST_WITH_TOKENS = (2, 52)
AHEAD = 2  # tasks per worker that Ray knows of, so that none waits for the driver


class RayExecutor:
    """Tasks of one CPU each on the cluster at `address`; without one, on a cluster of `jobs` CPUs started here.

    Ray starts a task again when its worker or node dies. A cluster started here is for this machine alone, behind a
    token that only its processes know; Ray's dashboard is not started.
    """

    def __init__(self, graph: Graph, jobs: int | None = None, address: str | None = None, *, gpus: float = 0) -> None:
        self._ray = _ray(local=address is None)
        self._ours = not self._ray.is_initialized()
        if self._ours:
            self._connect(jobs, address)
        self._graph = self._ray.put(graph)
        self._key = uuid4().hex
        self._evaluate = self._ray.remote(num_cpus=1, num_gpus=gpus, max_retries=RETRIES)(_evaluate)

    @property
    def workers(self) -> int:
        """CPUs of the cluster, as it is now."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def run(self, tasks: Sequence[Task], until: float = math.inf) -> Iterator[tuple[Task, Outcome]]:
        """Every task with its outcome, as far as time allows."""
        waiting = deque(tasks)
        running: dict[Any, Task] = {}
        try:
            while waiting or running:
                while waiting and len(running) < AHEAD * self.workers:
                    task = waiting.popleft()
                    running[self._evaluate.remote(self._key, [self._graph], task)] = task
                done, _ = self._ray.wait(list(running), num_returns=1, timeout=left(until))
                if not done:
                    return
                yield running.pop(done[0]), self._outcome(done[0])
        finally:
            for reference in running:
                with contextlib.suppress(Exception):
                    self._ray.cancel(reference, force=True)

    def close(self) -> None:
        """Leave the cluster; one that was started here ends."""
        if self._ours and self._ray.is_initialized():
            self._ray.shutdown()

    def _outcome(self, reference: Any) -> Outcome:
        wrong = self._ray.exceptions
        try:
            return dict(self._ray.get(reference))
        except (wrong.WorkerCrashedError, wrong.NodeDiedError, wrong.OutOfMemoryError):
            return gone(RETRIES + 1)

    def _connect(self, jobs: int | None, address: str | None) -> None:
        if address is not None and not _answers(address):
            raise ConfigError(f"no Ray cluster at {address}: nothing answers there; start one with: ray start --head")
        options: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
        if address is None:
            options |= {
                "num_cpus": jobs or os.cpu_count() or 1,
                "include_dashboard": False,
                "_node_ip_address": "127.0.0.1",
            }
        try:
            self._ray.init(address=address or "local", **options)  # else Ray joins whatever cluster it finds
        except (ConnectionError, RuntimeError, ValueError) as error:
            where = address or "this machine"
            raise ConfigError(
                f"there is no Ray cluster at {where}: {error}; start one with: ray start --head"
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


def _ray(*, local: bool) -> Any:
    """Ray, which reads its environment when it is imported; whoever has a token for clusters shows it.

    For a `local` cluster Ray is told that there are no others: only then does it listen on loopback alone, for it takes
    127.0.0.1 for the address by which other machines reach this one. A script that imported Ray before has decided for
    itself: what is set now would reach its servers, but not it.
    """
    if "ray" not in sys.modules:
        if local:
            os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_task_oom_retries", str(RETRIES))  # without it, for ever
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        _show_token(local)
    try:
        import ray
        import ray.exceptions
    except ImportError as error:
        raise ConfigError("--engine ray needs Ray; install it with: pip install 'gpcn[ray]'") from error
    check_version(str(ray.__version__))
    return ray


def check_version(version: str) -> None:
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


_evaluators: dict[str, Evaluator] = {}


def _evaluate(key: str, graph: list[Any], task: Task) -> Outcome:
    """In a worker of the cluster: the graph is taken from the object store once per process."""
    if key not in _evaluators:
        import ray

        _evaluators.clear()
        _evaluators[key] = Evaluator(ray.get(graph[0]))
    return _evaluators[key].evaluate(task)
