"""Everything worth knowing about a graph, in one record: size, balance, homophily, health."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from msgspec import Struct

from gpcn.core.types import SparseMatrix
from gpcn.graph import Graph, Split, health, homophily
from gpcn.preparation.preparation import ColumnAccount


class DegreeAccount(Struct, frozen=True):
    """Links that start at a node."""

    mean: float
    median: float
    max: int


class DirectionAccount(Struct, frozen=True):
    """What the neighbours in one direction tell."""

    coverage: float | None
    node_homophily: float | None
    label_informativeness: float | None


class DirectionsAccount(Struct, frozen=True, rename={"outward": "out", "inward": "in"}):
    """What either end of the links tells: those a node points to, and those that point to it."""

    reciprocated: float | None
    outward: DirectionAccount
    inward: DirectionAccount
    hint: str | None


class Inspection(Struct, frozen=True, kw_only=True):
    """Everything worth knowing about a graph; what is undefined is `None`."""

    name: str
    nodes: int
    edges: int
    directed: bool
    weighted: bool
    self_loops: int
    features: int
    features_stored: str
    classes: int
    class_counts: dict[str, int]
    unlabelled: int
    metric: str
    columns: tuple[ColumnAccount, ...]
    relations: dict[str, int]
    degree: DegreeAccount
    edge_homophily: float | None
    node_homophily: float | None
    class_insensitive_homophily: float | None
    adjusted_homophily: float | None
    label_informativeness: float | None
    label_informativeness_above_chance: homophily.AboveChance | None
    verdict: str
    directions: DirectionsAccount | None
    compatibility: list[list[float]]
    isolated_nodes: int
    constant_features: int
    twin_nodes: int
    train_test_duplicates: int
    train_test_duplicates_per_split: tuple[int, ...]
    splits: int
    split_sizes: tuple[dict[str, int], ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    fingerprint: str


def inspect(graph: Graph) -> Inspection:
    """Describe a graph."""
    agreement, above = homophily.measure(graph), homophily.above_chance(graph)
    condition = health.check(graph)
    out_degree = np.diff(graph.adjacency.indptr)
    return Inspection(
        name=graph.name,
        nodes=graph.num_nodes,
        edges=graph.num_edges,
        directed=graph.directed,
        weighted=graph.weighted,
        self_loops=int(np.count_nonzero(graph.adjacency.diagonal())),
        features=graph.num_features,
        features_stored="sparse" if graph.has_sparse_features else "dense",
        classes=graph.num_classes,
        class_counts=_class_counts(graph),
        unlabelled=int(graph.num_nodes - graph.labelled.size),
        metric=graph.metric,
        columns=tuple(graph.preparation.describe()) if graph.preparation else (),
        relations={name: _count_edges(matrix, directed=graph.directed) for name, matrix in graph.relations.items()},
        degree=DegreeAccount(float(out_degree.mean()), float(np.median(out_degree)), int(out_degree.max())),
        edge_homophily=agreement.edge,
        node_homophily=agreement.node,
        class_insensitive_homophily=agreement.class_insensitive,
        adjusted_homophily=agreement.adjusted,
        label_informativeness=agreement.label_informativeness,
        label_informativeness_above_chance=above,
        verdict=homophily.verdict(agreement, above),
        directions=_directions(graph) if graph.directed else None,
        compatibility=agreement.compatibility.tolist(),
        isolated_nodes=condition.isolated_nodes,
        constant_features=condition.constant_features,
        twin_nodes=condition.twin_nodes,
        train_test_duplicates=max(condition.train_test_duplicates, default=0),
        train_test_duplicates_per_split=tuple(condition.train_test_duplicates),
        splits=len(graph.splits),
        split_sizes=tuple(_part_sizes(split) for split in graph.splits),
        warnings=tuple(condition.warnings),
        notes=tuple(graph.notes),
        fingerprint=graph.fingerprint(),
    )


def split_sizes_text(sizes: dict[str, int]) -> str:
    """How many nodes the parts of a split have, such as `120 / 40 / 40`."""
    return " / ".join(f"{size:,}" for size in sizes.values())


def _part_sizes(split: Split) -> dict[str, int]:
    """By part; splits without calibration nodes do not mention them."""
    return {name: nodes.size for name, nodes in split.parts().items() if nodes.size or name != "calibration"}


def _directions(graph: Graph) -> DirectionsAccount:
    directions = homophily.by_direction(graph)
    outward, inward = (
        DirectionAccount(neighbours.coverage, neighbours.node, neighbours.label_informativeness)
        for neighbours in (directions.outward, directions.inward)
    )
    return DirectionsAccount(directions.reciprocated, outward, inward, homophily.direction_hint(directions))


def _count_edges(matrix: SparseMatrix, *, directed: bool) -> int:
    """Edges of one type as people count them: in an undirected graph a pair counts once."""
    return int(matrix.nnz if directed else sp.triu(matrix.maximum(matrix.T)).nnz)


def _class_counts(graph: Graph) -> dict[str, int]:
    names = graph.target.stratum_names
    counts = np.bincount(graph.target.strata[graph.labelled], minlength=len(names))
    return {name: int(count) for name, count in zip(names, counts, strict=True)}
