"""Folders of an object store, such as `s3://bucket/runs/large`, and copies of them on this machine.

An object appears whole or not at all. Of several, those that make the others valid (JSON) are stored last and deleted
first, so that a kill at any moment leaves the old state or the new one.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
from filelock import FileLock
from pyarrow import fs

from gpcn.core.atomic import replacing
from gpcn.core.errors import ConfigError, StorageError
from gpcn.data.benchmarks.fetch import cache_folder
from gpcn.records import layout

SCHEMES = ("s3", "gs", "gcs", "abfs", "abfss", "hdfs", "viewfs")
FETCHED = ".fetched.json"
SEALING = (layout.RUN, layout.RESULT, layout.MANIFEST)  # what says that all others are there
CHUNK = 1 << 22
WITHOUT_FOLDERS = ("s3", "gcs", "abfs")
REASONS = (  # what storage says, and what to do about it
    (r"NO_SUCH_BUCKET|NoSuchBucket|bucket does not exist", "there is no such bucket; create it, or correct the URL"),
    (
        r"ACCESS_DENIED|INVALID_ACCESS_KEY|SIGNATURE|FORBIDDEN|HTTP status 40[13]|credential",
        "access is refused; give credentials as for any tool of that storage, such as AWS_ACCESS_KEY_ID and "
        "AWS_SECRET_ACCESS_KEY",
    ),
    (r"NETWORK_CONNECTION|curlCode|resolve host|connect to", "the storage does not answer; check its address"),
)


def remote_url(location: str | Path) -> str | None:
    """The URL that `location` is, where it is one of an object store; a `Path` has lost a slash of it."""
    matched = re.match(rf"({'|'.join(SCHEMES)}):/+(.*)", str(location), re.DOTALL)
    if matched is None:
        return None
    path, mark, settings = matched[2].partition("?")
    if "@" in path.split("/")[0]:
        raise ConfigError(
            "credentials do not belong into a URL, which is written into runs; leave them out and give them as for any "
            "tool of that storage, such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        )
    return f"{matched[1]}://{path.rstrip('/')}{mark}{settings}"


def url_cache_folder(url: str, purpose: str) -> Path:
    """Where this machine keeps what belongs to `url`, in the cache (`GPCN_CACHE`)."""
    name = PurePosixPath(url.partition("?")[0]).name or "bucket"
    return cache_folder() / "remote" / f"{hashlib.sha256(url.encode()).hexdigest()[:16]}-{purpose}" / name


def local_copy(location: str | Path) -> Path:
    """`location`, where it is a path; of a URL an up-to-date copy in the cache."""
    url = remote_url(location)
    if url is None:
        return Path(location)
    folder = url_cache_folder(url, "copy")
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.parent / "lock"):
        if not RemoteFolder(url).fetch(folder):
            raise StorageError(f"there is nothing at {url}; check the URL")
    return folder


class RemoteFolder:
    """A folder of an object store.

    Args:
        url: such as `s3://bucket/path`; what follows a `?` are settings of `pyarrow.fs.FileSystem.from_uri`.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        with self._errors():
            self._files, self._root = fs.FileSystem.from_uri(url)
        self._same: dict[str, list[int]] = {}  # size and time of local files that are alike here

    @property
    def filesystem(self) -> tuple[Any, str]:
        """The file system of Arrow, and the path there."""
        return self._files, self._root

    def names(self, under: str = "") -> dict[str, list[int]]:
        """All objects under a name, or the one of that name, with size and time; none that is hidden by a dot."""
        base = f"{self._root}/{under}".rstrip("/")
        with self._errors():
            info = self._files.get_file_info(base)
            stored = [info]
            if info.type != fs.FileType.File:
                stored = self._files.get_file_info(fs.FileSelector(base, allow_not_found=True, recursive=True))
            if not stored and not under:
                self._require_bucket()
        names = {}
        for info in stored:
            name = info.path.removeprefix(self._root).lstrip("/")
            parts = PurePosixPath(name).parts
            hidden = any(part.startswith(".") for part in parts) and name != under
            if info.type == fs.FileType.File and not hidden and ".." not in parts and "\\" not in name:
                names[name] = [info.size, info.mtime_ns]
        return names

    def fetch(self, folder: Path, under: Sequence[str] = ("",)) -> list[str]:
        """Copy what is stored under these names into `folder`, leaving what is there and unchanged; all the names."""
        record = folder / FETCHED
        fetched = _read_record(record)
        stored = {name: version for prefix in under for name, version in self.names(prefix).items()}
        try:
            for name in [name for name in fetched if name not in stored and _is_under(name, under)]:
                (folder / name).unlink(missing_ok=True)
                del fetched[name]
            for name, version in stored.items():
                self._fetch_file(folder, name, version, fetched)
        finally:
            if fetched or record.exists():
                with replacing(record) as stream:
                    stream.write(json.dumps(fetched).encode())
        return list(stored)

    def publish(self, folder: Path, under: str = "") -> None:
        """Make what is stored under a name what `folder` has there, as far as this object has fetched or published."""
        here = _local_names(folder, under)
        changed = [name for name, version in here.items() if self._same.get(name) != version]
        for name in sorted(changed, key=_rank):
            self._store_file(folder / name, name)
            self._same[name] = here[name]
        deleted = [name for name in self._same if name not in here and _is_under(name, [under])]
        self.delete(sorted(deleted, key=_rank, reverse=True))

    def delete(self, names: Sequence[str]) -> None:
        """Delete objects, those that are there."""
        for name in names:
            with self._errors():
                if self._files.get_file_info(f"{self._root}/{name}").type == fs.FileType.File:
                    self._files.delete_file(f"{self._root}/{name}")
            self._same.pop(name, None)

    def delete_folder(self, name: str) -> None:
        """Delete all objects under a name."""
        with self._errors():
            if self._files.get_file_info(f"{self._root}/{name}").type != fs.FileType.NotFound:
                self._files.delete_dir(f"{self._root}/{name}")

    def _fetch_file(self, folder: Path, name: str, version: list[int], fetched: dict[str, Any]) -> None:
        target, sealed = folder / name, name.endswith(".json")
        if not sealed and fetched.get(name) == version and target.is_file():
            return
        with self._errors():
            stream = self._files.open_input_stream(f"{self._root}/{name}", compression=None)
        with stream:
            if sealed:  # small, and times are of whole seconds: compared by what it says
                content = self._read(stream)
                version = [version[0], int(hashlib.sha256(content).hexdigest()[:15], 16)]
                if fetched.get(name) == version and target.is_file():
                    return
                with replacing(target) as written:
                    written.write(content)
            else:
                with replacing(target) as written:
                    while chunk := self._read(stream, CHUNK):
                        written.write(chunk)
        fetched[name] = version
        self._same[name] = _version(target)

    def _read(self, stream: Any, size: int | None = None) -> bytes:
        with self._errors():
            return bytes(stream.read(size))

    def _store_file(self, path: Path, name: str) -> None:
        target = f"{self._root}/{name}"
        with self._errors():
            if self._files.type_name not in WITHOUT_FOLDERS:
                self._files.create_dir(str(PurePosixPath(target).parent), recursive=True)
            local = fs.LocalFileSystem()
            fs.copy_files(str(path), target, source_filesystem=local, destination_filesystem=self._files)

    def _require_bucket(self) -> None:
        bucket = self._root.split("/")[0]
        if self._files.type_name == "s3" and self._files.get_file_info(bucket).type == fs.FileType.NotFound:
            raise OSError("NoSuchBucket")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Whatever storage says, as one sentence."""
        try:
            yield
        except (OSError, pa.ArrowException) as error:
            text = " ".join(str(error).split())
            advice = next((advice for pattern, advice in REASONS if re.search(pattern, text)), None)
            raise StorageError(f"{self.url}: {advice or text[:300]}") from error


def _local_names(folder: Path, under: str) -> dict[str, list[int]]:
    base = folder / under
    files = [base] if base.is_file() else sorted(base.rglob("*"))
    names = {str(file.relative_to(folder).as_posix()): file for file in files if file.is_file()}
    return {
        name: _version(file)
        for name, file in names.items()
        if name == under or not any(part.startswith(".") for part in PurePosixPath(name).parts)
    }


def _version(file: Path) -> list[int]:
    status = file.stat()
    return [status.st_size, status.st_mtime_ns]


def _is_under(name: str, prefixes: Sequence[str]) -> bool:
    return any(not prefix or name == prefix or name.startswith(f"{prefix}/") for prefix in prefixes)


def _rank(name: str) -> tuple[bool, bool, bool, str]:
    """In which order objects are stored: data, JSON, what says that a folder is complete, the same of all folders."""
    last = PurePosixPath(name).name
    return name.endswith(".json"), last in SEALING, "/" not in name, name


def _read_record(record: Path) -> dict[str, Any]:
    try:
        payload = json.loads(record.read_bytes())
    except (OSError, ValueError):
        return {}
    return payload if isinstance(payload, dict) else {}
