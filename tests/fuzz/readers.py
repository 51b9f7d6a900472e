"""Every reader of users' files, fed with bytes: a graph or settings come out, or one sentence; nothing else.

The first byte says which reader (`KINDS`, counted round), the rest is its file; two files are parted by a NUL byte,
which no text has. `make fuzz` lets a coverage-guided fuzzer choose the bytes, `test_corpus.py` repeats what it found.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from gpcn import TrainConfig, load
from gpcn.data.packed_text import read_node_ids
from gpcn.data.split_plan import SplitPlan
from gpcn.data.tables.columns_file import read_columns_file
from gpcn.errors import GpcnError

Reader = Callable[[Path, bytes], object]


def read_bytes(data: bytes) -> bool:
    """Feed `data` to the reader that it names; whether that took it. Anything but a `GpcnError` is a finding."""
    if not data:
        return False
    reader = list(KINDS.values())[data[0] % len(KINDS)]
    with tempfile.TemporaryDirectory(prefix="gpcn-fuzz-", dir=_fast()) as folder:
        try:
            reader(Path(folder), data[1:])
        except GpcnError as error:
            assert str(error), "an error without a sentence"
            return False
    return True


def _fast() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def _tables(ending: str) -> Reader:
    def read(folder: Path, content: bytes) -> object:
        first, _, second = content.partition(b"\0")
        (folder / f"edges{ending}").write_bytes(first)
        (folder / f"nodes{ending}").write_bytes(second)
        return load(folder)

    return read


def _file(ending: str) -> Reader:
    def read(folder: Path, content: bytes) -> object:
        (folder / f"x{ending}").write_bytes(content)
        return load(folder / f"x{ending}", require_labels=False)

    return read


def _described(folder: Path, content: bytes) -> object:
    (folder / "edges.csv").write_text("source,target\na,b\nb,c\nc,a\n")
    (folder / "nodes.csv").write_text("id,label,x\na,p,1\nb,q,2\nc,p,3\n")
    (folder / "graph.json").write_bytes(content)
    return load(folder)


def _settings(folder: Path, content: bytes) -> object:
    (folder / "c.toml").write_bytes(content)
    return TrainConfig.from_toml(folder / "c.toml")


def _columns(folder: Path, content: bytes) -> object:
    (folder / "c.toml").write_bytes(content)
    return read_columns_file(folder / "c.toml")


def _node_ids(folder: Path, content: bytes) -> object:
    (folder / "n.npz").write_bytes(content)
    return read_node_ids(folder / "n.npz")


def _plan(folder: Path, content: bytes) -> object:
    import json

    try:
        payload = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return SplitPlan.from_json(payload)


KINDS: dict[str, Reader] = {
    "csv": _tables(".csv"),
    "jsonl": _tables(".jsonl"),
    "tsv": _file(".tsv"),
    "edges": _file(".edges"),
    "npz": _file(".npz"),
    "graphml": _file(".graphml"),
    "described": _described,
    "settings": _settings,
    "columns": _columns,
    "node_ids": _node_ids,
    "plan": _plan,
    "parquet": _file(".parquet"),
    "gz": _file(".csv.gz"),
}
