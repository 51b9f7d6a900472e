"""A Ray cluster of two CPUs on this machine, and trainings on it that meet a fault each; a line of JSON per answer.

    python -m tests.distributed.cluster_faults FOLDER

FOLDER has `parts` (two), `broken` (one file of them missing), `three` (three parts), and `full`, a small file system of
its own, where one could be mounted.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from unittest import mock

from gpcn.core.errors import GpcnError
from gpcn.distributed.cluster import cluster_training
from gpcn.distributed.cluster.cluster_training import RayCluster, train_on_cluster
from gpcn.exec.ray_connection import connect_to_ray, load_ray
from tests.distributed.undisturbed import config_of
from tests.search.processes import below

MODEL, EPOCHS = "gpcn-link", 400
TIMEOUT = 20.0


def answer(name: str, folder: Path, shards: str, out: str, **limits: float) -> None:
    """Train, and print how it ended and after how many seconds."""
    start, sentence = time.monotonic(), "finished"
    cluster = RayCluster(timeout=TIMEOUT, **limits)
    try:
        train_on_cluster(folder / shards, config_of(MODEL, EPOCHS), folder / out, cluster=cluster, save_every=0.2)
    except GpcnError as error:
        sentence = f"{type(error).__name__}: {error}"
    line = {"name": name, "sentence": sentence, "seconds": round(time.monotonic() - start, 1)}
    print(json.dumps(line), file=sys.__stdout__, flush=True)


def after_a_checkpoint(run: Path, act: Callable[[], object]) -> None:
    """Call `act`, in a thread, when all parts of a run have been saved."""

    def wait() -> None:
        while len({file.parent for file in run.glob("split-00/part-*/checkpoint-*.json")}) < 2:
            time.sleep(0.05)
        act()

    threading.Thread(target=wait, daemon=True).start()


def stop_a_worker() -> None:
    """It hangs from now on."""
    victims = [pid for pid, words in below(os.getpid()).items() if "RayTrainWorker" in words]
    os.kill(victims[-1], signal.SIGSTOP)
    print(json.dumps({"name": "stopped", "pid": victims[-1]}), file=sys.__stdout__, flush=True)


def fill(file: Path) -> None:
    """Write until there is no room left."""
    with file.open("wb", buffering=0) as stream:
        try:
            while True:
                stream.write(b"\0" * 4096)
        except OSError:
            return


def main() -> None:
    folder = Path(sys.argv[1])
    connect_to_ray(load_ray(local=True), 2, None)
    answer("missing part", folder, "broken", "runs/broken")
    answer("too few CPUs", folder, "three", "runs/three", wait=2.0)
    others = cluster_training.package_versions() | {"numpy": "1.0"}
    with mock.patch.object(cluster_training, "package_versions", lambda: others):
        answer("other versions", folder, "parts", "runs/versions")
    after_a_checkpoint(folder / "runs" / "stopped", stop_a_worker)
    answer("hanging worker", folder, "parts", "runs/stopped")
    if (folder / "full").is_dir():
        filler = folder / "full" / "filler"
        after_a_checkpoint(folder / "full" / "run", lambda: fill(filler))
        answer("full storage", folder, "parts", "full/run")
        filler.unlink()
        answer("room again", folder, "parts", "full/run")


if __name__ == "__main__":
    main()
