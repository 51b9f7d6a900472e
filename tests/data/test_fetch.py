"""Downloads against a real server on loopback: whole, resumed, cut, corrupted, redirected, missing."""

from __future__ import annotations

import hashlib
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from gpcn import FetchError
from gpcn.data.benchmarks import fetch
from gpcn.data.benchmarks.fetch import RemoteFile, fetch_file, is_available_offline

CONTENT = np.random.default_rng(0).bytes(300_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
GIT_BLOB = hashlib.sha1(b"blob %d\0" % len(CONTENT) + CONTENT).hexdigest()
FILE = RemoteFile(path="owner/repo/data/some file.bin", commit="c0ffee", sha256=SHA256, size=len(CONTENT))


class Server(http.server.ThreadingHTTPServer):
    """Serves CONTENT; `cut_after`, `wrong`, `status`, `ranges`, `redirect` make it misbehave."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[tuple[str, str | None]] = []
        self.cut_after: list[int] = []
        self.wrong = False
        self.status = 200
        self.ranges = True
        self.redirect = ""
        self.say_length = True


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        server = self.server
        wanted = self.headers.get("Range")
        server.requests.append((self.path, wanted))
        if server.redirect:
            self.send_response(302)
            self.send_header("Location", server.redirect)
            self.end_headers()
            return
        if server.status != 200:
            self.send_error(server.status)
            return
        start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted and server.ranges else 0
        body = (bytes(len(CONTENT)) if server.wrong else CONTENT)[start:]
        self.send_response(206 if start else 200)
        if server.say_length:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: server.cut_after.pop(0)] if server.cut_after else body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Server]:
    running = Server()
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    monkeypatch.setenv("GPCN_DOWNLOAD_BASE", f"http://127.0.0.1:{running.server_port}")
    monkeypatch.setenv("GPCN_CACHE", str(tmp_path / "cache"))
    yield running
    running.shutdown()
    thread.join()
    running.server_close()


def stored(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock")


def test_the_address_is_the_commits_raw_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GPCN_DOWNLOAD_BASE")
    assert FILE.url() == "https://raw.githubusercontent.com/owner/repo/c0ffee/data/some%20file.bin"


def test_a_file_is_downloaded_once_and_then_cached(server: Server, tmp_path: Path) -> None:
    assert not is_available_offline(FILE, None)
    assert fetch_file(FILE, None) == CONTENT
    assert fetch_file(FILE, None) == CONTENT
    assert is_available_offline(FILE, None)
    assert server.requests == [("/owner/repo/c0ffee/data/some%20file.bin", None)]
    assert stored(tmp_path) == ["some file.bin"]


@pytest.mark.parametrize("sums", [{"sha256": None, "git_blob": GIT_BLOB, "size": None}, {"size": None}])
def test_git_blob_ids_and_unknown_sizes_will_do(sums: dict[str, object], server: Server) -> None:
    file = RemoteFile(**{"path": FILE.path, "commit": "c0ffee", "sha256": SHA256} | sums)
    server.say_length = False
    assert fetch_file(file, None) == CONTENT


def test_a_cut_connection_goes_on_where_it_stopped(server: Server) -> None:
    server.cut_after = [100_000, 50_000]
    assert fetch_file(FILE, None) == CONTENT
    assert [requested_range for _, requested_range in server.requests] == [None, "bytes=100000-", "bytes=150000-"]


def test_a_later_try_resumes_an_earlier_one(server: Server, tmp_path: Path) -> None:
    server.cut_after = [10, 10, 10]
    with pytest.raises(
        FetchError, match="3 tries: the connection was cut after 30 of 300,000 bytes; what arrived is kept"
    ):
        fetch_file(FILE, None)
    assert stored(tmp_path) == ["some file.bin.part"]
    assert fetch_file(FILE, None) == CONTENT
    assert server.requests[-1][1] == "bytes=30-"
    assert stored(tmp_path) == ["some file.bin"]


def test_a_server_without_ranges_starts_over(server: Server) -> None:
    server.ranges = False
    server.cut_after = [1000]
    assert fetch_file(FILE, None) == CONTENT


def test_a_wrong_beginning_is_thrown_away_and_fetched_again(server: Server, tmp_path: Path) -> None:
    part = tmp_path / "cache" / "downloads" / (FILE.path + ".part")
    part.parent.mkdir(parents=True)
    part.write_bytes(b"x" * 1000)
    assert fetch_file(FILE, None) == CONTENT
    part.with_suffix("").unlink()
    part.write_bytes(b"x" * (len(CONTENT) + 7))
    assert fetch_file(FILE, None) == CONTENT


def test_corruption_is_refused_and_nothing_is_kept(server: Server, tmp_path: Path) -> None:
    server.wrong = True
    with pytest.raises(FetchError, match="do not have the expected checksum; nothing was kept"):
        fetch_file(FILE, None)
    assert stored(tmp_path) == []


def test_more_bytes_than_promised_are_not_swallowed(server: Server) -> None:
    small = RemoteFile(path=FILE.path, commit="c0ffee", sha256=SHA256, size=1000)
    with pytest.raises(FetchError, match="sends more than the expected 1,000 bytes"):
        fetch_file(small, None)


def test_a_missing_file_is_not_tried_again(server: Server) -> None:
    server.status = 404
    with pytest.raises(FetchError, match="answered 404 Not Found; use a mirror"):
        fetch_file(FILE, None)
    assert len(server.requests) == 1


def test_a_server_in_trouble_is_tried_again(server: Server) -> None:
    server.status = 503
    with pytest.raises(FetchError, match="in 3 tries"):
        fetch_file(FILE, None)
    assert len(server.requests) == 3


def test_a_redirect_to_another_kind_of_connection_is_refused(server: Server) -> None:
    server.redirect = "ftp://127.0.0.1/x"
    with pytest.raises(FetchError, match="redirects to ftp://127.0.0.1/x"):
        fetch_file(FILE, None)


def test_no_network_is_one_sentence() -> None:
    with pytest.raises(FetchError, match=r"could not download .* name a mirror with mirror or GPCN_MIRROR") as caught:
        fetch_file(FILE, None)
    assert "\n" not in str(caught.value)


def test_a_damaged_cache_is_fetched_again(server: Server, tmp_path: Path) -> None:
    fetch_file(FILE, None)
    cached = tmp_path / "cache" / "downloads" / FILE.path
    cached.write_bytes(CONTENT[:-1])
    assert fetch_file(FILE, None) == CONTENT
    assert cached.read_bytes() == CONTENT


def test_the_mirror_comes_before_the_network_and_is_verified(server: Server, tmp_path: Path) -> None:
    copy = tmp_path / "mirror" / FILE.path
    copy.parent.mkdir(parents=True)
    copy.write_bytes(CONTENT)
    assert is_available_offline(FILE, tmp_path / "mirror")
    assert fetch_file(FILE, tmp_path / "mirror") == CONTENT
    copy.write_bytes(CONTENT + b"!")
    with pytest.raises(FetchError, match="does not have the checksum"):
        fetch_file(FILE, tmp_path / "mirror")
    assert server.requests == []


def test_a_file_without_checksum_comes_from_a_mirror_or_not_at_all(server: Server, tmp_path: Path) -> None:
    file = RemoteFile(path="owner/repo/x.mat")
    with pytest.raises(FetchError, match="no published checksum, so it is never downloaded"):
        fetch_file(file, None)
    (tmp_path / "owner" / "repo").mkdir(parents=True)
    (tmp_path / "owner" / "repo" / "x.mat").write_bytes(b"vouched for")
    assert fetch_file(file, tmp_path) == b"vouched for"
    assert server.requests == []


def test_a_mirror_that_is_no_folder_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPCN_MIRROR", str(tmp_path / "nowhere"))
    with pytest.raises(FetchError, match="nowhere is not a folder"):
        fetch.mirror_folder()


def test_two_downloads_at_once_do_not_collide(server: Server, tmp_path: Path) -> None:
    downloads: list[bytes] = []
    threads = [threading.Thread(target=lambda: downloads.append(fetch_file(FILE, None))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert downloads == [CONTENT] * 4
    assert len(server.requests) == 1
    assert stored(tmp_path) == ["some file.bin"]
