"""`gpcn train --engine ray` with the graph and the run in an object store; its driver and a worker are killed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gpcn import synthesize
from gpcn.distributed.sharding.shards import shard
from tests.commands import in_process
from tests.distributed.object_store import ObjectStore, object_store
from tests.distributed.test_many_kills import workers_below

pytest.importorskip("ray")
SETTINGS = ["--set", "epochs=600", "--set", "patience=1000000", "--set", "hidden=4", "--save-every", "1"]


def start(out: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "gpcn", "train", "s3://bucket/parts", "--engine", "ray", "--model", "gpcn-link"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([*words, *SETTINGS, "--out", out], env=os.environ | {"RAY_worker_niceness": "0"}, **pipes)  # type: ignore[call-overload, no-any-return]


def finish(driver: subprocess.Popen[str]) -> str:
    said, complaint = driver.communicate(timeout=900)
    assert driver.returncode == 0, complaint[-3000:]
    return said


def wait_for(condition: Callable[[], bool], driver: subprocess.Popen[str]) -> None:
    until = time.monotonic() + 600
    while not condition():
        assert driver.poll() is None, driver.communicate()[1][-3000:]
        assert time.monotonic() < until
        time.sleep(0.1)


def weights(store: ObjectStore, run: str) -> dict[str, bytes]:
    names = [name for name in store.names(f"bucket/{run}/") if "model-" in name]
    return {name.split("/", 2)[2]: store.objects[name][0] for name in names}


def checkpoints(store: ObjectStore, run: str) -> set[str]:
    return {name for name in store.names(f"bucket/{run}/") if "checkpoint" in name and name.endswith(".safetensors")}


@pytest.mark.slow
def test_a_cluster_trains_from_a_bucket_into_a_bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPCN_CACHE", str(tmp_path / "cache"))
    graph = synthesize(nodes=60, classes=3, degree=4, features=5, splits=1, seed=3)
    with object_store() as store:
        shard(graph, "s3://bucket/parts", 2)
        said = finish(start("s3://bucket/whole"))
        assert "kept in s3://bucket/whole; predictions: gpcn predict s3://bucket/whole" in said
        names = [name.removeprefix("bucket/whole/") for name in store.names("bucket/whole/")]
        parts = [f"split-00/part-000{part}/{name}" for part in (0, 1) for name in ("model.json", "predictions.parquet")]
        expected = {"config.json", "environment.json", "result.json", "split-00/epochs.csv", "split-00/result.json"}
        assert {name for name in names if not name.endswith(".safetensors")} == expected | set(parts)

        driver = start("s3://bucket/run")
        wait_for(lambda: len(checkpoints(store, "run")) >= 2, driver)
        driver.kill()
        driver.communicate()
        seen = checkpoints(store, "run")
        driver = start("s3://bucket/run")
        try:
            wait_for(lambda: bool(checkpoints(store, "run") - seen) and bool(workers_below(driver.pid)), driver)
            os.kill(workers_below(driver.pid)[0], 9)
            finish(driver)
        finally:
            driver.kill()
        assert weights(store, "run") == weights(store, "whole")
        assert len(weights(store, "run")) == 2
        assert not [name for name in store.names() if "/.ray/" in name]
        assert not list((tmp_path / "cache").rglob("*.safetensors"))
        words = ("predict", "s3://bucket/run", "--out", tmp_path / "p.csv")
        assert "if you trust that, name it with --graph" in in_process(*words).stderr
        answer = in_process(*words, "--graph", "s3://bucket/parts")
        assert "60 prediction(s)" in answer.stdout, answer.stderr
