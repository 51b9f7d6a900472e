"""What stands in the table of edges besides the two ends: types become relations, numbers and times become features."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from gpcn.graph.validation import edges_to_adjacency
from gpcn.preparation import values
from gpcn.preparation.scalar_encoders import MISSING
from gpcn.utils.types import IntVector

MOST_TYPES = 20
Floats = npt.NDArray[np.float64]


def edge_relations(
    kinds: Any,
    ends: IntVector,
    nodes: int,
    weights: npt.NDArray[Any] | None,
    *,
    undirected: bool,
    earlier_types: Collection[str] = (),
) -> tuple[dict[str, sp.csr_array], str]:
    """Edges by type, and a note where there are too many types to be types; `earlier_types` may have no edges."""
    words = values.missing_words_as_empty(values.column_texts(kinds))
    names = sorted({*pc.unique(words).to_pylist(), *("" if name == MISSING else name for name in earlier_types)})
    if len(names) > MOST_TYPES:
        return {}, f"{len(names):,} different values are too many for types of edges; all edges count as one type"
    if len(names) < 2:
        return {}, ""
    codes = np.asarray(pc.index_in(words, value_set=pa.array(names, pa.string())).to_numpy(), dtype=np.int64)
    matrices = {}
    for code, name in enumerate(names):
        chosen = codes == code
        matrix = edges_to_adjacency(ends[:, chosen], nodes, None if weights is None else weights[chosen])
        matrices[name or MISSING] = matrix.maximum(matrix.T) if undirected else matrix
    return matrices, ""


def edge_types_counted_in(columns: Collection[str], column: str) -> list[str]:
    """The types that the degrees among `columns` of features were counted by."""
    starts = [f"links: log {side} by {column}=" for side in ("out-degree", "degree")]
    return [name.removeprefix(start) for name in columns for start in starts if name.startswith(start)]


def edge_aggregates(
    name: str, column: Any, ends: IntVector, nodes: int, *, undirected: bool
) -> dict[str, Floats] | None:
    """Sums and means of a numeric edge column over the edges of each node; of a time, how many days before the last.

    `None` where the column holds neither. Times count from the last one of the table, so that next month's table gives
    what this month's gave.
    """
    numbers = values.column_numbers(column)
    time = numbers is None
    if numbers is None:
        moments = values.column_times(column)
        if moments is None:
            return None
        last = np.nanmax(moments[0], initial=-np.inf)
        numbers = (last - moments[0]) / values.DAY
    if undirected:
        sides = {"": np.concatenate([ends[0], ends[1]])}
        numbers = np.concatenate([numbers, numbers])
    else:
        sides = {"out ": ends[0], "in ": ends[1]}
    present = ~np.isnan(numbers)
    columns: dict[str, Floats] = {}
    for side, rows in sides.items():
        count = np.bincount(rows[present], minlength=nodes)
        total: Floats = np.bincount(rows[present], weights=numbers[present], minlength=nodes).astype(np.float64)
        mean: Floats = np.divide(total, count, out=np.full(nodes, np.nan), where=count > 0)
        if not time:
            columns[f"links: {side}{name}, sum"] = total
        columns[f"links: {side}{name}, {'mean days ago' if time else 'mean'}"] = mean
    return columns
