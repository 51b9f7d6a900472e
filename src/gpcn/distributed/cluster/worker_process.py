"""The function that Ray Train calls in each of its workers, whose process group is there already.

What a user can mend (a missing part, full storage, too little memory, a loss that is not finite) is recorded as one
sentence and ends the training at once; what a lost worker causes is raised, so that Ray starts all workers again.
"""

from __future__ import annotations

import errno
import platform
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from typing import Any

import torch
import torch.distributed as dist

from gpcn.core.errors import ConfigError, DataError, GpcnError, StorageError
from gpcn.distributed.cluster.failures import ClusterFailures, Failures
from gpcn.distributed.cluster.training_progress import progress_observer
from gpcn.distributed.part_training import train_part
from gpcn.distributed.run_files import fetched_part, run_files
from gpcn.distributed.torch_worker_group import TorchWorkerGroup
from gpcn.nn.engine.memory import memory_limits

PACKAGES = ("gpcn", "torch", "numpy")
OF_STORAGE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM)
"""Errors that are not over when a worker is started again."""


@dataclass(frozen=True)
class WorkerTask:
    """Everything that the workers of a training are told; plain data, for it travels between machines.

    Args:
        shards: the graph in parts, a folder or a URL.
        out: the run, a folder or a URL.
        splits: their numbers.
        save_every: seconds between checkpoints.
        versions: of the packages where the training was started.
        watched: whether the first worker writes down how far it is.
        threads: of each worker.
        failures: the name of the board on which failures are recorded.
    """

    shards: str
    out: str
    splits: Sequence[int]
    save_every: float
    versions: Mapping[str, str]
    watched: bool = False
    threads: int = 1
    failures: str = ""


def package_versions() -> dict[str, str]:
    """Return the versions that must be the same on all machines."""
    return {"python": platform.python_version(), **{name: metadata.version(name) for name in PACKAGES}}


def check_worker_versions(expected: Mapping[str, str]) -> None:
    """Refuse a worker with other packages than the machine that started the training."""
    for name, version in package_versions().items():
        if version != expected[name]:
            raise ConfigError(
                f"the worker on {socket.gethostname()} has {name} {version}, and the machine that started the training "
                f"{expected[name]}; install the same version on all"
            )


def train_part_in_worker(settings: Mapping[str, Any]) -> None:
    """Train this worker's part; `settings` are those of a `WorkerTask`."""
    import ray

    task = WorkerTask(**settings)
    torch.set_num_threads(task.threads)
    run_worker(task, ClusterFailures(ray, task.failures))


def run_worker(task: WorkerTask, failures: Failures) -> None:
    """Train; what a user can mend goes to `failures`, and so ends for all workers without another attempt."""
    host, rank = socket.gethostname(), dist.get_rank()
    advice = f"cut the graph into more than {dist.get_world_size()} parts, or use a smaller hidden"
    try:
        files = run_files(task.out, f"worker-{rank}")
        files.prepare(task.splits, rank)
        check_worker_versions(task.versions)
        if not files.folder.is_dir():
            raise ConfigError(f"the worker on {host} does not see {files.folder}; it must lie where all see it")
        watch = partial(progress_observer, files) if task.watched and rank == 0 else None
        with (
            files.named(),
            fetched_part(task.shards, rank) as shards,
            memory_limits(f"part {rank} of the graph on {host}", advice),
        ):
            train_part(
                shards,
                files.folder,
                task.splits,
                TorchWorkerGroup(),
                save_every=task.save_every,
                watch=watch,
                publish=files.publish,
            )
        files.discard()
    except StorageError:
        raise  # it may answer again: Ray starts all workers once more
    except GpcnError as error:
        _end(rank, error, failures)
    except OSError as error:
        if error.errno not in OF_STORAGE:
            raise
        where = f" {error.filename}" if error.filename else ""
        _end(rank, DataError(f"the worker on {host} cannot write{where}: {error.strerror}"), failures)
    except RuntimeError:
        if failures.first() is None:  # a lost worker; with a failure, the consequence of it
            raise


def _end(rank: int, error: GpcnError, failures: Failures) -> None:
    failures.record(rank, error)
    dist.destroy_process_group()  # whoever waits for this worker learns of it
    if failures.first() is None:
        raise error
