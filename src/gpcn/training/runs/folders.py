"""What a folder already holds, so that nothing of another kind is written into it; and paths that survive a move."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from gpcn.data.object_storage import remote_url
from gpcn.errors import ConfigError

KINDS = {
    "config.json": "a run",
    "study.json": "a study",
    "auto.json": "what --model auto chose",
    "study/study.json": "what --model auto searched",
}


def refuse_folder_of_other_kind(folder: Path, *allowed: str) -> None:
    """Refuse a folder that holds something else than what has one of the files `allowed`."""
    for file, kind in KINDS.items():
        if file not in allowed and (folder / file).exists():
            raise ConfigError(f"{folder} holds {kind}; choose another --out")


def is_run(folder: Path) -> bool:
    """Whether `folder` is a run."""
    return (folder / "config.json").is_file()


def runs_in(folder: Path) -> list[Path]:
    """The runs that are right inside `folder`, by name."""
    return sorted(inner for inner in folder.iterdir() if is_run(inner)) if folder.is_dir() else []


def with_paths_beside(source: dict[str, Any] | None, folder: Path) -> dict[str, Any] | None:
    """`source` with where its files lie as seen from `folder`, which stays true when both are moved together."""
    if source is None:
        return None
    current = with_resolved_paths(source, folder)
    beside = {
        key: os.path.relpath(current[key], folder.resolve())
        for key in ("graph", "nodes")
        if isinstance(current.get(key), str) and Path(current[key]).is_absolute()
    }
    return {**current, "beside": beside}


def with_resolved_paths(source: dict[str, Any], folder: Path) -> dict[str, Any]:
    """`source` with the paths that hold now: where a file is missing, the one at the same path relative to `folder`.

    What `source` names far from `folder` is not looked at: a share of another machine would be asked for it.
    """
    beside = source.get("beside") or {}
    moved = {
        key: str((folder / beside[key]).resolve())
        for key in ("graph", "nodes")
        if key in beside
        and not _is_at_hand(str(source.get(key)), folder)
        and _is_at_hand(str(folder / beside[key]), folder)
    }
    return {**source, **moved}


def lies_beside(location: str, folder: Path) -> bool:
    """Whether `location` is a path below `folder` or beside it: below some folder that holds both.

    The root of a file system does not count as one, nor does a folder above the user's home, such as `/home`.
    """
    if remote_url(location) is not None:
        return False
    above_home = Path(os.path.expanduser("~")).parents  # noqa: PTH111 - that of pathlib fails where there is no home
    try:
        for spelled in (os.path.abspath, os.path.realpath):  # links are followed only where they lie beside
            shared = Path(os.path.commonpath([spelled(location), folder.resolve()]))
            if shared == Path(shared.anchor) or shared in above_home:
                return False
    except (OSError, ValueError):  # another drive, or a name that no file can have
        return False
    return True


def _is_at_hand(location: str, folder: Path) -> bool:
    return lies_beside(location, folder) and _exists(Path(location))


def _exists(path: Path) -> bool:
    """Whether it is there; a name that no file can have is not."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False
