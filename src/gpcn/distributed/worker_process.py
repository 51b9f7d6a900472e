"""What Ray Train calls in each of its workers, whose process group is there already.

What a user can mend (a missing part, a loss that is not finite) is written down as one sentence and ends the training
at once; what a lost worker causes is raised, so that Ray starts all workers again.
"""

from __future__ import annotations

import contextlib
import platform
import socket
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from gpcn import errors
from gpcn.distributed.part_training import train_part
from gpcn.distributed.run_files import fetched_part, run_files
from gpcn.distributed.training_progress import progress_writer
from gpcn.distributed.workers import Workers
from gpcn.errors import ConfigError, DataError, GpcnError, StorageError
from gpcn.schema import anything, fields, text
from gpcn.sealed import FORMAT, read_sealed, write_sealed

PACKAGES = ("gpcn", "torch", "numpy")
_check = fields({"format": anything, "kind": text, "sentence": text})


def versions() -> dict[str, str]:
    """What must be the same on all machines."""
    return {"python": platform.python_version(), **{name: metadata.version(name) for name in PACKAGES}}


def check_versions(expected: Mapping[str, str]) -> None:
    """Refuse a worker with other packages than the machine that started the training."""
    for name, version in versions().items():
        if version != expected[name]:
            raise ConfigError(
                f"the worker on {socket.gethostname()} has {name} {version}, and the machine that started the training "
                f"{expected[name]}; install the same version on all"
            )


def work(settings: Mapping[str, Any]) -> None:
    """Train this worker's part; `settings` are plain data."""
    torch.set_num_threads(int(settings["threads"]))
    rank, splits = dist.get_rank(), settings["splits"]
    files = run_files(settings["out"], f"worker-{rank}")
    files.prepare(splits, rank)
    out = files.folder
    try:
        check_versions(settings["versions"])
        if not out.is_dir():
            raise ConfigError(f"the worker on {socket.gethostname()} does not see {out}; it must lie where all see it")
        with files.named(), fetched_part(settings["shards"], rank) as shards:
            save_every = float(settings["save_every"])
            report = progress_writer(files) if settings.get("progress") and rank == 0 else None
            train_part(shards, out, splits, Workers(), save_every=save_every, report=report, publish=files.publish)
        files.discard()
    except StorageError:
        raise  # it may answer again: Ray starts all workers once more
    except GpcnError as error:
        write_failure(out, rank, error)
        files.publish(_failure(out, rank))
        dist.destroy_process_group()  # whoever waits for this worker is told so
        if read_failure(out) is None:
            raise
    except RuntimeError:
        files.fetch_failures(dist.get_world_size())
        if read_failure(out) is None:  # a lost worker; with a failure, the consequence of it
            raise


def write_failure(out: Path, rank: int, error: GpcnError) -> None:
    """Keep why a training cannot go on."""
    payload = {"format": FORMAT, "kind": type(error).__name__, "sentence": str(error)}
    with contextlib.suppress(DataError):  # where storage is full, even this may not fit
        write_sealed(_failure(out, rank), payload)


def read_failure(out: Path) -> GpcnError | None:
    """Why the training in `out` cannot go on, if somebody said so; of several workers the first."""
    for file in sorted(out.glob(_failure(out, "*").name)):
        payload = read_sealed(file, _check, "run the same command again")
        kind = getattr(errors, payload["kind"], GpcnError)
        return kind(payload["sentence"]) if issubclass(kind, GpcnError) else GpcnError(payload["sentence"])
    return None


def forget_failures(out: Path) -> None:
    """Take away what an earlier attempt said."""
    for file in out.glob(_failure(out, "*").name):
        file.unlink()


def _failure(out: Path, rank: int | str) -> Path:
    return out / f".failed-{rank}.json"
