"""JSON files that carry a checksum of what they say: whatever was cut off, flipped, edited or swapped is refused.

The checksum guards against accidents and slips of the hand, not against somebody who means to deceive and computes it
again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpcn.core.atomic import replacing
from gpcn.core.errors import CheckpointError
from gpcn.records.reading import T, decode, encode, parse

FORMAT = 2
SEAL = "checksum"


def content_digest(payload: Mapping[str, Any]) -> str:
    """The checksum of what `payload` says, however it is laid out."""
    return hashlib.sha256(json.dumps(payload, sort_keys=True, allow_nan=False).encode()).hexdigest()


def file_digest(path: Path) -> str:
    """The checksum of a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def write_sealed(path: Path, record: Any, *, indent: int | None = None, new_folders: bool = False) -> None:
    """Write `record` with its checksum, whole or not at all, into a folder that is there unless `new_folders`."""
    plain = {"format": FORMAT, **encode(record)}
    with replacing(path, new_folders=new_folders) as stream:
        stream.write(json.dumps({**plain, SEAL: content_digest(plain)}, indent=indent).encode())


def read_record(path: Path, kind: type[T], advice: str) -> T:
    """Return what `write_sealed` wrote as a record of `kind`; else one sentence that ends with `advice`."""
    try:
        payload = parse(path.read_bytes())
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error.strerror or error}; {advice}") from error
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path} is damaged: it is no JSON document; {advice}") from error
    if not isinstance(payload, dict):
        raise CheckpointError(f"{path} is damaged: it holds no names and values; {advice}")
    version, stored = payload.get("format"), payload.pop(SEAL, None)
    if version is None:
        raise CheckpointError(f"{path} is damaged: format is missing; {advice}")
    if type(version) is not int or version != FORMAT:
        raise CheckpointError(f"{path} has format {version!r}; this gpcn reads format {FORMAT}; {advice}")
    if stored is None:
        raise CheckpointError(f"{path} is damaged: it has lost its checksum; {advice}")
    try:
        if stored != content_digest(payload):
            raise ValueError("it does not have its checksum, so it was altered")
        return decode(payload, kind)
    except (ValueError, OverflowError, RecursionError) as error:
        raise CheckpointError(f"{path} is damaged: {error}; {advice}") from error


def check_file(path: Path, digest: str, advice: str) -> None:
    """Refuse a file that is not the one whose checksum was written down."""
    try:
        same = file_digest(path) == digest
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error.strerror or error}; {advice}") from error
    if not same:
        raise CheckpointError(f"{path} does not have its checksum: it is cut off, altered or another file; {advice}")
