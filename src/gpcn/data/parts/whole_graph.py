"""All parts together: the graph, where it fits into memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from gpcn.core import machine_memory
from gpcn.core.errors import Option
from gpcn.data.parts.manifest import Manifest
from gpcn.data.parts.reordered_graph import reordered_graph
from gpcn.data.parts.tables import PartData
from gpcn.graph import Graph, Split


def read_whole(root: Path) -> Graph:
    """The graph whose parts are in `root`."""
    manifest = Manifest.read(root)
    about = manifest.graph
    dense = 0 if manifest.sparse_features else about.nodes * about.features
    needed = 4 * dense + 16 * manifest.links
    machine_memory.require_memory(
        needed, f"the graph in {root}", f"train it by parts with {Option('engine', 'ray', command='train')}"
    )
    parts = [PartData.read(root, manifest, number) for number in range(manifest.parts)]
    features = [part.features for part in parts]
    whole = Graph(
        adjacency=sp.vstack([part.links[0] for part in parts], format="csr"),
        relations={
            name: sp.vstack([part.relations[name][0] for part in parts], format="csr") for name in manifest.relations
        },
        features=sp.vstack(features, format="csr") if manifest.sparse_features else np.concatenate(features),
        labels=np.concatenate([part.labels for part in parts]),
        splits=tuple(
            Split.from_codes(np.concatenate([part.splits[number].codes(part.labels.size) for part in parts]))
            for number in range(manifest.splits)
        ),
        node_ids=[name for part in parts for name in part.node_ids or ()] if manifest.named_nodes else None,
        name=about.name,
        metric=about.metric,
        task_name=about.task,
        label_names=about.label_names,
        feature_names=about.feature_names,
        preparation=about.preparation,
    )
    positions = [part.positions for part in parts if part.positions is not None]
    return reordered_graph(whole, np.argsort(np.concatenate(positions))) if positions else whole
