"""Everything worth knowing about a graph, in one record: size, balance, homophily, health."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import scipy.sparse as sp

from gpcn import health, homophily
from gpcn.graph import Graph, Split
from gpcn.utils.types import SparseMatrix


def inspect(graph: Graph) -> dict[str, Any]:
    """A JSON-ready description; what is undefined is `None`."""
    agreement, above = homophily.measure(graph), homophily.above_chance(graph)
    condition = health.check(graph)
    out_degree = np.diff(graph.adjacency.indptr)
    return {
        "name": graph.name,
        "nodes": graph.num_nodes,
        "edges": graph.num_edges,
        "directed": graph.directed,
        "weighted": graph.weighted,
        "self_loops": int(np.count_nonzero(graph.adjacency.diagonal())),
        "features": graph.num_features,
        "features_stored": "sparse" if graph.has_sparse_features else "dense",
        "classes": graph.num_classes,
        "class_counts": _class_counts(graph),
        "unlabelled": int(graph.num_nodes - graph.labelled.size),
        "metric": graph.metric,
        "columns": graph.preparation.describe() if graph.preparation else [],
        "relations": {name: _count_edges(matrix, directed=graph.directed) for name, matrix in graph.relations.items()},
        "degree": {
            "mean": float(out_degree.mean()),
            "median": float(np.median(out_degree)),
            "max": int(out_degree.max()),
        },
        "edge_homophily": agreement.edge,
        "node_homophily": agreement.node,
        "class_insensitive_homophily": agreement.class_insensitive,
        "adjusted_homophily": agreement.adjusted,
        "label_informativeness": agreement.label_informativeness,
        "label_informativeness_above_chance": None if above is None else asdict(above),
        "verdict": homophily.verdict(agreement, above),
        "directions": _directions(graph) if graph.directed else None,
        "compatibility": agreement.compatibility.tolist(),
        "isolated_nodes": condition.isolated_nodes,
        "constant_features": condition.constant_features,
        "twin_nodes": condition.twin_nodes,
        "train_test_duplicates": max(condition.train_test_duplicates, default=0),
        "train_test_duplicates_per_split": list(condition.train_test_duplicates),
        "splits": len(graph.splits),
        "split_sizes": [_part_sizes(split) for split in graph.splits],
        "warnings": list(condition.warnings),
        "notes": list(graph.notes),
        "fingerprint": graph.fingerprint(),
    }


def split_sizes_text(sizes: dict[str, int]) -> str:
    """How many nodes the parts of a split have, such as `120 / 40 / 40`."""
    return " / ".join(f"{size:,}" for size in sizes.values())


def _part_sizes(split: Split) -> dict[str, int]:
    """By part; splits without calibration nodes do not mention them."""
    return {name: nodes.size for name, nodes in split.parts().items() if nodes.size or name != "calibration"}


def _directions(graph: Graph) -> dict[str, Any]:
    """What either end of the links tells, `out` of those a node points to and `in` of those that point to it."""
    directions = homophily.by_direction(graph)
    ends = {"out": directions.outward, "in": directions.inward}
    return {
        "reciprocated": directions.reciprocated,
        **{
            name: {
                "coverage": neighbours.coverage,
                "node_homophily": neighbours.node,
                "label_informativeness": neighbours.label_informativeness,
            }
            for name, neighbours in ends.items()
        },
        "hint": homophily.direction_hint(directions),
    }


def _count_edges(matrix: SparseMatrix, *, directed: bool) -> int:
    """Edges of one type as people count them: in an undirected graph a pair counts once."""
    return int(matrix.nnz if directed else sp.triu(matrix.maximum(matrix.T)).nnz)


def _class_counts(graph: Graph) -> dict[str, int]:
    counts = np.bincount(graph.labels[graph.labelled], minlength=graph.num_classes)
    names = graph.label_names or [str(number) for number in range(graph.num_classes)]
    return {name: int(count) for name, count in zip(names, counts, strict=True)}
