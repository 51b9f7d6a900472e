"""A graph that fits into memory, cut into parts on disk; what is there already is kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import scipy.sparse as sp

from gpcn.data.graph_record import GraphSource
from gpcn.data.parts.files import write_part
from gpcn.data.parts.manifest import Manifest
from gpcn.data.parts.reordered_graph import reordered_graph
from gpcn.data.parts.tables import PartData
from gpcn.distributed.sharding.ordering import PartOrder, part_order
from gpcn.distributed.sharding.part_storage import Progress, part_storage
from gpcn.graph import Graph, Split
from gpcn.runs.profile import profile_of
from gpcn.runs.run_creation import describe_graph


def shard(
    graph: Graph,
    out: str | Path,
    parts: int,
    *,
    source: GraphSource | None = None,
    progress: Progress | None = None,
    order: str = "kept",
    report_order: Callable[[PartOrder], None] | None = None,
    log: Callable[[str], None] = lambda text: None,
) -> Manifest:
    """Write `graph` into the folder `out` in `parts`; the same call again writes what is missing.

    Args:
        graph: what to write.
        out: a folder, also of an object store, such as `s3://bucket/parts`.
        parts: how many workers it is for.
        source: where the graph came from, for prediction later.
        progress: called after every part.
        order: `kept`, or `metis` for parts with few links between them; names and numbers of nodes stay as they are.
        report_order: called with the order.
        log: called with a sentence per step.
    """
    about = describe_graph(graph, source, profile_of(graph))
    nodes = part_order(graph, parts, order)
    offsets, graph = nodes.offsets, reordered_graph(graph, nodes.positions)
    if report_order is not None:
        report_order(nodes)
    owner = hashlib.sha256(
        json.dumps([about.fingerprint, about.names, graph.metric, offsets.tolist(), nodes.name]).encode()
    ).hexdigest()
    storage = part_storage(out)
    matrices = {"": graph.adjacency, **graph.relations}
    turned = {name: sp.csr_array(matrix.T) for name, matrix in matrices.items()} if about.directed else matrices

    def write(folder: Path, number: int) -> dict[str, str]:
        return write_part(folder, _part(graph, turned, nodes, number).tables(about.directed), owner)

    with storage.opened():
        digests = storage.write_parts(parts, owner, write, progress, log)
        manifest = Manifest(
            graph=about,
            links=int(graph.adjacency.nnz),
            sparse_features=graph.has_sparse_features,
            splits=len(graph.splits),
            named_nodes=graph.node_ids is not None,
            offsets=tuple(offsets.tolist()),
            files=digests,
            order=nodes.name,
        )
        storage.finish(manifest)
    return manifest


def _part(graph: Graph, turned: dict[str, sp.csr_array], nodes: PartOrder, number: int) -> PartData:
    start, stop = int(nodes.offsets[number]), int(nodes.offsets[number + 1])

    def rows(name: str, matrix: sp.csr_array) -> tuple[sp.csr_array, sp.csr_array]:
        outgoing = sp.csr_array(matrix[start:stop])
        return outgoing, outgoing if turned[name] is matrix else sp.csr_array(turned[name][start:stop])

    return PartData(
        start=start,
        links=rows("", graph.adjacency),
        relations={name: rows(name, matrix) for name, matrix in graph.relations.items()},
        features=graph.features[start:stop],
        labels=graph.labels[start:stop],
        splits=tuple(Split.from_codes(split.codes(graph.num_nodes)[start:stop]) for split in graph.splits),
        node_ids=None if graph.node_ids is None else graph.node_ids[start:stop],
        positions=None if nodes.positions is None else nodes.positions[start:stop],
    )
