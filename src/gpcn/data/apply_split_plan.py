"""A split plan carried out on a graph that was loaded; plans that name columns read the table of nodes for them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gpcn.data.load import find_pair
from gpcn.data.split_plan import SplitPlan
from gpcn.data.tables import delimited
from gpcn.errors import ConfigError, DataError
from gpcn.graph import Graph
from gpcn.preparation import values


def apply_split_plan(graph: Graph, plan: SplitPlan, origin: Mapping[str, Any]) -> Graph:
    """`graph` with the splits of `plan`; `origin` says which files it came from."""
    return split_by_columns(graph, plan, origin) if plan.needs_columns else plan.make(graph)


def split_by_columns(graph: Graph, plan: SplitPlan, origin: Mapping[str, Any]) -> Graph:
    """`graph` split by the times or groups in a column of its table of nodes."""
    option, name = ("--split-by", str(plan.by)) if plan.by else ("--split-group", str(plan.group))
    path = _table_of_nodes(origin, option)
    names = delimited.table_column_names(path)
    if name not in names:
        raise DataError(f"{path} has no column {name!r} ({option}); it has {', '.join(names[:12])}")
    column = delimited.read_table(path, text=() if plan.by else (name,), only=(name,)).column(name)
    extra = graph.num_nodes - len(column)  # nodes that only edges name come last, and have no value
    if extra < 0:
        raise DataError(
            f"{path} has {len(column):,} rows, but the graph has {graph.num_nodes:,} nodes; convert it again"
        )
    if plan.by:
        return plan.make(graph, times=np.concatenate([_times(column, path, name), np.full(extra, np.nan)]))
    return plan.make(graph, groups=[*values.column_texts(column).to_pylist(), *[""] * extra])


def _table_of_nodes(origin: Mapping[str, Any], option: str) -> Path:
    if origin.get("nodes"):
        return Path(str(origin["nodes"]))
    folder = Path(str(origin.get("graph") or ""))
    nodes = find_pair(folder)[1] if folder.is_dir() else None
    if nodes is None:
        raise ConfigError(f"{option} needs the table of nodes; name it with --nodes, or use --random-splits or --folds")
    return nodes


def _times(column: Any, path: Path, name: str) -> npt.NDArray[np.float64]:
    numbers = values.column_numbers(column)
    if numbers is not None:
        return numbers
    moments = values.column_times(column)
    if moments is None:
        raise DataError(f"{path}: column {name!r} holds neither dates nor numbers; expected something to order by time")
    return moments[0]
