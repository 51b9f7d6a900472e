"""Two real Ray nodes on loopback, the driver attached by address; a worker killed, then a whole node stopped."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gpcn import ConfigError
from gpcn.exec import ray_connection
from gpcn.search.ledger import Ledger
from tests.search.processes import below

GRAPH_OPTIONS = {"nodes": 150, "classes": 3, "degree": 4, "splits": 3, "seed": 8}

pytest.importorskip("ray", reason="the ray extra is not installed")
WORDS = ("--model", "gpcn-link", "--set", "hidden=8", "--set", "epochs=600", "--set", "patience=600")
WORDS += ("--generation", "6", "--budget", "12", "--splits", "0-2")


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def end(node: subprocess.Popen[bytes]) -> None:
    """A whole node at once, as if its machine had lost power."""
    for pid in below(node.pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    node.wait()


def wait_for(truth: Callable[[], Any], what: str, seconds: float = 300) -> Any:
    deadline = time.monotonic() + seconds
    while not (value := truth()):
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(0.02)
    return value


def evaluating(node: subprocess.Popen[bytes]) -> list[int]:
    return [pid for pid, words in below(node.pid).items() if words.startswith("ray::_perform")]


class Cluster:
    """Nodes of one CPU each, behind a token of their own."""

    def __init__(self, folder: Path) -> None:
        self.port, self.folder = free_port(), folder
        self.address = f"127.0.0.1:{self.port}"
        self.env = os.environ | {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
        self.head = self._start("--head", f"--port={self.port}", "--include-dashboard=false")
        wait_for(self._listens, "the head node never listened")
        self.second = self._start(f"--address={self.address}")

    def _start(self, *words: str) -> subprocess.Popen[bytes]:
        command = [str(Path(sys.executable).parent / "ray"), "start", *words, "--node-ip-address=127.0.0.1"]
        command += ["--num-cpus=1", "--disable-usage-stats", "--block"]
        command += ["--object-store-memory=100000000"]
        nowhere = subprocess.DEVNULL
        return subprocess.Popen(command, env=self.env, cwd=self.folder, stdout=nowhere, stderr=nowhere)

    def _listens(self) -> bool:
        with socket.socket() as tried:
            return tried.connect_ex(("127.0.0.1", self.port)) == 0

    def close(self) -> None:
        for node in (self.second, self.head):
            end(node)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path)
    yield cluster
    cluster.close()


def outcomes(folder: Path) -> dict[tuple[int, str], Any]:
    return {
        (trial.number, key): {name: value for name, value in outcome.items() if name != "seconds"}
        for trial in Ledger.open(folder).trials
        for key, outcome in trial.outcomes.items()
    }


def test_a_study_survives_a_killed_worker_and_a_lost_node(cluster: Cluster, graph_file: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", "-m", "gpcn", "tune", str(graph_file), *WORDS]
    subprocess.run([*command, "--out", str(tmp_path / "local")], check=True, capture_output=True)
    attached = ["--engine", "ray", "--address", cluster.address, "--out", str(tmp_path / "ray")]
    driver = subprocess.Popen([*command, *attached], env=cluster.env, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    try:
        victim = wait_for(lambda: evaluating(cluster.head), "the head node never worked")[0]
        os.kill(victim, signal.SIGKILL)
        wait_for(lambda: evaluating(cluster.second), "the second node never worked")
        assert driver.poll() is None
        end(cluster.second)
        _, stderr = driver.communicate(timeout=600)
    finally:
        driver.kill()
    assert driver.returncode == 0, stderr.decode()
    assert outcomes(tmp_path / "ray") == outcomes(tmp_path / "local")
    assert all(trial.state != "running" for trial in Ledger.open(tmp_path / "ray").trials)


def test_no_cluster_is_one_sentence(graph_file: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "gpcn", "tune", str(graph_file), *WORDS, "--engine", "ray"]
    command += ["--address", "127.0.0.1:1", "--out", str(tmp_path / "s")]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 2
    assert "no Ray cluster at 127.0.0.1:1" in answer.stderr
    assert "ray start --head" in answer.stderr


LOCAL = """
import os, sys
from gpcn import synthesize
from gpcn.search.executors import ray_executor
executor = ray_executor(synthesize(nodes=20, splits=1), 1)
print("started", flush=True)
sys.stdin.read()
executor.close()
"""


def listening(ancestor: int) -> dict[str, set[str]]:
    """The addresses that processes below `ancestor` listen on, as /proc writes them, by the name of the program."""
    programs: dict[str, str] = {}
    for pid, words in below(ancestor).items():
        for link in Path(f"/proc/{pid}/fd").glob("*"):
            try:
                programs[str(link.readlink())] = Path(words.split()[0]).name
            except OSError:
                continue
    addresses: dict[str, set[str]] = {}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            _, local, _, state, *rest = line.split()
            program = programs.get(f"socket:[{rest[5]}]")
            if state == "0A" and program is not None:
                addresses.setdefault(program, set()).add(local.partition(":")[0])
    return addresses


def test_a_local_cluster_listens_on_loopback_alone_and_writes_no_token(tmp_path: Path) -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")} | {"HOME": str(tmp_path)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen([sys.executable, "-W", "ignore", "-c", LOCAL], env=env, text=True, **pipes)  # type: ignore[call-overload]
    try:
        assert process.stdout.readline() == "started\n", process.stderr.read()
        listeners = listening(process.pid)
        assert {"gcs_server", "raylet"} <= listeners.keys()
        assert {address for addresses in listeners.values() for address in addresses} <= LOOPBACK
        assert not (tmp_path / ".ray" / "auth_token").exists()
    finally:
        process.communicate("")


LOOPBACK = {"0100007F", "00000000000000000000000001000000", "0000000000000000FFFF00000100007F"}


def test_tokens_are_made_shown_and_kept_from_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "RAY_AUTH_MODE"):
        monkeypatch.setenv(name, "x")
        monkeypatch.delenv(name)
    ray_connection._show_token(local=False)
    assert "RAY_AUTH_MODE" not in os.environ
    ray_connection._show_token(local=True)
    assert os.environ["RAY_AUTH_MODE"] == "token"
    assert len(os.environ["RAY_AUTH_TOKEN"]) == 64
    monkeypatch.delenv("RAY_AUTH_TOKEN")
    file = tmp_path / ".ray" / "auth_token"
    file.parent.mkdir()
    file.write_text("secret")
    file.chmod(0o644)
    ray_connection._show_token(local=True)
    assert file.stat().st_mode & 0o777 == 0o600
    assert "RAY_AUTH_TOKEN" not in os.environ


def test_a_ray_without_tokens_is_refused() -> None:
    ray_connection.check_ray_version("2.52.0")
    ray_connection.check_ray_version("3.0.0.dev0")
    with pytest.raises(ConfigError, match="Ray 2.30.1 has no tokens; expected 2.52 or later"):
        ray_connection.check_ray_version("2.30.1")
