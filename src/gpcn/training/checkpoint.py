"""Tensors on disk: safetensors plus a JSON file that names them, holds their checksum and whom they belong to.

The tensor file is written first, under a name made of its checksum, then the JSON file is replaced: a kill at any
moment leaves the old pair or the new one. Nothing is ever unpickled, and nothing is parsed before its checksum.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import safetensors.torch
from safetensors import SafetensorError
from torch import Tensor

from gpcn.atomic import replacing
from gpcn.errors import CheckpointError
from gpcn.sealed import FORMAT, read_sealed, write_sealed
from gpcn.training.records import METADATA_KEY, check_header


def save(folder: Path, name: str, tensors: dict[str, Tensor], metadata: dict[str, Any], owner: str) -> None:
    """Write tensors and `metadata` into `folder` as `name.json`; `owner`: key of the run and split they are of."""
    content = safetensors.torch.save({key: value.detach().cpu().contiguous() for key, value in tensors.items()})
    digest = hashlib.sha256(content).hexdigest()
    target = folder / f"{name}-{digest[:12]}.safetensors"
    if not target.exists():
        with replacing(target) as stream:
            stream.write(content)
    header = {"format": FORMAT, "owner": owner, "tensors": target.name, "sha256": digest, METADATA_KEY: metadata}
    write_sealed(folder / f"{name}.json", header)
    for old in folder.glob(f"{name}-*.safetensors"):
        if old != target:
            old.unlink(missing_ok=True)


def load(folder: Path, name: str, owner: str) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
    """The tensors and metadata that `save` wrote, or `None` where there is nothing."""
    path = folder / f"{name}.json"
    if not path.exists():
        return None
    advice = f"delete {folder} to start that split over"
    header = read_sealed(path, check_header, advice)
    file, digest, metadata = (header[key] for key in ("tensors", "sha256", METADATA_KEY))
    if header["owner"] != owner:
        raise CheckpointError(f"{path} belongs to another run or split; {advice}")
    if Path(file).name != file:
        raise CheckpointError(f"{path} is damaged: it names tensors in another folder; {advice}")
    try:
        content = (folder / file).read_bytes()
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{folder / file} cannot be read: {error}; {advice}") from error
    if hashlib.sha256(content).hexdigest() != digest:
        raise CheckpointError(f"{folder / file} does not have its checksum: it is cut off or altered; {advice}")
    try:
        return safetensors.torch.load(content), metadata
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{folder / file} holds no readable tensors: {error}; {advice}") from error


def remove(folder: Path, name: str) -> None:
    """Take a pair away, the JSON file first."""
    (folder / f"{name}.json").unlink(missing_ok=True)
    for file in folder.glob(f"{name}-*.safetensors"):
        file.unlink(missing_ok=True)
