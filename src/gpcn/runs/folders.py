"""Paths of a graph's files that survive a move of the folder that names them."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec.structs import replace

from gpcn.data.graph_record import GraphSource


def with_paths_beside(source: GraphSource, folder: Path) -> GraphSource:
    """Return `source` with where its files lie as seen from `folder`, which stays true when both are moved together."""
    current = with_resolved_paths(source, folder)
    files = {name: file for name, file in current.files().items() if Path(file).is_absolute()}
    return replace(current, beside={name: os.path.relpath(file, folder.resolve()) for name, file in files.items()})


def with_resolved_paths(source: GraphSource, folder: Path) -> GraphSource:
    """Return `source` with the paths that hold now: for a missing file the one at the same path relative to `folder`.

    What `source` names far from `folder` is not looked at: a share of another machine would be asked for it.
    """
    found = source.files()
    for name in found.keys() & (source.beside or {}).keys():
        moved = folder / (source.beside or {})[name]
        if not _is_at_hand(found[name], folder) and _is_at_hand(str(moved), folder):
            found[name] = str(moved.resolve())
    return replace(source, **found)


def lies_beside(location: str, folder: Path) -> bool:
    """Whether `location` is a path below `folder` or beside it: below some folder that holds both.

    The root of a file system does not count as one, nor does a folder above the user's home, such as `/home`.
    """
    if "://" in location:  # a URL, also of a kind that is never opened
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
