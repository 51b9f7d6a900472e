"""Tensors on disk: safetensors plus a JSON file that names them, holds their checksum and whom they belong to.

The tensor file is written first, under a name made of its checksum, then the JSON file is replaced: a kill at any
moment leaves the old pair or the new one. Nothing is ever unpickled, and nothing is parsed before its checksum. Neither
writing nor checking has the content of a file in memory: a training that just fits must be able to save.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import safetensors.torch
from msgspec import Struct
from safetensors import SafetensorError, safe_open
from torch import Tensor

from gpcn.core.atomic import hidden_folder, move_into_place, remove_hidden_folder
from gpcn.core.errors import CheckpointError
from gpcn.records.sealed import file_digest, read_record, write_sealed


class TensorRecord(Struct, frozen=True):
    """The file that names the tensors of a checkpoint or model, whose they are, and what is kept beside them."""

    owner: str
    tensors: str
    sha256: str
    metadata: dict[str, Any]


def save(folder: Path, name: str, tensors: dict[str, Tensor], metadata: dict[str, Any], owner: str) -> None:
    """Write tensors and `metadata` into `folder` as `name.json`; `owner`: key of the run and split they are of."""
    target, digest = _write_tensors(folder, name, tensors)
    write_sealed(folder / f"{name}.json", TensorRecord(owner, target.name, digest, metadata))
    for old in folder.glob(f"{name}-*.safetensors"):
        if old != target:
            old.unlink(missing_ok=True)


def load(folder: Path, name: str, owner: str) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
    """The tensors and metadata that `save` wrote, or `None` where there is nothing."""
    checked = _intact_file(folder, name, owner)
    if checked is None:
        return None
    file, metadata = checked
    try:
        with safe_open(file, framework="pt") as content:
            names = content.keys()
            return {key: content.get_tensor(key).clone() for key in names}, metadata
    except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
        advice = f"delete {folder} to start that split over"
        raise CheckpointError(f"{file} holds no readable tensors: {error}; {advice}") from error


def load_metadata(folder: Path, name: str, owner: str) -> dict[str, Any] | None:
    """The metadata that `save` wrote beside intact tensors; `None` where there is nothing."""
    checked = _intact_file(folder, name, owner)
    return None if checked is None else checked[1]


def _intact_file(folder: Path, name: str, owner: str) -> tuple[Path, dict[str, Any]] | None:
    """The file of tensors, its checksum compared, and the metadata written beside them."""
    path = folder / f"{name}.json"
    if not path.exists():
        return None
    advice = f"delete {folder} to start that split over"
    header = read_record(path, TensorRecord, advice)
    if header.owner != owner:
        raise CheckpointError(f"{path} belongs to another run or split; {advice}")
    file = header.tensors
    if Path(file).name != file:
        raise CheckpointError(f"{path} is damaged: it names tensors in another folder; {advice}")
    try:
        intact = file_digest(folder / file) == header.sha256
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{folder / file} cannot be read: {error}; {advice}") from error
    if not intact:
        raise CheckpointError(f"{folder / file} does not have its checksum: it is cut off or altered; {advice}")
    return folder / file, header.metadata


def _write_tensors(folder: Path, name: str, tensors: dict[str, Tensor]) -> tuple[Path, str]:
    """The file of `tensors`, under a name made of its checksum, and the checksum."""
    with hidden_folder(folder / f"{name}.safetensors") as hidden:
        file = hidden / "tensors"
        try:
            plain = {key: value.detach().cpu().contiguous() for key, value in tensors.items()}
            safetensors.torch.save_file(plain, file)
        except SafetensorError as error:
            number = re.search(r"os error (\d+)", str(error))
            raise OSError(int(number[1]), os.strerror(int(number[1]))) if number else error from error
        digest = file_digest(file)
        target = folder / f"{name}-{digest[:12]}.safetensors"
        move_into_place(file, target)
    return target, digest


def remove(folder: Path, name: str) -> None:
    """Take a pair away, the JSON file first."""
    (folder / f"{name}.json").unlink(missing_ok=True)
    remove_hidden_folder(folder / f"{name}.safetensors")
    for file in folder.glob(f"{name}-*.safetensors"):
        file.unlink(missing_ok=True)
