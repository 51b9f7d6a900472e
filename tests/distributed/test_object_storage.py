"""Folders of an object store: what is stored in which order, copies of it, parts, runs, kills, and every failure."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.distributed as dist
from torch.multiprocessing.spawn import ProcessExitedException

import gpcn
from gpcn import Graph, TrainConfig, synthesize
from gpcn.core.errors import ConfigError, DataError, GpcnError, StorageError
from gpcn.data.object_storage import RemoteFolder, local_copy, remote_url
from gpcn.data.parts.manifest import Manifest
from gpcn.distributed.cluster.worker_process import WorkerTask, package_versions, run_worker
from gpcn.distributed.part_run import open_or_create_part_run
from gpcn.distributed.run_files import fetch_parts_manifest, run_files
from gpcn.distributed.sharding.shards import shard
from gpcn.runs.run import Run
from tests.commands import in_process
from tests.distributed.object_store import ObjectStore, object_store
from tests.distributed.workers_of_a_test import run_workers

CONFIG = TrainConfig.of("gpcn-link", epochs=12, patience=100, hidden=4, seed=3)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    monkeypatch.setenv("GPCN_CACHE", str(tmp_path / "cache"))
    with object_store() as running:
        yield running


def small(seed: int = 3) -> Graph:
    return synthesize(nodes=40, classes=3, degree=4, features=5, splits=1, seed=seed, directed=True)


def written(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_a_url_survives_being_a_path_and_carries_no_credentials() -> None:
    assert remote_url(Path("s3://bucket/a/b")) == remote_url("s3://bucket/a/b/") == "s3://bucket/a/b"
    assert remote_url("s3://b/a/?region=x&scheme=http") == "s3://b/a?region=x&scheme=http"
    assert remote_url("runs/s3") is None
    with pytest.raises(ConfigError, match="credentials do not belong into a URL"):
        remote_url("s3://key:secret@bucket/run")


def test_what_makes_other_files_valid_is_stored_last_and_deleted_first(tmp_path: Path, store: ObjectStore) -> None:
    written(tmp_path / "a", result_json="1", split__x_json="2", split__w_bin="3", _hidden="4")
    remote = RemoteFolder("s3://bucket/run")
    remote.publish(tmp_path / "a")
    stored = [name for name in store.objects if not name.endswith("/")]  # in the order of their arrival
    assert [name.removeprefix("bucket/run/") for name in stored] == ["split/w.bin", "split/x.json", "result.json"]
    store.requests.clear()
    remote.publish(tmp_path / "a")
    assert store.requests == []
    for name in ("w.bin", "x.json"):
        (tmp_path / "a" / "split" / name).unlink()
    remote.publish(tmp_path / "a", "split")
    deleted = [request.split("/")[-1] for request in store.requests if request.startswith("DELETE")]
    assert deleted == ["x.json", "w.bin"]
    assert store.names() == ["bucket/run/result.json"]


def test_a_copy_takes_what_changed_and_keeps_what_was_added_here(tmp_path: Path, store: ObjectStore) -> None:
    written(tmp_path / "a", result_json="1", w_bin="3")
    RemoteFolder("s3://bucket/run").publish(tmp_path / "a")
    copy = local_copy("s3://bucket/run")
    assert copy.name == "run"
    written(copy, result_json="assembled here", more_npz="here")
    store.requests.clear()
    assert local_copy("s3://bucket/run") == copy
    assert not [request for request in store.requests if request.startswith("GET") and request.endswith("w.bin")]
    assert ((copy / "result.json").read_text(), (copy / "more.npz").read_text()) == ("assembled here", "here")
    written(tmp_path / "b", result_json="2")  # as long, and within the same second
    RemoteFolder("s3://bucket/run").publish(tmp_path / "b")
    RemoteFolder("s3://bucket/run").delete(["w.bin"])
    local_copy("s3://bucket/run")
    assert (copy / "result.json").read_text() == "2"
    assert not (copy / "w.bin").exists()


def test_names_that_lead_elsewhere_are_not_fetched(tmp_path: Path, store: ObjectStore) -> None:
    store.objects |= {"bucket/run/a.bin": (b"1", 1.0), "bucket/run/../../out.bin": (b"2", 1.0)}
    assert RemoteFolder("s3://bucket/run").fetch(tmp_path / "copy") == ["a.bin"]
    assert not list(tmp_path.rglob("out.bin"))


def test_what_storage_refuses_is_one_sentence(
    tmp_path: Path, store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(
        StorageError, match=r"^s3://absent/run: there is no such bucket; create it, or correct the URL$"
    ):
        local_copy("s3://absent/run")
    with pytest.raises(StorageError, match=r"^there is nothing at s3://bucket/run; check the URL$"):
        gpcn.open_run("s3://bucket/run")
    with pytest.raises(StorageError, match="there is no such bucket"):
        shard(small(), "s3://absent/parts", 2)
    with pytest.raises(DataError, match=r"^s3://bucket/parts is no graph in parts: it has no manifest.json"):
        fetch_parts_manifest("s3://bucket/parts")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody")
    shard(small(), tmp_path / "parts", 1)
    answer = in_process("shard", tmp_path / "parts", "--parts", 2, "--out", "s3://bucket/parts")
    assert answer.returncode == 2
    assert answer.stderr.count("\n") == 1
    assert "s3://bucket/parts: access is refused; give credentials" in answer.stderr


def test_storage_that_does_not_answer_is_one_sentence(store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(StorageError, match=r"^s3://bucket/parts: the storage does not answer; check its address$"):
        fetch_parts_manifest("s3://bucket/parts")


def test_parts_in_a_bucket_are_those_of_a_folder(tmp_path: Path, store: ObjectStore) -> None:
    graph = small()
    manifest = shard(graph, tmp_path / "parts", 3)
    assert shard(graph, "s3://bucket/data/parts", 3) == manifest == fetch_parts_manifest("s3://bucket/data/parts")
    local = {str(file.relative_to(tmp_path)): file for file in (tmp_path / "parts").rglob("*.*") if file.name[0] != "."}
    assert store.names() == sorted(f"bucket/data/{name}" for name in local)
    assert all(store.objects[f"bucket/data/{name}"][0] == file.read_bytes() for name, file in local.items())
    assert not list((tmp_path / "cache").rglob("*.parquet"))
    whole = gpcn.load("s3://bucket/data/parts")
    assert whole.equals(graph)


def test_parts_are_written_once_and_replaced_by_those_of_another_graph(store: ObjectStore) -> None:
    def stop(done: int, parts: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        shard(small(), "s3://bucket/parts", 3, progress=stop)
    with pytest.raises(DataError, match="it has no manifest.json"):
        fetch_parts_manifest("s3://bucket/parts")
    store.requests.clear()
    manifest = shard(small(), "s3://bucket/parts", 3)
    stored = {
        request.split("/")[-2] for request in store.requests if request.startswith("PUT") and "parquet" in request
    }
    assert stored == {"part-0002"}
    del store.objects["bucket/parts/part-0001/features.parquet"]
    assert shard(small(), "s3://bucket/parts", 3) == manifest
    assert gpcn.load("s3://bucket/parts").equals(small())
    other = shard(small(seed=4), "s3://bucket/parts", 2)
    assert fetch_parts_manifest("s3://bucket/parts") == other
    assert not [name for name in store.names() if "part-0002" in name]
    store.objects["bucket/parts/notes.txt"] = (b"", 1.0)
    with pytest.raises(ConfigError, match=r"s3://bucket/parts holds something else, such as notes.txt"):
        shard(small(), "s3://bucket/parts", 2)


def begin(out: str) -> WorkerTask:
    """Create the run at `out`, as the driver does; the task of its workers."""
    files, manifest = run_files(out, "driver"), fetch_parts_manifest("s3://bucket/parts")
    files.prepare([0])
    open_or_create_part_run(files.folder, "s3://bucket/parts", manifest, CONFIG)
    files.publish()
    return WorkerTask("s3://bucket/parts", out, [0], 0.0, package_versions())


class FailuresHere:
    """What the only worker records."""

    def __init__(self) -> None:
        self.errors: list[GpcnError] = []

    def record(self, rank: int, error: GpcnError) -> None:
        self.errors.append(error)

    def first(self) -> GpcnError | None:
        return self.errors[0] if self.errors else None


def alone(task: WorkerTask, folder: Path) -> GpcnError | None:
    """The only worker, in this process; why it could not go on, if it could not."""
    file = folder / f"group-{time.monotonic_ns()}"
    dist.init_process_group("gloo", rank=0, world_size=1, init_method=f"file://{file}")
    failures = FailuresHere()
    try:
        run_worker(task, failures)
        return failures.first()
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()


def undisturbed(workers: object, task: WorkerTask) -> None:
    torch.set_default_dtype(torch.float32)
    run_worker(task, FailuresHere())


def killed(workers: object, task: WorkerTask, rank: int, last: str) -> None:
    """Worker `rank` dies before it stores a file called `last`."""
    torch.set_default_dtype(torch.float32)
    store_file = RemoteFolder._store_file

    def deadly(self: RemoteFolder, path: Path, name: str) -> None:
        if path.name == last and dist.get_rank() == rank:
            os.kill(os.getpid(), signal.SIGKILL)
        store_file(self, path, name)

    RemoteFolder._store_file = deadly  # type: ignore[method-assign]
    run_worker(task, FailuresHere())


def of_run(store: ObjectStore, run: str) -> dict[str, bytes]:
    """What must not depend on kills: weights and predictions."""
    names = [name for name in store.names(f"bucket/{run}/") if name.endswith((".safetensors", ".parquet"))]
    return {name.removeprefix(f"bucket/{run}/"): store.objects[name][0] for name in names}


def test_a_run_killed_goes_on_from_the_bucket_and_is_opened_there(tmp_path: Path, store: ObjectStore) -> None:
    shard(small(), "s3://bucket/parts", 1)
    alone(begin("s3://bucket/whole"), tmp_path)
    with pytest.raises(ProcessExitedException):
        run_workers(1, killed, begin("s3://bucket/run"), 0, "checkpoint-odd.json")
    stored = {name.split("/")[-1].split(".")[0] for name in store.names("bucket/run/split-00")}
    assert {name[:15] for name in stored} == {
        "checkpoint-even",
        "checkpoint-odd-",
    }  # the tensors of the second are there
    alone(begin("s3://bucket/run"), tmp_path)
    assert of_run(store, "run") == of_run(store, "whole")
    assert len(of_run(store, "run")) == 2

    store.requests.clear()
    folder = gpcn.open_run("s3://bucket/run", graph="s3://bucket/parts")
    predictions = folder.predict()
    np.testing.assert_allclose(predictions.probabilities, Run.open(folder.path).predictions(0), atol=1e-5)
    assert not [request for request in store.requests if request.startswith(("PUT", "POST", "DELETE"))]
    named = ("--graph", "s3://bucket/parts")
    answer = in_process("predict", "s3://bucket/run", *named, "--out", tmp_path / "p.csv")
    assert answer.returncode == 0, answer.stderr
    assert "40 prediction(s)" in answer.stdout
    answer = in_process("report", "s3://bucket/run", *named, "--out", tmp_path / "page.html")
    assert answer.returncode == 0, answer.stderr
    assert "run run" in answer.stdout


@pytest.mark.slow
def test_a_kill_at_any_moment_changes_no_bit(store: ObjectStore) -> None:
    shard(small(), "s3://bucket/parts", 2)
    run_workers(2, undisturbed, begin("s3://bucket/whole"))
    expected = of_run(store, "whole")
    assert [name.split("/")[1] for name in expected] == ["part-0000", "part-0000", "part-0001", "part-0001"]
    names = ("checkpoint-even.json", "predictions.parquet", "model.json")
    for rank, last in [*((rank, name) for name in names for rank in (0, 1)), (0, "epochs.csv"), (0, "result.json")]:
        with pytest.raises(ProcessExitedException):
            run_workers(2, killed, begin("s3://bucket/run"), rank, last)
    run_workers(2, undisturbed, begin("s3://bucket/run"))
    assert of_run(store, "run") == expected
    assert not [name for name in store.names() if "checkpoint" in name or "/." in name]


def test_a_damaged_part_in_the_bucket_ends_the_training_in_one_sentence(tmp_path: Path, store: ObjectStore) -> None:
    shard(small(), "s3://bucket/parts", 1)
    name = "bucket/parts/part-0000/features.parquet"
    store.objects[name] = (store.objects[name][0][:-1] + b"x", 5.0)
    failure = alone(begin("s3://bucket/run"), tmp_path)
    assert str(failure).startswith("s3://bucket/parts/part-0000/features.parquet does not have its checksum")


def test_a_run_is_not_begun_where_something_else_lies(store: ObjectStore) -> None:
    shard(small(), "s3://bucket/parts", 2)
    with pytest.raises(ConfigError, match="s3://bucket/parts holds a graph in parts; choose another out"):
        begin("s3://bucket/parts")
    assert Manifest.read(local_copy("s3://bucket/parts")).parts == 2
