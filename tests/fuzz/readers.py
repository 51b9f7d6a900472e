"""Every reader of users' files, fed with bytes: a graph or settings come out, or one sentence; nothing else.

The first byte says which reader (`KINDS`, counted round), the rest is its file; two files are parted by a NUL byte,
which no text has. `make fuzz` lets a coverage-guided fuzzer choose the bytes, `test_corpus.py` repeats what it found.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

from gpcn import Columns, TrainConfig, load
from gpcn.core.errors import GpcnError
from gpcn.data.packed_text import read_node_ids
from gpcn.data.split_plan import SplitPlan
from gpcn.data.tables.columns_file import read_columns_file
from gpcn.distributed.sharding.joined_tables import Tables
from gpcn.distributed.sharding.table_shards import shard_tables
from gpcn.preparation import values
from gpcn.preparation.misfits import plausible_times
from gpcn.records.reading import decode, parse
from tests.distributed.equal_graphs import check_equal

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
    try:
        return decode(parse(content), SplitPlan)
    except (ValueError, RecursionError):
        return None


def _both_ways(folder: Path, content: bytes) -> object:
    """Tables that are streamed give the graph that they give in memory."""
    first, _, second = content.partition(b"\0")
    (folder / "edges.csv").write_bytes(first)
    (folder / "nodes.csv").write_bytes(second)
    columns = Columns(structure="none", unknown="drop")
    tables = Tables([folder / "edges.csv"], [folder / "nodes.csv"], columns, folder.name)
    shard_tables(tables, folder / "parts", 1, memory="200MB")
    graph = load(folder, columns=columns)  # what can be streamed can be read
    check_equal(graph, load(folder / "parts"))
    return graph


def _dates(folder: Path, content: bytes) -> object:
    """Dates are of years that are plausible, and what was read once is read again by the same format."""
    cells = pa.array(content.decode("utf-8", errors="ignore").split("\n"), pa.string())
    moments = plausible_times(cells)
    if moments is None:
        return None
    seconds, format = moments
    assert np.nanmin(seconds) >= -2.3e9
    assert np.nanmax(seconds) < 4.2e9
    again = values.column_times(cells, format)
    assert again is not None
    np.testing.assert_array_equal(again[0], seconds)
    return moments


def _json_ids(folder: Path, content: bytes) -> object:
    """Numbers and texts of JSON are ids to the letter."""
    lines = [line for line in content.decode("utf-8", errors="ignore").split("\n") if line.strip()]
    try:
        expected = [json.loads(line, parse_int=str, parse_float=str) for line in lines]
    except (ValueError, RecursionError):
        return None
    if not all(isinstance(cell, str) for cell in expected):
        return None
    (folder / "edges.csv").write_text("source,target\n")
    (folder / "nodes.jsonl").write_text("".join(f'{{"id": {line}, "label": "p"}}\n' for line in lines))
    graph = load(folder, columns=Columns(structure="none"))
    found = graph.node_ids or [str(number) for number in range(graph.num_nodes)]
    assert list(found) == [re.sub(r"^(-?\d+)\.0+$", r"\1", cell.strip()) for cell in expected], (found, expected)
    return graph


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
    "zst": _file(".csv.zst"),
    "both_ways": _both_ways,
    "dates": _dates,
    "json_ids": _json_ids,
}
