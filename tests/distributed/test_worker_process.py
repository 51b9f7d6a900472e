"""What a worker cannot mend itself ends the training of all workers with one sentence, without Ray being needed."""

from __future__ import annotations

import json
import resource
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from gpcn import TrainConfig, synthesize
from gpcn.core.errors import ConfigError, GpcnError, TrainingError
from gpcn.data.parts.manifest import part_folder
from gpcn.distributed.cluster.failures import FailureBoard, recorded_error
from gpcn.distributed.cluster.worker_process import WorkerTask, check_worker_versions, package_versions, run_worker
from gpcn.distributed.part_run import open_or_create_part_run
from gpcn.distributed.sharding.shards import shard
from gpcn.distributed.torch_worker_group import TorchWorkerGroup
from tests.distributed.workers_of_a_test import run_workers

SMALL = TrainConfig.of("gpcn-link", epochs=5, hidden=6, dropout=0.0)
LARGE = TrainConfig.of("gpcn-link", epochs=5, hidden=4000, dropout=0.0)  # a square of weights is 64 MB
SCENARIOS = (
    "nothing wrong",
    "missing part",
    "damaged part",
    "other versions",
    "full storage",
    "little memory",
    "lost folder",
)
"""Each is met by two workers; the first one trains to its end, so that the others fail for their own reasons."""


class FailuresInAFile:
    """What workers recorded, where other processes see it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)

    def record(self, rank: int, error: GpcnError) -> None:
        unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (unlimited, unlimited))
        (self.folder / str(rank)).write_text(json.dumps([type(error).__name__, str(error)]))

    def first(self) -> GpcnError | None:
        for file in sorted(self.folder.glob("*")):
            return recorded_error(*json.loads(file.read_text()))
        return None


def prepare(folder: Path, scenario: str) -> WorkerTask:
    """A graph in two parts, a run for it, and what is wrong with them."""
    graph = synthesize(nodes=60, classes=3, degree=4, features=5, splits=1, seed=3)
    manifest = shard(graph, folder / "parts", 2)
    run = open_or_create_part_run(
        folder / "run", folder / "parts", manifest, LARGE if scenario == "little memory" else SMALL
    )
    file = part_folder(folder / "parts", 1) / "features.parquet"
    if scenario == "missing part":
        file.unlink()
    if scenario == "damaged part":
        file.write_bytes(file.read_bytes()[:-1])
    out = folder / "elsewhere" if scenario == "lost folder" else run.path
    return WorkerTask(str(folder / "parts"), str(out), [0], 0.0, package_versions())


def limit(scenario: str, rank: int, task: WorkerTask) -> WorkerTask:
    """What is wrong with a worker; its task."""
    if scenario == "other versions" and rank == 1:
        task = replace(task, versions=package_versions() | {"torch": "1.0"})
    if scenario == "full storage" and rank == 1:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    if scenario == "little memory":
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + 100_000_000, resource.getrlimit(resource.RLIMIT_AS)[1]))
    return task


def wait_for_all(folder: Path, workers: TorchWorkerGroup) -> None:
    """By files: who leaves a barrier of gloo and hangs up at once may leave another in it, as Ray does not."""
    folder.mkdir(exist_ok=True)
    (folder / str(workers.rank)).touch()
    while len(list(folder.glob("*"))) < workers.size:
        time.sleep(0.01)


def work(workers: TorchWorkerGroup, folder: Path, tasks: dict[str, WorkerTask]) -> list[str]:
    """How each scenario ended for this worker."""
    torch.set_default_dtype(torch.float32)
    answers = []
    for scenario in SCENARIOS:
        if not dist.is_initialized():
            store = f"file://{folder}/{scenario.replace(' ', '-')}"
            dist.init_process_group("gloo", init_method=store, rank=workers.rank, world_size=workers.size)
        wait_for_all(folder / f"{scenario} begun", workers)
        task = limit(scenario, workers.rank, tasks[scenario])
        start = time.monotonic()
        run_worker(task, FailuresInAFile(Path(task.shards).parent / "failures"))
        assert time.monotonic() - start < 60, scenario
        answers.append(scenario)
        for kind in (resource.RLIMIT_AS, resource.RLIMIT_FSIZE):
            resource.setrlimit(kind, (resource.getrlimit(kind)[1],) * 2)
        if dist.is_initialized():
            dist.destroy_process_group()
    dist.init_process_group("gloo", init_method=f"file://{folder}/last", rank=workers.rank, world_size=workers.size)
    wait_for_all(folder / "all done", workers)
    return answers


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="limits are set as Linux does")
def test_what_a_user_can_mend_ends_all_workers_with_one_sentence(tmp_path: Path) -> None:
    tasks = {scenario: prepare(tmp_path / scenario, scenario) for scenario in SCENARIOS}
    answers = run_workers(2, work, tmp_path, tasks)
    assert answers == [list(SCENARIOS)] * 2  # nobody waited for the other, and nothing was raised to be tried again
    errors = {scenario: FailuresInAFile(tmp_path / scenario / "failures").first() for scenario in SCENARIOS}
    assert errors.pop("nothing wrong") is None
    assert (tmp_path / "nothing wrong" / "run" / "split-00" / "result.json").exists()
    sentences = {scenario: f"{type(error).__name__}: {error}" for scenario, error in errors.items()}
    assert "CheckpointError: part 1 of" in sentences["missing part"]
    assert "features.parquet is missing; write it again with gpcn shard" in sentences["missing part"]
    assert "features.parquet does not have its checksum" in sentences["damaged part"]
    assert "and the machine that started the training 1.0; install the same version" in sentences["other versions"]
    assert "DataError: cannot write" in sentences["full storage"]
    assert "File too large" in sentences["full storage"]
    assert "does not see" in sentences["lost folder"]
    assert not (tmp_path / "lost folder" / "elsewhere").exists()
    assert "memory" in sentences["little memory"]
    assert all("\n" not in sentence for sentence in sentences.values())


def test_other_packages_on_a_worker_are_one_sentence() -> None:
    check_worker_versions(package_versions())
    with pytest.raises(ConfigError, match=r"has torch .*, and the machine that started the training 1.0; install"):
        check_worker_versions(package_versions() | {"torch": "1.0"})


def test_of_several_failures_the_first_worker_s_is_kept_with_its_kind() -> None:
    board = FailureBoard()
    assert board.first() is None
    board.record(1, "ConfigError", "another")
    board.record(0, "TrainingError", "the loss became nan; lower lr")
    board.record(0, "ConfigError", "a consequence")
    kind, sentence = board.first() or ("", "")
    error = recorded_error(kind, sentence)
    assert isinstance(error, TrainingError)
    assert str(error) == "the loss became nan; lower lr"
    assert type(recorded_error("near_matches", "no kind of error")) is GpcnError
