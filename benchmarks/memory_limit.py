"""A graph whose training does not fit one process of a set size, trained by four workers of that size each.

    .venv/bin/python benchmarks/memory_limit.py [--save]

The limit is RLIMIT_AS (`ulimit -v`), on all processes: the one of `gpcn train`, the workers, and Ray's own. It counts
addresses, of which Python with PyTorch maps some gigabytes before it does anything, so it lies above what a worker with
nothing to do has. With `--save` the numbers go to `benchmarks/memory_limit.json` and into docs/scale.md.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.search.processes import below

from benchmarks.performance_page import put_between
from gpcn.paper.evaluations import code_commit

HERE = Path(__file__).resolve().parent
KEPT, PAGE = HERE / "memory_limit.json", HERE.parent / "docs" / "scale.md"
NODES, DEGREE, FEATURES, HIDDEN, EPOCHS, PARTS = 300_000, 10, 10, 1024, 2, 4
SETTINGS = ["--model", "gpcn-link", "--set", f"hidden={HIDDEN}", "--set", f"epochs={EPOCHS}", "--set", "dropout=0"]


class Watched:
    """A command with a limit, and the most addresses and memory that any of its processes had, by kind."""

    def __init__(self, words: list[str], limit: int | None, env: dict[str, str]) -> None:
        def set_limit() -> None:
            if limit is not None:
                resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

        command = [sys.executable, *words]
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(command, env=env, preexec_fn=set_limit, **pipes)  # noqa: PLW1509
        self.peaks: dict[int, tuple[str, int, int]] = {}

    def sample(self, cluster: int | None) -> None:
        """Note what the command has now, and what the workers below the process `cluster` have."""
        words = below(cluster) if cluster is not None else {}
        workers = [pid for pid, line in words.items() if "RayTrainWorker" in line]
        for pid in (self.process.pid, *workers):
            try:
                status = Path(f"/proc/{pid}/status").read_text()
            except OSError:
                continue
            fields = dict(line.split(":", 1) for line in status.splitlines())
            if "VmPeak" in fields:
                sizes = (int(fields[name].split()[0]) * 1024 for name in ("VmPeak", "VmHWM"))
                self.peaks[pid] = ("command" if pid == self.process.pid else "worker", *sizes)

    def end(self, seconds: float, cluster: int | None = None) -> dict[str, Any]:
        """Wait for it: exit code, what it printed, and the peaks."""
        until = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < until:
            self.sample(cluster)
            time.sleep(0.2)
        self.process.kill()
        output, errors = self.process.communicate()
        peaks = {
            kind: {
                "addresses": max((row[1] for row in self.peaks.values() if row[0] == kind), default=0),
                "memory": max((row[2] for row in self.peaks.values() if row[0] == kind), default=0),
            }
            for kind in ("command", "worker")
        }
        return {"code": self.process.returncode, "output": output, "errors": errors, "peaks": peaks}


def prepare(folder: Path) -> None:
    """The graph as one file, and in parts."""
    from gpcn import synthesize
    from gpcn.data import native
    from gpcn.distributed.sharding.shards import shard

    graph = synthesize(nodes=NODES, classes=4, degree=DEGREE, features=FEATURES, splits=1, seed=0)
    native.write(graph, folder / "graph.npz")
    shard(graph, folder / "parts", PARTS)


def alone(folder: Path, limit: int | None, name: str) -> dict[str, Any]:
    """`gpcn train` in one process."""
    words = ["-m", "gpcn", "train", str(folder / "graph.npz"), *SETTINGS, "--jobs", "1", "--out", str(folder / name)]
    return Watched(words, limit, dict(os.environ)).end(1800)


def in_parts(folder: Path, limit: int) -> dict[str, Any]:
    """`gpcn train --engine ray` on a cluster whose processes have the limit."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    env = os.environ | {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_worker_niceness": "0",
    }
    start = ["start", "--head", "--node-ip-address", "127.0.0.1", "--port", str(port), "--num-cpus", str(PARTS)]
    start += ["--include-dashboard", "false", "--object-store-memory", "80000000", "--block"]
    with tempfile.TemporaryDirectory(prefix="gpcn-ray-", dir="/tmp") as temporary:
        cluster = _started(["-m", "ray.scripts.scripts", *start, "--temp-dir", temporary], limit, env)
        try:
            words = ["train", str(folder / "parts"), *SETTINGS, "--engine", "ray", "--workers", str(PARTS)]
            words += ["--address", f"127.0.0.1:{port}", "--out", str(folder / "in-parts")]
            return Watched(["-m", "gpcn", *words], limit, env).end(1800, cluster.process.pid)
        finally:
            cluster.process.terminate()
            cluster.process.wait(timeout=60)


def _started(words: list[str], limit: int, env: dict[str, str]) -> Watched:
    """A cluster that listens; on a busy machine Ray may give up after half a minute, and is started again."""
    for _ in range(5):
        cluster = Watched(words, limit, env)
        while cluster.process.poll() is None:
            for line in cluster.process.stdout or ():
                if "Ray runtime started" in line:
                    return cluster
        print("the cluster did not start:", (cluster.process.stderr or sys.stdin).read()[-500:], flush=True)
    raise SystemExit("the cluster did not start")


def text_of(row: dict[str, Any]) -> str:
    """The numbers as docs/scale.md has them."""
    gb = {name: f"{row[name] / 1e9:.2f} GB" for name in row if name.endswith(("limit", "_addresses", "_memory"))}
    return (
        f"{row['nodes']:,} nodes, {row['links']:,} links, `gpcn-link` with `hidden = {row['hidden']}`. "
        f"One process without a limit: {gb['alone_addresses']} of addresses, {gb['alone_memory']} of memory. With a "
        f"limit of {gb['limit']} on addresses (`ulimit -v`), one process ends with exit code {row['alone_code']}:\n\n"
        f"    {row['alone_sentence']}\n\n"
        f"and {row['parts']} workers, each under the same limit, train to the end: at most {gb['worker_addresses']} of "
        f"addresses and {gb['worker_memory']} of memory per worker. Commit {row['commit']}."
    )


def _shown(what: str, answer: dict[str, Any]) -> dict[str, Any]:
    print(what, answer["code"], answer["peaks"], answer["errors"].strip()[-500:], flush=True)
    return answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=float, default=7e9, help="bytes of addresses that a process may have")
    parser.add_argument("--save", action="store_true", help="keep the numbers, and make the page's")
    options = parser.parse_args()
    limit = int(options.limit)
    with tempfile.TemporaryDirectory(prefix="gpcn-limit-") as name:
        folder = Path(name)
        prepare(folder)
        from gpcn.data.parts.manifest import Manifest

        links = Manifest.read(folder / "parts").links
        limited = _shown("limited", alone(folder, limit, "limited"))
        parts = _shown("in parts", in_parts(folder, limit))
        free = _shown("free", alone(folder, None, "free"))
    if (free["code"], limited["code"], parts["code"]) != (0, 2, 0):
        raise SystemExit("expected the exit codes 0 without a limit, 2 with it, and 0 in parts")
    sentence = limited["errors"].strip().splitlines()
    row = {
        "nodes": NODES,
        "links": links,
        "hidden": HIDDEN,
        "parts": PARTS,
        "limit": limit,
        "alone_addresses": free["peaks"]["command"]["addresses"],
        "alone_memory": free["peaks"]["command"]["memory"],
        "alone_code": limited["code"],
        "alone_sentence": sentence[-1].replace(str(folder), "DIR"),
        "alone_lines": len(sentence),
        "worker_addresses": parts["peaks"]["worker"]["addresses"],
        "worker_memory": parts["peaks"]["worker"]["memory"],
        "commit": code_commit(),
    }
    print(json.dumps(row, indent=1))
    if options.save:
        KEPT.write_text(json.dumps(row, indent=1) + "\n")
        put_between(PAGE, "memory-limit", text_of(row))


if __name__ == "__main__":
    main()
