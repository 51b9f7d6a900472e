"""The files of a run that several machines work on: in a folder that all see, or in an object store.

Of a run in an object store every process has a copy of what it needs, in a folder of its own, and stores what it writes
there. What a kill leaves in such a folder is never read again.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gpcn.core.errors import ConfigError, GpcnError, Option
from gpcn.data.object_storage import RemoteFolder, remote_url, url_cache_folder
from gpcn.data.parts.manifest import Manifest
from gpcn.records import layout

COMMON = (layout.RUN, layout.ENVIRONMENT, layout.NODE_IDS, layout.RESULT)


class RunFiles:
    """A run in `folder`; `location` is where all processes find it."""

    def __init__(self, folder: Path, location: str | None = None) -> None:
        self.folder, self.location = folder, location or str(folder)

    def prepare(self, splits: Sequence[int], part: int | None = None) -> None:
        """Have in `folder` what the run says of itself, and of a part its files of the `splits`."""

    def fetch(self, names: Sequence[str]) -> None:
        """Have these files in `folder`, where they are there."""

    def publish(self, under: Path | None = None) -> None:
        """Let all processes see what was written to `under` in `folder`."""

    def ray_storage(self) -> dict[str, Any]:
        """Return a place for Ray Train's notes while it runs, as arguments of its `RunConfig`."""
        return {"storage_path": str(self.folder / ".ray")}

    def remove_ray_storage(self) -> None:
        """Take these notes away."""
        shutil.rmtree(self.folder / ".ray", ignore_errors=True)

    def discard(self) -> None:
        """Called when a process is done with `folder`."""

    @contextmanager
    def named(self) -> Iterator[None]:
        """Errors name where the run lies, not the copy of this process."""
        try:
            yield
        except GpcnError as error:
            if self.location == str(self.folder) or str(self.folder) not in str(error):
                raise
            raise type(error)(f"{error}".replace(str(self.folder), self.location)) from error


class RemoteRunFiles(RunFiles):
    """A run at `url`; `process` names whose copy it is."""

    def __init__(self, url: str, process: str) -> None:
        super().__init__(url_cache_folder(url, process), url)
        self.remote = RemoteFolder(url)

    def prepare(self, splits: Sequence[int], part: int | None = None) -> None:
        """Fetch it, into a folder that is emptied first."""
        self.remote = RemoteFolder(self.location)
        self.folder.mkdir(parents=True, exist_ok=True)
        for file in self.folder.iterdir():
            if file.name != ".lock":
                shutil.rmtree(file) if file.is_dir() else file.unlink()
        folders = [layout.split_name(number) for number in splits]
        names = [*COMMON, *(f"{folder}/{layout.RESULT}" for folder in folders)]
        if part is None:
            names += [*(name for name in layout.MARKS if name not in COMMON), layout.MANIFEST]
        else:
            names += [f"{folder}/{layout.part_name(part)}" for folder in folders]
        self.remote.fetch(self.folder, names)
        if (self.folder / layout.MANIFEST).is_file():
            raise ConfigError(f"{self.location} holds a graph in parts; choose another {Option('out')}")

    def fetch(self, names: Sequence[str]) -> None:
        """From the object store."""
        self.remote.fetch(self.folder, names)

    def publish(self, under: Path | None = None) -> None:
        """Store it."""
        name = "" if under is None else under.relative_to(self.folder).as_posix()
        self.remote.publish(self.folder, name)

    def ray_storage(self) -> dict[str, Any]:
        """In the object store as well, where all machines reach it."""
        files, root = self.remote.filesystem
        return {"storage_filesystem": files, "storage_path": f"{root}/.ray"}

    def remove_ray_storage(self) -> None:
        """Delete them."""
        self.remote.delete_folder(".ray")

    def discard(self) -> None:
        """Take the copy away."""
        shutil.rmtree(self.folder.parent, ignore_errors=True)


def run_files(out: str | Path, process: str) -> RunFiles:
    """The files of the run at `out`, a folder or a URL, for one process."""
    url = remote_url(out)
    return RunFiles(Path(out).resolve()) if url is None else RemoteRunFiles(url, process)


def fetch_parts_manifest(shards: str | Path) -> Manifest:
    """The manifest of a graph in parts, in a folder or at a URL."""
    url = remote_url(shards)
    if url is None:
        return Manifest.read(shards)
    with _fetched(url, "manifest", [layout.MANIFEST]) as folder:
        return Manifest.read(folder)


@contextmanager
def fetched_part(shards: str, part: int) -> Iterator[Path]:
    """A folder with the manifest and one part of a graph; of one at a URL a copy, kept until it was of use."""
    url = remote_url(shards)
    if url is None:
        yield Path(shards)
        return
    with _fetched(url, f"part-{part}", [layout.MANIFEST, layout.part_name(part)]) as folder:
        try:
            yield folder
        except GpcnError:
            shutil.rmtree(folder.parent, ignore_errors=True)  # whatever is wrong with it is fetched again
            raise
        shutil.rmtree(folder.parent, ignore_errors=True)


@contextmanager
def _fetched(url: str, process: str, names: Sequence[str]) -> Iterator[Path]:
    """A copy of some files at a URL; errors name the URL."""
    folder = url_cache_folder(url, process)
    RemoteFolder(url).fetch(folder, names)
    with RunFiles(folder, url).named():
        yield folder
