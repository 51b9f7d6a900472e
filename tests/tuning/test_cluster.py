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

from gpcn import save, synthesize
from gpcn.tuning.ledger import Ledger
from tests.tuning.processes import below

pytest.importorskip("ray", reason="the ray extra is not installed")
WORDS = ("--model", "gpcn-link", "--set", "hidden=8", "--set", "epochs=600", "--set", "patience=600")
WORDS += ("--generation", "6", "--budget", "12", "--splits", "0-2")


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


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
    while not (found := truth()):
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(0.02)
    return found


def evaluating(node: subprocess.Popen[bytes]) -> list[int]:
    return [pid for pid, words in below(node.pid).items() if words.startswith("ray::_evaluate")]


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
    made = Cluster(tmp_path)
    yield made
    made.close()


@pytest.fixture
def graph_file(tmp_path: Path) -> Path:
    save(synthesize(nodes=150, classes=3, degree=4, splits=3, seed=8), tmp_path / "g.npz")
    return tmp_path / "g.npz"


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
        _, told = driver.communicate(timeout=600)
    finally:
        driver.kill()
    assert driver.returncode == 0, told.decode()
    assert outcomes(tmp_path / "ray") == outcomes(tmp_path / "local")
    assert all(trial.state != "running" for trial in Ledger.open(tmp_path / "ray").trials)


def test_no_cluster_is_one_sentence(graph_file: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "gpcn", "tune", str(graph_file), *WORDS, "--engine", "ray"]
    command += ["--address", "127.0.0.1:1", "--out", str(tmp_path / "s")]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 2
    assert "no Ray cluster at 127.0.0.1:1" in answer.stderr
    assert "ray start --head" in answer.stderr
