"""Many texts as two arrays: the UTF-8 bytes of all of them, and where each one ends.

An array of fixed width would give every text the room of the longest.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gpcn.core.atomic import replacing
from gpcn.core.errors import CheckpointError
from gpcn.data.archives import Arrays, read_npz, require_array

NODE_IDS = "node_ids"


def pack_texts(texts: Sequence[str], key: str) -> Arrays:
    """The arrays `key.text` and `key.ends`."""
    encoded = [text.encode() for text in texts]
    return {
        f"{key}.text": np.frombuffer(b"".join(encoded), dtype=np.uint8),
        f"{key}.ends": np.cumsum([len(text) for text in encoded], dtype=np.int64),
    }


def unpack_texts(arrays: Arrays, key: str) -> list[str]:
    """The texts that `pack_texts` was given; a `ValueError` or `KeyError` where the arrays are not of that form."""
    content, ends = require_array(arrays, f"{key}.text", "u", 1), require_array(arrays, f"{key}.ends", "iu", 1)
    blob, stops = content.astype(np.uint8).tobytes(), ends.tolist()
    if not stops or stops[-1] != len(blob) or stops[0] < 0 or stops != sorted(stops):
        raise ValueError(f"the names in {key} do not fill their text")
    try:
        return [blob[start:stop].decode() for start, stop in zip([0, *stops[:-1]], stops, strict=True)]
    except UnicodeDecodeError as error:
        raise ValueError(f"the names in {key} are not UTF-8") from error


def write_node_ids(node_ids: Sequence[str], path: Path) -> None:
    """Write the names of nodes to a compressed archive of their own."""
    with replacing(path) as stream:
        np.savez_compressed(stream, **pack_texts(node_ids, NODE_IDS))  # type: ignore[arg-type]


def read_node_ids(path: Path) -> list[str]:
    """Return what `write_node_ids` wrote."""
    arrays = read_npz(path, str(path))
    try:
        return unpack_texts(arrays, NODE_IDS)
    except (KeyError, ValueError) as error:
        raise CheckpointError(f"{path} is damaged: it holds no readable node ids ({error})") from error
