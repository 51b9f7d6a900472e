"""`Manifest`: what a graph cut into parts is, which files it consists of, and their checksums.

DIR/manifest.json   written last: from then on the graph is complete
DIR/part-0000/      Parquet files (`tables`) and part.json, which says that the part is
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from gpcn.data.graph_record import check_graph_record
from gpcn.errors import CheckpointError, DataError
from gpcn.files.schema import anything, count, fields, flag, list_of, mapping_of, name, one_of, text
from gpcn.files.sealed import FORMAT, read_sealed, write_sealed
from gpcn.utils.types import IntVector

LAYOUT = 1
FILE = "manifest.json"
ADVICE = "write it again with gpcn shard"


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """A graph in parts.

    Args:
        graph: what runs keep of a graph: name, metric, sizes, names of classes and features, kinds of links.
        links: entries of the adjacency.
        sparse_features: whether features are stored sparse.
        splits: how many.
        named_nodes: whether nodes have ids.
        offsets: part `p` has nodes `offsets[p]` to `offsets[p + 1]`.
        files: the checksum of every file, by part and name.
        order: `kept`, or what tells the order that nodes have in the parts from others.
    """

    graph: Mapping[str, Any]
    links: int
    sparse_features: bool
    splits: int
    named_nodes: bool
    offsets: tuple[int, ...]
    files: tuple[Mapping[str, str], ...]
    order: str = "kept"

    @property
    def parts(self) -> int:
        """How many."""
        return len(self.files)

    @property
    def directed(self) -> bool:
        """Whether links have a direction, of any type."""
        return bool(self.graph["directed"])

    @property
    def relations(self) -> tuple[str, ...]:
        """The types of links."""
        return tuple(self.graph["relations"])

    def ranges(self) -> IntVector:
        """The offsets as an array."""
        return np.array(self.offsets, dtype=np.int64)

    def write(self, folder: Path) -> None:
        """Say that the graph in `folder` is complete."""
        payload = {
            "format": FORMAT,
            "layout": LAYOUT,
            "graph": dict(self.graph),
            "links": self.links,
            "sparse_features": self.sparse_features,
            "splits": self.splits,
            "named_nodes": self.named_nodes,
            "offsets": list(self.offsets),
            "parts": [dict(digests) for digests in self.files],
            "order": self.order,
        }
        write_sealed(folder / FILE, payload, indent=1)

    @classmethod
    def read(cls, folder: str | Path) -> Manifest:
        """The manifest in `folder`."""
        file = Path(folder) / FILE
        if not file.is_file():
            hint = "it was not finished, so run the same gpcn shard command again" if _begun(file.parent) else ADVICE
            raise DataError(f"{folder} is no graph in parts: it has no {FILE}; {hint}")
        payload = read_sealed(file, _check, ADVICE)
        return cls(
            graph=payload["graph"],
            links=payload["links"],
            sparse_features=payload["sparse_features"],
            splits=payload["splits"],
            named_nodes=payload["named_nodes"],
            offsets=tuple(payload["offsets"]),
            files=tuple(payload["parts"]),
            order=payload.get("order", "kept"),
        )

    def folder(self, root: Path, part: int) -> Path:
        """Where a part lies, checked to be there."""
        folder = part_folder(root, part)
        missing = [name for name in self.files[part] if not (folder / name).is_file()]
        if missing:
            raise CheckpointError(f"part {part} of {root} is incomplete: {folder / missing[0]} is missing; {ADVICE}")
        return folder


def is_sharded(path: str | Path) -> bool:
    """Whether a folder holds a graph in parts."""
    return (Path(path) / FILE).is_file() and any(Path(path).glob("part-*"))


def part_folder(root: Path, part: int) -> Path:
    """Where part `part` lies."""
    return root / f"part-{part:04d}"


def _begun(folder: Path) -> bool:
    return any(folder.glob("part-*/part.json"))


def _check(payload: Any, where: str) -> None:
    fields(
        {
            "format": anything,
            "layout": one_of(LAYOUT),
            "graph": check_graph_record,
            "links": count(),
            "sparse_features": flag,
            "splits": count(),
            "named_nodes": flag,
            "offsets": list_of(count()),
            "parts": list_of(mapping_of(text)),
        },
        {"order": text},
    )(payload, where)
    fields({"directed": flag, "relations": list_of(name)})(payload["graph"], "graph")
    offsets = payload["offsets"]
    rising = all(first < second for first, second in pairwise(offsets))
    if len(offsets) != len(payload["parts"]) + 1 or offsets[:1] != [0] or not rising:
        raise ValueError("its offsets do not cut the nodes into its parts")
    if offsets[-1] != payload["graph"]["nodes"]:
        raise ValueError(f"its parts have {offsets[-1]} nodes; expected {payload['graph']['nodes']}")
    files = [file for digests in payload["parts"] for file in digests]
    if any(Path(file).name != file for file in files):
        raise ValueError("it names a file in another folder")
