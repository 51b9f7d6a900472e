"""The nodes of each worker: contiguous ranges with about equally much to multiply."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gpcn.core.errors import ConfigError
from gpcn.distributed.halo import Offsets

MOST_PARTS = 10_000


def check_parts(parts: int, nodes: int) -> None:
    """Refuse a number of parts that leaves some without a node."""
    if not 1 <= parts <= min(nodes, MOST_PARTS):
        raise ConfigError(
            f"{parts} part(s) cannot be made of {nodes:,} nodes; expected 1 to {min(nodes, MOST_PARTS):,}"
        )


def balanced_offsets(entries: npt.NDArray[np.int64], parts: int) -> Offsets:
    """`[parts + 1]`: ranges of nodes with about equal sums of `entries` `[N]`, what a node's rows hold."""
    nodes = entries.size
    check_parts(parts, nodes)
    work = np.cumsum(entries + 1, dtype=np.int64)  # a node without links still has features
    inner = np.searchsorted(work, work[-1] * np.arange(1, parts) / parts) + 1
    return fill_empty_parts(np.concatenate([[0], inner, [nodes]]).astype(np.int64))


def fill_empty_parts(offsets: Offsets) -> Offsets:
    """Moved as little as it takes that every part has a node."""
    parts, nodes = offsets.size - 1, int(offsets[-1])
    numbers = np.arange(parts + 1)
    rising = np.maximum.accumulate(offsets - numbers) + numbers
    return np.minimum(rising, nodes - (parts - numbers)).astype(np.int64)
