"""What has to be equal between a graph read into memory and one that was streamed into parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from gpcn import Graph
from gpcn.graph.split import SCORED


def names_of(names: Any, count: int) -> list[str]:
    """Names that only count are left out of some graphs."""
    return list(names or map(str, range(count)))


def check_equal(one: Graph, other: Graph) -> None:
    assert names_of(one.node_ids, one.num_nodes) == names_of(other.node_ids, one.num_nodes)
    assert names_of(one.label_names, one.num_classes) == names_of(other.label_names, one.num_classes)
    np.testing.assert_array_equal(one.labels, other.labels)
    assert (one.adjacency != other.adjacency).nnz == 0
    assert list(one.feature_names or ()) == list(other.feature_names or ())
    dense = [graph.features.toarray() if sp.issparse(graph.features) else graph.features for graph in (one, other)]
    np.testing.assert_allclose(dense[0], dense[1], atol=1e-6)
    assert one.preparation is not None
    assert other.preparation is not None
    prepared = [[(c.name, c.role, c.missing) for c in graph.preparation.columns] for graph in (one, other)]  # type: ignore[union-attr]
    assert prepared[0] == prepared[1]
    for mine, theirs in zip(one.splits, other.splits, strict=True):
        for part in SCORED:
            np.testing.assert_array_equal(getattr(mine, part), getattr(theirs, part))
