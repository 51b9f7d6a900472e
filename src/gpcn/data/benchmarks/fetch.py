"""Getting a dataset's raw files: cache, then mirror, then download; never a byte without its checksum.

The cache is `GPCN_CACHE`, else the platform's user cache. The mirror is a folder laid out as
`<owner>/<repository>/<path>`, named by `GPCN_MIRROR` or the caller. Downloads continue where an earlier one was
cut off, and become visible only once complete and verified.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import platformdirs
from filelock import FileLock
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from gpcn.core.errors import FetchError, Option

DOWNLOAD_BASE = "https://raw.githubusercontent.com"
TIMEOUT_SECONDS = 30
ATTEMPTS = 3
LARGEST_UNKNOWN = 2 << 30
CHUNK = 1 << 18


@dataclass(frozen=True, kw_only=True)
class RemoteFile:
    """A file at a fixed commit of a public repository, and what its content must hash to.

    `sha256` where it is known, else git's own `git_blob` id. With neither, the file cannot be downloaded, only
    found in a mirror that the user vouches for.
    """

    path: str
    commit: str = ""
    sha256: str | None = None
    git_blob: str | None = None
    size: int | None = None

    @property
    def verifiable(self) -> bool:
        """Whether a checksum is known."""
        return bool(self.sha256 or self.git_blob)

    def matches(self, content: bytes) -> bool:
        """Whether `content` is this file."""
        if self.sha256:
            return hashlib.sha256(content).hexdigest() == self.sha256
        if self.git_blob:
            header = b"blob %d\0" % len(content)
            return hashlib.sha1(header + content, usedforsecurity=False).hexdigest() == self.git_blob
        return True

    def url(self) -> str:
        """Where to download it; `GPCN_DOWNLOAD_BASE` stands in for the public host where that is blocked."""
        owner, repository, rest = self.path.split("/", 2)
        base = os.environ.get("GPCN_DOWNLOAD_BASE", DOWNLOAD_BASE).rstrip("/")
        return f"{base}/{owner}/{repository}/{self.commit}/{urllib.parse.quote(rest)}"


class _SameScheme(urllib.request.HTTPRedirectHandler):
    """Follows redirects, but never from https to something weaker."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        if urllib.parse.urlsplit(newurl).scheme != urllib.parse.urlsplit(req.full_url).scheme:
            fp.close()
            raise FetchError(f"{req.full_url} redirects to {newurl}; expected to stay on the same kind of connection")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def cache_folder() -> Path:
    """Where downloads and parsed graphs are kept."""
    return Path(os.environ.get("GPCN_CACHE") or platformdirs.user_cache_dir("gpcn"))


def mirror_folder(given: Path | None = None) -> Path | None:
    """The mirror in force, checked to exist."""
    chosen = given or (Path(os.environ["GPCN_MIRROR"]) if os.environ.get("GPCN_MIRROR") else None)
    if chosen is not None and not chosen.is_dir():
        raise FetchError(f"the mirror {chosen} is not a folder; check {Option('mirror')} or GPCN_MIRROR")
    return chosen


def is_available_offline(file: RemoteFile, mirror: Path | None) -> bool:
    """Whether the file can be had without the network."""
    return _cached(file).is_file() or (mirror is not None and (mirror / file.path).is_file())


def fetch_file(file: RemoteFile, mirror: Path | None) -> bytes:
    """The verified content of `file`."""
    cached = _cached(file)
    if cached.is_file():
        content = cached.read_bytes()
        if file.matches(content):
            return content
        cached.unlink()
    if mirror is not None and (mirror / file.path).is_file():
        content = (mirror / file.path).read_bytes()
        if not file.matches(content):
            raise FetchError(
                f"{mirror / file.path} does not have the checksum of {file.path}: it is cut off or altered; "
                "replace it, or unset GPCN_MIRROR to download a fresh copy"
            )
        return content
    if not file.verifiable:
        raise FetchError(
            f"{file.path} has no published checksum, so it is never downloaded; put a copy you trust into a mirror "
            f"folder under that path and name the folder with {Option('mirror')} or GPCN_MIRROR"
        )
    return _download(file, cached)


def _cached(file: RemoteFile) -> Path:
    return cache_folder() / "downloads" / file.path


def _download(file: RemoteFile, final: Path) -> bytes:
    partial = final.with_name(final.name + ".part")
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(str(final) + ".lock"):
            if final.is_file() and file.matches(final.read_bytes()):
                return final.read_bytes()
            return _download_locked(file, partial, final)
    except OSError as error:
        raise FetchError(f"cannot store {file.path} in the cache: {error.strerror or error}; see GPCN_CACHE") from error


def _download_locked(file: RemoteFile, partial: Path, final: Path) -> bytes:
    resumed = partial.is_file() and partial.stat().st_size > 0
    _transfer(file, partial)
    content = partial.read_bytes()
    if not file.matches(content) and resumed:  # the old beginning may be at fault: once more, from the start
        partial.unlink()
        _transfer(file, partial)
        content = partial.read_bytes()
    if not file.matches(content):
        partial.unlink()
        raise FetchError(
            f"{file.url()} gave {len(content):,} bytes that do not have the expected checksum; nothing was kept; "
            "try again, or use a mirror (GPCN_MIRROR)"
        )
    os.replace(partial, final)
    return content


def _transfer(file: RemoteFile, partial: Path) -> None:
    """Fill `partial` to the end, continuing it if it exists; a cut connection is tried again."""
    problem: Exception | None = None
    for _ in range(ATTEMPTS):
        try:
            _transfer_once(file, partial)
            return
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                partial.unlink(missing_ok=True)
                continue
            if error.code < http.HTTPStatus.INTERNAL_SERVER_ERROR:
                raise FetchError(
                    f"{file.url()} answered {error.code} {error.reason}; use a mirror (GPCN_MIRROR)"
                ) from error
            problem = error
        except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError) as error:
            problem = error
    reason = getattr(problem, "reason", None) or problem
    raise FetchError(
        f"could not download {file.url()} in {ATTEMPTS} tries: {reason}; what arrived is kept and the next try goes on "
        f"from there; without a network, name a mirror with {Option('mirror')} or GPCN_MIRROR"
    )


def _transfer_once(file: RemoteFile, partial: Path) -> None:
    have = partial.stat().st_size if partial.is_file() else 0
    if file.size is not None and have >= file.size:
        if have == file.size:
            return
        partial.unlink()
        have = 0
    request = urllib.request.Request(file.url(), headers={"User-Agent": "gpcn"})  # noqa: S310
    if have:
        request.add_header("Range", f"bytes={have}-")
    with urllib.request.build_opener(_SameScheme).open(request, timeout=TIMEOUT_SECONDS) as answer:
        continues = answer.status == http.HTTPStatus.PARTIAL_CONTENT
        have = have if continues else 0
        length = answer.headers.get("Content-Length")
        total = have + int(length) if length else file.size
        with partial.open("ab" if continues else "wb") as target:
            for chunk in _with_progress(answer, file.path.rsplit("/", 1)[-1], have, total):
                have += len(chunk)
                if have > (file.size or LARGEST_UNKNOWN):
                    raise FetchError(
                        f"{file.url()} sends more than the expected {file.size or LARGEST_UNKNOWN:,} bytes"
                    )
                target.write(chunk)
    if total is not None and have < total:
        raise ConnectionError(f"the connection was cut after {have:,} of {total:,} bytes")


def _with_progress(answer: http.client.HTTPResponse, name: str, have: int, total: int | None) -> Iterator[bytes]:
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(name, completed=have, total=total)
        while chunk := answer.read(CHUNK):
            progress.advance(task, len(chunk))
            yield chunk
