"""Features of the links, put beside those that a graph has: for graphs that do not come from tables."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from gpcn.core.errors import ConfigError, Option
from gpcn.graph import Graph
from gpcn.preparation import structure
from gpcn.preparation.preparation import Preparation


def with_structure_features(graph: Graph, level: str, preparation: Preparation | None = None) -> Graph:
    """`graph` with the features of its links as well, where `level` is `degrees` or `full`.

    `auto` and `none` leave it as it is. With the `preparation` of an earlier graph they are scaled as there.
    """
    earlier = preparation is not None and preparation.reading.get("appended") == level
    if level not in ("degrees", "full"):
        return graph
    if graph.preparation is not None:
        raise ConfigError(
            f"the features of {graph.name} were prepared from tables; name {Option('structure', level)} where they are "
            "converted"
        )
    entries = graph.adjacency.tocoo()
    ends = np.stack([entries.row, entries.col]).astype(np.int64)
    if not graph.directed:
        ends = ends[:, entries.row <= entries.col]
    columns = structure.degree_features(ends, graph.num_nodes, directed=graph.directed)
    if level == "full":
        columns |= structure.link_structure_features(graph.adjacency, directed=graph.directed)
    table: dict[str, Any] = {name: pa.array(column, from_pandas=True) for name, column in columns.items()}
    fitted = preparation if earlier else None
    if fitted is None:
        fitted = Preparation.fit(table, declared=dict.fromkeys(table, "number"), reading={"appended": level})
    block, _ = fitted.transform(table, graph.num_nodes)
    names = graph.feature_names or tuple(f"feature_{number}" for number in range(graph.num_features))
    if isinstance(graph.features, np.ndarray):
        features: Any = np.concatenate([graph.features, sp.csr_array(block).toarray()], axis=1)
    else:
        features = sp.hstack([graph.features, sp.csr_array(block)], format="csr")
    return replace(graph, features=features, feature_names=(*names, *fitted.feature_names), preparation=fitted)
