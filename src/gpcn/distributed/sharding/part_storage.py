"""The storage of the parts of a graph: a folder, or a folder of an object store by way of one on this machine."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gpcn.core.errors import ConfigError, Option
from gpcn.core.locking import locked_folder
from gpcn.data.object_storage import RemoteFolder, remote_url, url_cache_folder
from gpcn.data.parts.files import finished_part, part_digests
from gpcn.data.parts.manifest import Manifest, part_folder
from gpcn.records import layout

Progress = Callable[[int, int], None]
"""Called with how many parts are written, and of how many."""


class PartStorage:
    """The parts in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Keep others out, and say that the graph is not complete (any more)."""
        _refuse_foreign((file.name for file in self.folder.glob("*")), str(self.folder))
        with locked_folder(self.folder):
            (self.folder / layout.MANIFEST).unlink(missing_ok=True)
            yield

    def finished(self, number: int, owner: str) -> dict[str, str] | None:
        """Return the checksums of a part that is there, whole and `owner`'s; `None` where it is to be written."""
        return finished_part(part_folder(self.folder, number), owner)

    def keep(self, number: int) -> None:
        """Called when a part was written into `folder`."""

    def write_parts(
        self,
        parts: int,
        owner: str,
        write: Callable[[Path, int], dict[str, str]],
        progress: Progress | None,
        log: Callable[[str], None],
    ) -> tuple[dict[str, str], ...]:
        """Return the checksums of all parts; `write(folder, number)` makes one that is not there."""
        digests = []
        for number in range(parts):
            files = self.finished(number, owner)
            log(f"part {number + 1} of {parts} is {'written now' if files is None else 'there already'}")
            if files is None:
                files = write(part_folder(self.folder, number), number)
                self.keep(number)
            digests.append(files)
            if progress is not None:
                progress(number + 1, parts)
        return tuple(digests)

    def finish(self, manifest: Manifest) -> None:
        """Say that the graph is complete, and take away what an earlier call wrote for more parts."""
        manifest.write(self.folder)
        for folder in self.folder.glob("part-*"):
            if _is_other(folder.name, manifest.parts):
                shutil.rmtree(folder)


class RemotePartStorage(PartStorage):
    """The parts in a folder of an object store; one at a time is on this machine, too."""

    def __init__(self, url: str) -> None:
        super().__init__(url_cache_folder(url, "shards"))
        self.remote, self.stored = RemoteFolder(url), dict[str, list[int]]()

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Keep others out, as of a folder; the lock keeps out processes of this machine alone."""
        self.stored = self.remote.names()
        _refuse_foreign((name.split("/")[0] for name in self.stored), self.remote.url)
        with locked_folder(self.folder):
            self.remote.delete([layout.MANIFEST])
            yield
            for folder in self.folder.glob("part-*"):
                shutil.rmtree(folder)
            (self.folder / layout.MANIFEST).unlink(missing_ok=True)

    def finished(self, number: int, owner: str) -> dict[str, str] | None:
        """Return the checksums of a part, as of a folder; of what is stored only names are compared."""
        name = part_folder(self.folder, number).name
        shutil.rmtree(self.folder / name, ignore_errors=True)
        if f"{name}/{layout.PART}" not in self.stored:
            return None
        self.remote.fetch(self.folder, [f"{name}/{layout.PART}"])
        digests = part_digests(self.folder / name, owner)
        complete = digests is not None and all(f"{name}/{file}" in self.stored for file in digests)
        return digests if complete else None

    def keep(self, number: int) -> None:
        """Store the part, what says that it is whole last."""
        name = part_folder(self.folder, number).name
        self.remote.delete([f"{name}/{layout.PART}"])
        self.remote.publish(self.folder, name)
        written = {f"{name}/{file.name}" for file in (self.folder / name).iterdir()}
        self.remote.delete([other for other in self.stored if other.startswith(f"{name}/") and other not in written])
        shutil.rmtree(self.folder / name)

    def finish(self, manifest: Manifest) -> None:
        """Say that the graph is complete, as of a folder."""
        manifest.write(self.folder)
        self.remote.publish(self.folder, layout.MANIFEST)
        self.remote.delete([name for name in self.stored if _is_other(name.split("/")[0], manifest.parts)])


def part_storage(out: str | Path) -> PartStorage:
    """Return the storage of the parts of `out`, a folder or a URL."""
    url = remote_url(out)
    return PartStorage(Path(out)) if url is None else RemotePartStorage(url)


def _refuse_foreign(names: Iterable[str], where: str) -> None:
    """Refuse a folder with anything that is no graph in parts."""
    others = [name for name in names if name != layout.MANIFEST and not re.fullmatch(r"part-\d+|\..*", name)]
    if others:
        raise ConfigError(f"{where} holds something else, such as {others[0]}; choose another {Option('out')}")


def _is_other(name: str, parts: int) -> bool:
    number = name.removeprefix("part-")
    return name.startswith("part-") and number.isdigit() and int(number) >= parts
