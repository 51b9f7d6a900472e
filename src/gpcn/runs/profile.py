"""The profile of a graph, kept in its run: what later graphs are compared with (`runs.predictions.drift`)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gpcn.core.types import FloatMatrix, SparseMatrix
from gpcn.data.graph_record import FeatureRanges, GraphProfile
from gpcn.graph import Graph

MOST_FEATURES = 5000  # bags of words have more, their ranges say little, and config.json stays small


def profile_of(graph: Graph) -> GraphProfile:
    """Return degrees, labels and, of at most 5,000 features, range and mean."""
    few = 0 < graph.num_features <= MOST_FEATURES
    classes = np.bincount(graph.target.strata[graph.labelled], minlength=len(graph.target.stratum_names))
    return GraphProfile(
        degrees=tuple(degree_counts(graph).tolist()),
        classes=tuple(classes.tolist()),
        features=_ranges(graph.features) if few else None,
    )


def degree_counts(graph: Graph) -> npt.NDArray[np.int64]:
    """How many nodes have 0, 1, 2-3, 4-7, ... links, in either direction."""
    links = np.diff(graph.adjacency.indptr).astype(np.int64)
    if graph.directed:
        links = links + np.bincount(graph.adjacency.indices, minlength=graph.num_nodes)
    return np.bincount(np.ceil(np.log2(links + 1)).astype(np.int64))


def _ranges(features: FloatMatrix | SparseMatrix) -> FeatureRanges:
    low, high = (_dense(getattr(features, extreme)(axis=0)) for extreme in ("min", "max"))
    mean = np.asarray(features.mean(axis=0), dtype=np.float64).ravel()
    return FeatureRanges(*(tuple(float(f"{value:.7g}") for value in numbers) for numbers in (low, high, mean)))


def _dense(row: Any) -> npt.NDArray[np.float64]:
    return np.asarray(row if isinstance(row, np.ndarray) else row.toarray(), dtype=np.float64).ravel()
