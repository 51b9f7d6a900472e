"""`Manifest`: what a graph cut into parts is, which files it consists of, and their checksums.

DIR/manifest.json   written last: from then on the graph is complete
DIR/part-0000/      Parquet files (`tables`) and part.json, which says that the part is
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np
from msgspec import Struct, field

from gpcn.core.errors import CheckpointError, DataError
from gpcn.core.types import IntVector
from gpcn.data.graph_record import GraphRecord
from gpcn.records import layout
from gpcn.records.reading import Count
from gpcn.records.sealed import read_record, write_sealed

LAYOUT: Literal[1] = 1
ADVICE = "write it again with gpcn shard"


class Manifest(Struct, frozen=True, kw_only=True):
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

    graph: GraphRecord
    links: Count
    sparse_features: bool
    splits: Count
    named_nodes: bool
    offsets: tuple[Count, ...]
    files: tuple[dict[str, str], ...] = field(name="parts")
    order: str = "kept"
    layout: Literal[1] = LAYOUT

    @property
    def parts(self) -> int:
        """How many."""
        return len(self.files)

    @property
    def directed(self) -> bool:
        """Whether links have a direction, of any type."""
        return self.graph.directed

    @property
    def relations(self) -> tuple[str, ...]:
        """The types of links."""
        return self.graph.relations

    def ranges(self) -> IntVector:
        """The offsets as an array."""
        return np.array(self.offsets, dtype=np.int64)

    def __post_init__(self) -> None:
        rising = all(first < second for first, second in pairwise(self.offsets))
        if len(self.offsets) != self.parts + 1 or self.offsets[0] != 0 or not rising:
            raise ValueError("its offsets do not cut the nodes into its parts")
        if self.offsets[-1] != self.graph.nodes:
            raise ValueError(f"its parts have {self.offsets[-1]} nodes; expected {self.graph.nodes}")
        if any(Path(file).name != file for digests in self.files for file in digests):
            raise ValueError("it names a file in another folder")

    def write(self, folder: Path) -> None:
        """Say that the graph in `folder` is complete."""
        write_sealed(folder / layout.MANIFEST, self, indent=1)

    @classmethod
    def read(cls, folder: str | Path) -> Manifest:
        """Return the manifest in `folder`."""
        file = Path(folder) / layout.MANIFEST
        if not file.is_file():
            hint = "it was not finished, so run the same gpcn shard command again" if _begun(file.parent) else ADVICE
            raise DataError(f"{folder} is no graph in parts: it has no {layout.MANIFEST}; {hint}")
        return read_record(file, cls, ADVICE)

    def folder(self, root: Path, part: int) -> Path:
        """Where a part lies, checked to be there."""
        folder = part_folder(root, part)
        missing = [name for name in self.files[part] if not (folder / name).is_file()]
        if missing:
            raise CheckpointError(f"part {part} of {root} is incomplete: {folder / missing[0]} is missing; {ADVICE}")
        return folder


def part_folder(root: Path, part: int) -> Path:
    """Where part `part` lies."""
    return root / layout.part_name(part)


def _begun(folder: Path) -> bool:
    return any(folder.glob(f"part-*/{layout.PART}"))
