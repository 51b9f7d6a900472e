"""Training on a Ray cluster: Ray Train starts the workers, watches them, and starts all again when one is lost."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from gpcn.core.errors import ConfigError, Option, TrainingError
from gpcn.core.locking import locked_folder
from gpcn.data.object_storage import remote_url
from gpcn.data.parts.manifest import Manifest
from gpcn.distributed.cluster.failures import ClusterFailures
from gpcn.distributed.cluster.training_progress import watched_progress
from gpcn.distributed.cluster.worker_process import WorkerTask, package_versions, train_part_in_worker
from gpcn.distributed.part_problem import check_supported_on_workers
from gpcn.distributed.part_run import open_or_create_part_run
from gpcn.distributed.run_files import RunFiles, fetch_parts_manifest, run_files
from gpcn.exec.ray_connection import connect_to_ray, load_ray
from gpcn.records import layout
from gpcn.runs.results import RunResult
from gpcn.training.config import TrainConfig
from gpcn.training.progress import Listener

LIMITS = ("max_failures", "controller_failure_limit", "max_preemption_failures")


@dataclass(frozen=True)
class RayCluster:
    """How a Ray cluster is reached, and how long its machines are waited for.

    Args:
        address: of a running one; without it, a cluster is started on this machine, for it alone.
        retries: how often the workers are started again after one was lost.
        timeout: seconds after which a worker that waits for another gives up.
        wait: seconds to wait for a cluster to have enough CPUs.
    """

    address: str | None = None
    retries: int = 10
    timeout: float = 300.0
    wait: float = 60.0


def train_on_cluster(
    shards: str | Path,
    config: TrainConfig,
    out: str | Path,
    *,
    cluster: RayCluster | None = None,
    workers: int | None = None,
    splits: Sequence[int] | None = None,
    save_every: float = 10.0,
    progress: Listener | None = None,
) -> RunResult:
    """Train `config` on a graph in parts, one worker per part, and summarize as `gpcn.train` does.

    Args:
        shards: what `gpcn shard` wrote: a folder that all workers see under this path, or a URL such as
            `s3://bucket/parts`.
        config: what to train.
        out: the run's folder, which all workers see under this path, or a URL; the same call again goes on.
        cluster: where the workers run (default: one that is started on this machine).
        workers: how many; as many as there are parts.
        splits: numbers of splits (default: all).
        save_every: seconds between checkpoints.
        progress: called with how far it is.
    """
    manifest, files = fetch_parts_manifest(shards), run_files(out, "driver")
    root, path = remote_url(shards) or str(Path(shards).resolve()), files.folder
    check_supported_on_workers(config)
    if workers is not None and workers != manifest.parts:
        raise ConfigError(
            f"{shards} has {manifest.parts} part(s), one per worker, and {Option('workers')} is {workers}; train with "
            f"{Option('workers', manifest.parts)}, or cut it anew with {Option('parts', workers, command='shard')}"
        )
    numbers = check_part_split_numbers(manifest, splits)
    with files.named(), locked_folder(path):
        files.prepare(range(manifest.splits))
        run = open_or_create_part_run(path, root, manifest, config)
        files.publish()
        if any(run.outcome(number) is None for number in numbers):
            watched = progress is not None
            task = WorkerTask(root, files.location, numbers, save_every, package_versions(), watched)
            with watched_progress(files, progress):
                _fit(files, task, manifest.parts, cluster or RayCluster())
            files.prepare(range(manifest.splits))
        run.keep_result()
        files.publish(path / layout.RESULT)
        result = run.result(numbers)
    files.discard()
    return result


def check_part_split_numbers(manifest: Manifest, splits: Sequence[int] | None) -> list[int]:
    """The numbers of the splits that are meant, all of them by default."""
    numbers = list(range(manifest.splits)) if splits is None else sorted(set(splits))
    if not manifest.splits:
        raise ConfigError(
            f"{manifest.graph.name} has no splits; cut it anew with {Option('random_splits', 5, command='shard')}"
        )
    for number in numbers:
        if not 0 <= number < manifest.splits:
            raise ConfigError(f"there is no split {number}; the graph has splits 0 to {manifest.splits - 1}")
    return numbers


def _fit(files: RunFiles, task: WorkerTask, parts: int, cluster: RayCluster) -> None:
    os.environ.setdefault("RAY_TRAIN_V2_ENABLED", "1")
    os.environ.setdefault("RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S", str(max(1, round(cluster.wait))))
    os.environ.setdefault("RAY_TRAIN_WORKER_HEALTH_CHECK_TIMEOUT_S", str(max(1, round(cluster.timeout))))
    ray = load_ray(local=cluster.address is None, library="ray.train")
    ours = not ray.is_initialized()
    if ours:
        connect_to_ray(ray, parts, cluster.address)
    try:
        _check_size(ray, parts, cluster.wait)
        failures, error = ClusterFailures.start(ray), None
        trainer = _trainer(replace(task, failures=failures.name), parts, cluster, files.ray_storage())
        try:
            with contextlib.redirect_stdout(sys.stderr):  # Ray says there which workers died; results go to stdout
                trainer.fit()
        except _training_errors() as failure:
            error = failure
        failed = failures.first()
        if failed is not None:
            raise failed
        if error is not None:
            raise TrainingError(_sentence(error, cluster.retries)) from error
    finally:
        files.remove_ray_storage()
        if ours:
            with contextlib.suppress(Exception):
                ray.shutdown()


def _trainer(task: WorkerTask, parts: int, cluster: RayCluster, storage: dict[str, Any]) -> Any:
    from ray.train import FailureConfig, RunConfig, ScalingConfig
    from ray.train.torch import TorchTrainer

    from gpcn.distributed.cluster.process_group import ClusterTorchConfig

    logging.getLogger("ray.train").setLevel(logging.ERROR)
    # by default some are without limit: a machine that stays away would be waited for without end
    names = {field.name for field in fields(FailureConfig)}  # which Ray has depends on its version
    limits: Any = {name: cluster.retries for name in names if name in LIMITS}
    return TorchTrainer(
        train_part_in_worker,
        train_loop_config=asdict(task),
        scaling_config=ScalingConfig(num_workers=parts, use_gpu=False, resources_per_worker={"CPU": 1}),
        torch_config=ClusterTorchConfig(backend="gloo", timeout_s=max(1, round(cluster.timeout))),
        run_config=RunConfig(name="gpcn", failure_config=FailureConfig(**limits), **storage),
    )


def _check_size(ray: Any, parts: int, wait: float) -> None:
    """Refuse a cluster that has no CPU for each worker after a while."""
    until = time.monotonic() + wait
    while (cpus := int(ray.cluster_resources().get("CPU", 0))) < parts:
        if time.monotonic() > until:
            raise ConfigError(
                f"the cluster has {cpus} CPU(s) for {parts} workers; add machines with ray start --address, or cut the "
                f"graph into {max(1, cpus)} part(s)"
            )
        time.sleep(min(1.0, wait / 10))


def _training_errors() -> Any:
    from ray.exceptions import RayError
    from ray.train.v2.api.exceptions import TrainingFailedError

    return TrainingFailedError, RayError


def _sentence(error: Exception, retries: int) -> str:
    again = "run the same command again to go on from the last checkpoint"
    cause = getattr(error, "controller_failure", None)
    if type(cause).__name__ == "WorkerGroupStartupTimeoutError":
        return f"the cluster has too few CPUs since a machine was lost, and none came in its stead; {again}"
    failures = getattr(error, "worker_failures", None) or {}
    causes = [str(cause).strip().splitlines()[-1] for cause in failures.values() if str(cause).strip()]
    reason = causes[0] if causes else str(error).strip().splitlines()[-1]
    return f"the workers were lost more than {retries} time(s), the last because of: {reason:.200}; {again}"
