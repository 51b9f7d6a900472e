"""A payload whose arrays lie in one file that all workers map, not copy."""

from __future__ import annotations

import mmap
import os
import pickle
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class PayloadAddress:
    """Where another process finds the payload: a file, the extent of its pickle there, and those of its arrays."""

    path: Path
    head: tuple[int, int]
    arrays: tuple[tuple[int, int], ...]

    def read(self) -> Any:
        """The payload, its arrays mapped and not copied."""
        with self.path.open("rb") as stream:
            start, size = self.head
            stream.seek(start)
            head = stream.read(size)
            mapped = memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
        return pickle.loads(head, buffers=[mapped[start : start + size] for start, size in self.arrays])  # noqa: S301


class SharedPayload:
    """A file with a payload, found at `address`; it ends with this process."""

    def __init__(self, payload: Any) -> None:
        buffers: list[pickle.PickleBuffer] = []
        head = pickle.dumps(payload, protocol=5, buffer_callback=buffers.append)
        self._file: Any
        if hasattr(os, "memfd_create"):  # a file without a name, so that none is left when this process is killed
            self._file = os.fdopen(os.memfd_create("gpcn-payload"), "wb")
            path = Path(f"/proc/{os.getpid()}/fd/{self._file.fileno()}")
        else:
            self._file = tempfile.NamedTemporaryFile(prefix="gpcn-payload-")  # noqa: SIM115
            path = Path(self._file.name)
        arrays = tuple(self._write(buffer.raw()) for buffer in buffers)
        self.address = PayloadAddress(
            path, self._write(head), arrays
        )  # through a pipe, starting would wait for readers
        self._file.flush()

    def _write(self, content: Any) -> tuple[int, int]:
        start = -(-self._file.tell() // 64) * 64  # arrays want to be aligned
        self._file.seek(start)
        self._file.write(content)
        return start, memoryview(content).nbytes

    def close(self) -> None:
        """Take the file away; who has mapped it keeps it."""
        self._file.close()
