"""Training by Ray Train: the command, a worker that is killed, and every failure in one sentence."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from gpcn import TrainConfig, synthesize
from gpcn.data.parts.manifest import part_folder
from gpcn.distributed.cluster_training import _check_size, train_on_cluster
from gpcn.distributed.part_run import folder_of
from gpcn.distributed.shards import shard
from gpcn.distributed.worker_process import check_versions, read_failure, versions, write_failure
from gpcn.errors import ConfigError, DataError, TrainingError
from gpcn.training.runs import Run
from tests.commands import in_process

pytest.importorskip("ray")

NICE = {"RAY_worker_niceness": "0"}  # as nice as the test, instead of 15 nicer
SCRIPT = """
import os, signal, sys, threading, time
from pathlib import Path

shards, broken, out = map(Path, sys.argv[1:])
from gpcn import TrainConfig
from gpcn.cli import main
from gpcn.distributed.cluster_training import train_on_cluster
from gpcn.errors import GpcnError
from gpcn.tuning.executors.connection import connect, load_ray

os.environ["GLOO_SOCKET_IFNAME"] = "lo"
connect(load_ray(local=True), 2, None)
settings = ["--set", "epochs=300", "--set", "patience=100000", "--set", "hidden=4", "--seed", "3"]
sys.argv = ["gpcn", "train", str(shards), "--engine", "ray", "--workers", "2", "--model", "gpcn-link", *settings]
sys.argv += ["--out", str(out / "undisturbed"), "--save-every", "1000"]
main()


def workers():
    pids = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes()
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if b"RayTrainWorker" in words and parent == raylet(): pids.append(int(folder.name))
    return pids


def raylet():
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            program = (folder / "cmdline").read_bytes().split(b"\\0")[0]
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if program.endswith(b"raylet") and parent == os.getpid(): return int(folder.name)


def kill():
    run = out / "disturbed" / "split-00"
    while not (list(run.glob("part-0000/checkpoint-*.json")) and list(run.glob("part-0001/checkpoint-*.json"))):
        time.sleep(0.05)
    os.kill(workers()[0], signal.SIGKILL)
    print("killed", file=sys.__stdout__, flush=True)


threading.Thread(target=kill, daemon=True).start()
config = TrainConfig.of("gpcn-link", epochs=300, patience=100000, hidden=4, seed=3)
train_on_cluster(shards, config, out / "disturbed", save_every=0.2, timeout=60)
print("finished", flush=True)
try:
    train_on_cluster(broken, config, out / "refused", timeout=60)
except GpcnError as error:
    print("refused:", error, flush=True)
"""


def weights_of(path: Path, part: int) -> bytes:
    return next(folder_of(Run.open(path), 0, part).glob("model-*.safetensors")).read_bytes()


def test_the_command_a_killed_worker_and_a_missing_part(tmp_path: Path) -> None:
    graph = synthesize(nodes=60, classes=3, degree=4, features=5, splits=1, seed=3, directed=True)
    for name in ("parts", "broken"):
        shard(graph, tmp_path / name, 2)
    (part_folder(tmp_path / "broken", 1) / "features.parquet").unlink()
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    words = [sys.executable, script, tmp_path / "parts", tmp_path / "broken", tmp_path]
    answer = subprocess.run(words, capture_output=True, text=True, check=False, env=os.environ | NICE, timeout=1800)
    assert answer.returncode == 0, answer.stderr[-3000:]
    assert "gpcn-link on" in answer.stdout
    assert "killed\nfinished\n" in answer.stdout
    for part in (0, 1):
        assert weights_of(tmp_path / "undisturbed", part) == weights_of(tmp_path / "disturbed", part)
    results = [Run.open(tmp_path / name).result() for name in ("undisturbed", "disturbed")]
    assert results[0]["test_mean"] == results[1]["test_mean"]
    refused = answer.stdout.partition("refused: ")[2]
    assert "part 1 of" in refused
    assert "features.parquet is missing" in refused
    assert refused.count("\n") == 1


def test_what_does_not_fit_is_said_before_anything_is_started(tmp_path: Path) -> None:
    shard(synthesize(nodes=30, classes=2, splits=1, features=2, seed=0), tmp_path / "parts", 2)
    config = TrainConfig.of("gpcn")
    with pytest.raises(
        ConfigError, match=r"has 2 part\(s\), one per worker, and --workers is 3; train with --workers 2"
    ):
        train_on_cluster(tmp_path / "parts", config, tmp_path / "run", workers=3)
    with pytest.raises(ConfigError, match="there is no split 4; the graph has splits 0 to 0"):
        train_on_cluster(tmp_path / "parts", config, tmp_path / "run", splits=[4])
    with pytest.raises(DataError, match="is no graph in parts"):
        train_on_cluster(tmp_path, config, tmp_path / "run")
    command = ("train", tmp_path / "parts", "--model", "gpcn")
    assert "add --engine ray, or leave them out" in in_process(*command, "--workers", 2).stderr
    assert "name a folder that all workers see with --out" in in_process(*command, "--engine", "ray").stderr
    assert "--engine is 'spark'; expected ray" in in_process(*command, "--engine", "spark").stderr
    with pytest.raises(ConfigError, match="no Ray cluster at 127.0.0.1:1: nothing answers there"):
        train_on_cluster(tmp_path / "parts", config, tmp_path / "run", address="127.0.0.1:1")


def test_a_cluster_that_is_too_small_is_one_sentence() -> None:
    ray = SimpleNamespace(cluster_resources=lambda: {"CPU": 3.0})
    _check_size(ray, 3, wait=0.0)
    with pytest.raises(ConfigError, match=r"the cluster has 3 CPU\(s\) for 4 workers; add machines with ray start"):
        _check_size(ray, 4, wait=0.0)


def test_other_packages_on_a_worker_are_one_sentence() -> None:
    check_versions(versions())
    with pytest.raises(ConfigError, match=r"has torch .*, and the machine that started the training 1.0; install"):
        check_versions(versions() | {"torch": "1.0"})


def test_a_failure_keeps_its_kind_and_sentence(tmp_path: Path) -> None:
    assert read_failure(tmp_path) is None
    write_failure(tmp_path, 1, TrainingError("the loss became nan; lower lr"))
    failure = read_failure(tmp_path)
    assert isinstance(failure, TrainingError)
    assert str(failure) == "the loss became nan; lower lr"
