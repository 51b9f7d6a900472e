"""The checksums of the files of all workers, of which each reads its own alone."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

from gpcn.distributed.torch_worker_group import TorchWorkerGroup
from gpcn.records.sealed import file_digest

WORDS = ">4q"  # a SHA-256 as four integers


def gather_worker_digests(workers: TorchWorkerGroup, folder: Path, names: Sequence[str]) -> list[dict[str, str]]:
    """By worker and name, the checksums of the files `names`, which every worker has in its own `folder`."""
    numbers = [word for name in names for word in struct.unpack(WORDS, bytes.fromhex(file_digest(folder / name)))]
    everybody = workers.gather_integers(numbers).reshape(workers.size, len(names), 4).tolist()
    return [
        {name: struct.pack(WORDS, *words).hex() for name, words in zip(names, of_worker, strict=True)}
        for of_worker in everybody
    ]
