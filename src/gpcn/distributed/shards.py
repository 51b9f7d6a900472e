"""A graph that fits into memory, cut into parts on disk; what is there already is kept."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from gpcn.data.parts.files import finished_part, write_part
from gpcn.data.parts.manifest import FILE, Manifest, part_folder
from gpcn.data.parts.tables import PartData, PartSplit
from gpcn.distributed.balance import balanced_offsets
from gpcn.distributed.halo import Offsets
from gpcn.errors import ConfigError
from gpcn.graph import Graph, Split
from gpcn.locking import locked
from gpcn.training.profile import profile_of
from gpcn.training.runs import describe
from gpcn.types import ROLES

Progress = Callable[[int, int], None]
"""Called with how many parts are written, and of how many."""


def shard(
    graph: Graph,
    out: str | Path,
    parts: int,
    *,
    source: dict[str, Any] | None = None,
    progress: Progress | None = None,
) -> Manifest:
    """Write `graph` into the folder `out` in `parts`; the same call again writes what is missing.

    Args:
        graph: what to write.
        out: a folder.
        parts: how many workers it is for.
        source: where the graph came from, for prediction later.
        progress: called after every part.
    """
    about = json.loads(json.dumps(describe(graph, source) | {"profile": profile_of(graph)}))
    directed = bool(about["directed"])
    offsets = balanced_offsets(_entries(graph), parts)
    owner = hashlib.sha256(
        json.dumps([about["fingerprint"], about["names"], graph.metric, offsets.tolist()]).encode()
    ).hexdigest()
    root, digests = Path(out), []
    matrices = {"": graph.adjacency, **graph.relations}
    turned = {name: sp.csr_array(matrix.T) for name, matrix in matrices.items()} if directed else matrices
    refuse_foreign(root)
    with locked(root):
        (root / FILE).unlink(missing_ok=True)
        for number in range(parts):
            folder = part_folder(root, number)
            files = finished_part(folder, owner)
            if files is None:
                part = _part(graph, turned, offsets, number)
                files = write_part(folder, part.tables(directed), owner)
            digests.append(files)
            if progress is not None:
                progress(number + 1, parts)
        manifest = Manifest(
            graph=about,
            links=int(graph.adjacency.nnz),
            sparse_features=graph.has_sparse_features,
            splits=len(graph.splits),
            named_nodes=graph.node_ids is not None,
            offsets=tuple(offsets.tolist()),
            files=tuple(digests),
        )
        manifest.write(root)
        remove_other_parts(root, parts)
    return manifest


def refuse_foreign(root: Path) -> None:
    """Refuse a folder with anything that is no graph in parts."""
    others = [
        file.name for file in root.glob("*") if file.name != FILE and not re.fullmatch(r"part-\d+|\..*", file.name)
    ]
    if others:
        raise ConfigError(f"{root} holds something else, such as {others[0]}; choose another --out")


def remove_other_parts(root: Path, parts: int) -> None:
    """Take away what an earlier call wrote for more parts."""
    for folder in root.glob("part-*"):
        if folder.name.removeprefix("part-").isdigit() and int(folder.name.removeprefix("part-")) >= parts:
            shutil.rmtree(folder)


def _entries(graph: Graph) -> Any:
    """What the rows of each node hold: links from it and, where they have a direction, to it."""
    counts = np.diff(graph.adjacency.indptr).astype(np.int64)
    return counts + np.bincount(graph.adjacency.indices, minlength=graph.num_nodes) if graph.directed else counts


def _part(graph: Graph, turned: dict[str, sp.csr_array], offsets: Offsets, number: int) -> PartData:
    start, stop = int(offsets[number]), int(offsets[number + 1])

    def rows(name: str, matrix: sp.csr_array) -> tuple[sp.csr_array, sp.csr_array]:
        outgoing = sp.csr_array(matrix[start:stop])
        return outgoing, outgoing if turned[name] is matrix else sp.csr_array(turned[name][start:stop])

    return PartData(
        start=start,
        links=rows("", graph.adjacency),
        relations={name: rows(name, matrix) for name, matrix in graph.relations.items()},
        features=graph.features[start:stop],
        labels=graph.labels[start:stop],
        splits=tuple(split_between(split, start, stop) for split in graph.splits),
        node_ids=None if graph.node_ids is None else graph.node_ids[start:stop],
    )


def split_between(split: Split, start: int, stop: int) -> PartSplit:
    """The nodes of a split from `start` to `stop`, numbered from there."""
    positions = (getattr(split, role) for role in ROLES)
    return PartSplit(*(nodes[(nodes >= start) & (nodes < stop)] - start for nodes in positions))
