"""An object store on loopback for tests: the part of S3 that Arrow uses, in memory, for whoever has the right key."""

from __future__ import annotations

import os
import re
import socketserver
import sys
import threading
import xml.sax.saxutils
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from hashlib import md5
from http.server import BaseHTTPRequestHandler
from time import gmtime, strftime, time
from unittest import mock
from urllib.parse import parse_qs, unquote, urlsplit

KEY = "tests"
Objects = dict[str, tuple[bytes, float]]


class ObjectStore(socketserver.ThreadingTCPServer):
    """`objects` maps `bucket/name` to content and time; `requests` are all that came."""

    daemon_threads = True

    def __init__(self, buckets: tuple[str, ...] = ("bucket",)) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.buckets, self.objects = set(buckets), Objects()
        self.uploads: dict[str, dict[int, bytes]] = {}
        self.requests: list[str] = []
        self.guard = threading.Lock()

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that were killed are no news."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]

    def names(self, prefix: str = "") -> list[str]:
        return sorted(name for name in self.objects if name.startswith(prefix) and not name.endswith("/"))

    def environment(self) -> dict[str, str]:
        """What a process needs to use it."""
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.server_address[1]}",
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }


@contextmanager
def object_store() -> Iterator[ObjectStore]:
    """A store that answers, and this process ready to use it; nothing of it stays behind."""
    with ObjectStore() as store:
        thread = threading.Thread(target=store.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            with mock.patch.dict(os.environ, store.environment()):
                yield store
        finally:
            store.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ObjectStore

    def log_message(self, *_: object) -> None:
        pass

    def _handle(self) -> None:
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
        bucket, _, name = unquote(parts.path).lstrip("/").partition("/")
        body = self._body()
        with self.server.guard:
            self.server.requests.append(f"{self.command} {bucket}/{name}")
            if f"Credential={KEY}/" not in self.headers.get("Authorization", ""):
                self._refuse(403, "AccessDenied")
            elif bucket not in self.server.buckets:
                self._refuse(404, "NoSuchBucket")
            elif not name:
                self._bucket(bucket, query, body)
            else:
                self._object(f"{bucket}/{name}", query, body)

    do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = _handle  # noqa: N815

    def _bucket(self, bucket: str, query: dict[str, str], body: bytes) -> None:
        if self.command == "POST" and "delete" in query:
            for key in re.findall(rb"<Key>(.*?)</Key>", body):
                self.server.objects.pop(f"{bucket}/{xml.sax.saxutils.unescape(key.decode())}", None)
            self._answer(200, "<DeleteResult/>")
        elif self.command == "HEAD":
            self._answer(200)
        else:
            self._answer(200, self._listing(bucket, query))

    def _listing(self, bucket: str, query: dict[str, str]) -> str:
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        entries, folders = [], set[str]()
        for key, (content, changed) in sorted(self.server.objects.items()):
            name = key.removeprefix(f"{bucket}/")
            if not key.startswith(f"{bucket}/") or not name.startswith(prefix):
                continue
            inner = name[len(prefix) :]
            if delimiter and delimiter in inner:
                folders.add(prefix + inner.split(delimiter)[0] + delimiter)
                continue
            when = strftime("%Y-%m-%dT%H:%M:%S.000Z", gmtime(changed))
            entries.append(
                f"<Contents><Key>{xml.sax.saxutils.escape(name)}</Key><Size>{len(content)}</Size>"
                f"<LastModified>{when}</LastModified></Contents>"
            )
        common = "".join(f"<CommonPrefixes><Prefix>{folder}</Prefix></CommonPrefixes>" for folder in sorted(folders))
        count = len(entries) + len(folders)
        return (
            f"<ListBucketResult><Name>{bucket}</Name><KeyCount>{count}</KeyCount><IsTruncated>false</IsTruncated>"
            f"{''.join(entries)}{common}</ListBucketResult>"
        )

    def _object(self, key: str, query: dict[str, str], body: bytes) -> None:
        objects, uploads = self.server.objects, self.server.uploads
        if self.command == "POST" and "uploads" in query:
            upload = str(len(uploads))
            uploads[upload] = {}
            self._answer(200, f"<R><UploadId>{upload}</UploadId></R>")
        elif self.command == "PUT" and "uploadId" in query:
            uploads[query["uploadId"]][int(query["partNumber"])] = body
            self._answer(200, etag=body)
        elif self.command == "POST" and "uploadId" in query:
            pieces = uploads[query["uploadId"]]
            objects[key] = (b"".join(pieces[number] for number in sorted(pieces)), time())
            self._answer(200, "<CompleteMultipartUploadResult><ETag>1</ETag></CompleteMultipartUploadResult>")
        elif self.command == "PUT":
            objects[key] = (body, time())
            self._answer(200, etag=body)
        elif self.command == "DELETE":
            objects.pop(key, None)
            self._answer(204)
        elif key not in objects:
            self._refuse(404, "NoSuchKey")
        else:
            self._send_object(*objects[key])

    def _send_object(self, content: bytes, changed: float) -> None:
        chosen = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        part = content
        if chosen is not None:
            part = content[int(chosen[1]) : int(chosen[2]) + 1 if chosen[2] else None]
        self.send_response(206 if chosen else 200)
        if chosen is not None:
            start = int(chosen[1])
            self.send_header("Content-Range", f"bytes {start}-{start + len(part) - 1}/{len(content)}")
        self.send_header("Content-Length", str(len(part)))
        self.send_header("Last-Modified", formatdate(changed, usegmt=True))
        self.send_header("ETag", f'"{md5(content).hexdigest()}"')
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(part)

    def _refuse(self, code: int, name: str) -> None:
        self._answer(code, f"<Error><Code>{name}</Code><Message>{name}</Message></Error>")

    def _answer(self, code: int, document: str = "", *, etag: bytes | None = None) -> None:
        payload = document.encode() if document and self.command != "HEAD" else b""
        self.send_response(code)
        self.send_header("Content-Length", str(len(payload)))
        if etag is not None:
            self.send_header("ETag", f'"{md5(etag).hexdigest()}"')
        self.end_headers()
        self.wfile.write(payload)

    def _body(self) -> bytes:
        length = int(self.headers.get("Content-Length", "0"))
        content = self.rfile.read(length) if length else b""
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            content = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                content += self.rfile.read(size)
                self.rfile.readline()
            while self.rfile.readline().strip():
                pass
        if "aws-chunked" in self.headers.get("Content-Encoding", ""):
            content = _unchunked(content)
        return content


def _unchunked(content: bytes) -> bytes:
    plain, position = b"", 0
    while True:
        end = content.index(b"\r\n", position)
        size = int(content[position:end].split(b";")[0], 16)
        if not size:
            return plain
        plain += content[end + 2 : end + 2 + size]
        position = end + 2 + size + 2
