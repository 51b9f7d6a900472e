"""Two "hosts" on one machine: network namespaces joined by a cable, a Ray node in each. Needs root."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType

PREFIX, PORT = "10.77.31", 6399
HEAD, OTHER = "gpcn-a", "gpcn-b"
SECONDS = 300.0  # for a node of Ray to be there


def run(*words: object, check: bool = True) -> str:
    """A command of the system; what it printed."""
    answer = subprocess.run([*map(str, words)], capture_output=True, text=True, check=False)
    if check and answer.returncode:
        raise SystemExit(f"{' '.join(map(str, words))} failed: {answer.stderr.strip()}")
    return answer.stdout


class Hosts:
    """Two namespaces with the addresses `PREFIX`.1 and `PREFIX`.2; both see the same files, as machines with NFS do.

    Args:
        folder: where Ray keeps its files; a short path, for those of sockets must be.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.address = f"{PREFIX}.1:{PORT}"
        self.nodes: dict[str, subprocess.Popen[bytes]] = {}
        self.env = os.environ | {
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(32),
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_worker_niceness": "0",
            "RAY_health_check_period_ms": "1000",  # a machine that is away is noticed after some ten seconds
            "RAY_health_check_timeout_ms": "2000",
        }

    def __enter__(self) -> Hosts:
        self._remove()
        for host in (HEAD, OTHER):
            run("ip", "netns", "add", host)
            run("ip", "-n", host, "link", "set", "lo", "up")
        run("ip", "link", "add", "eth0", "netns", HEAD, "type", "veth", "peer", "name", "eth0", "netns", OTHER)
        for number, host in enumerate((HEAD, OTHER), start=1):
            run("ip", "-n", host, "address", "add", f"{PREFIX}.{number}/24", "dev", "eth0")
            self.plug(host)
        self.start_ray(HEAD)
        self.start_ray(OTHER)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for host in (OTHER, HEAD):
            self.end_ray(host)
        self._remove()

    def plug(self, host: str, *, up: bool = True) -> None:
        """Plug the cable of a host in, or pull it out."""
        run("ip", "-n", host, "link", "set", "eth0", "up" if up else "down")

    def start(self, host: str, *words: object, **options: object) -> subprocess.Popen[bytes]:
        """A process on a host."""
        command = ["ip", "netns", "exec", host, sys.executable, *map(str, words)]
        return subprocess.Popen(command, env=self.env, start_new_session=True, **options)  # type: ignore[call-overload, no-any-return]

    def start_ray(self, host: str) -> None:
        """Ray on a host, with one CPU, and wait until it has joined."""
        head_options = ["--head", "--port", PORT, "--include-dashboard", "false", "--temp-dir", self.folder]
        where = head_options if host == HEAD else ["--address", self.address]
        number = 1 if host == HEAD else 2
        words = ["--node-ip-address", f"{PREFIX}.{number}", "--num-cpus", 1, "--object-store-memory", 80_000_000]
        with (self.folder / f"{host}.log").open("ab") as log:
            scripts = ("-m", "ray.scripts.scripts", "start", *where, *words, "--block")
            self.nodes[host] = self.start(host, *scripts, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        until = time.monotonic() + SECONDS
        while b"Ray runtime started" not in (self.folder / f"{host}.log").read_bytes().rpartition(b"Local node IP")[2]:
            if time.monotonic() > until or self.nodes[host].poll() is not None:
                raise SystemExit(f"Ray did not start on {host}: {(self.folder / f'{host}.log').read_text()[-1000:]}")
            time.sleep(0.2)

    def end_ray(self, host: str) -> None:
        """Kill all processes of a host, as a power cut would."""
        for pid in run("ip", "netns", "pids", host, check=False).split():
            run("kill", "-9", pid, check=False)
        if host in self.nodes:
            self.nodes.pop(host).wait()
        (self.folder / f"{host}.log").unlink(missing_ok=True)

    def workers(self, host: str) -> list[int]:
        """The training workers on a host."""
        pids = []
        for pid in run("ip", "netns", "pids", host, check=False).split():
            try:
                words = Path(f"/proc/{pid}/cmdline").read_text()
            except OSError:
                continue
            if "RayTrainWorker" in words:
                pids.append(int(pid))
        return pids

    def received(self, host: str) -> int:
        """Bytes that came over the cable of a host."""
        return int(run("ip", "netns", "exec", host, "cat", "/sys/class/net/eth0/statistics/rx_bytes"))

    def _remove(self) -> None:
        for host in (HEAD, OTHER):
            run("ip", "netns", "del", host, check=False)
