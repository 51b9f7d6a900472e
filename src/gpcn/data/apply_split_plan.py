"""A split plan carried out on a graph that was loaded; plans that name columns read the table of nodes for them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gpcn.core.errors import ConfigError, DataError, Option
from gpcn.data.graph_record import GraphSource
from gpcn.data.load import find_pair
from gpcn.data.split_plan import SplitPlan
from gpcn.data.tables import delimited
from gpcn.data.tables.delimited import first_data_line
from gpcn.graph import Graph
from gpcn.preparation import values
from gpcn.preparation.misfits import MisfitError, plausible_times, refuse_days_that_do_not_exist
from gpcn.preparation.scalar_encoders import date_note


def apply_split_plan(graph: Graph, plan: SplitPlan, origin: GraphSource) -> Graph:
    """`graph` with the splits of `plan`; `origin` says which files it came from."""
    return split_by_columns(graph, plan, origin) if plan.needs_columns else plan.make(graph)


def split_by_columns(graph: Graph, plan: SplitPlan, origin: GraphSource) -> Graph:
    """`graph` split by the times or groups in a column of its table of nodes."""
    option, name = (Option("split_by"), str(plan.by)) if plan.by else (Option("split_group"), str(plan.group))
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
        times, notes = _times(column, path, name, declared=_is_declared(graph, name))
        return plan.make(
            replace(graph, notes=(*graph.notes, *notes)), times=np.concatenate([times, np.full(extra, np.nan)])
        )
    groups = values.missing_words_as_empty(values.column_texts(column)).to_pylist()
    return plan.make(graph, groups=[*groups, *[""] * extra])


def _table_of_nodes(origin: GraphSource, option: Option) -> Path:
    if origin.nodes:
        return Path(origin.nodes)
    folder = Path(origin.graph or "")
    nodes = find_pair(folder)[1] if folder.is_dir() else None
    if nodes is None:
        raise ConfigError(
            f"{option} needs the table of nodes; name it with {Option('nodes')}, or use {Option('random_splits')} or "
            f"{Option('folds')}"
        )
    return nodes


def _is_declared(graph: Graph, name: str) -> bool:
    """Whether the user said that column `name` holds dates, however old."""
    columns = graph.preparation.columns if graph.preparation else ()
    return any(column.name == name and column.role == "date" and column.declared for column in columns)


def _times(column: Any, path: Path, name: str, *, declared: bool) -> tuple[npt.NDArray[np.float64], list[str]]:
    """The times of the rows, and a note of what had to be decided to read them."""
    numbers = values.column_numbers(column)
    if numbers is not None:
        return numbers, []
    try:
        moments = plausible_times(column, declared=declared)
        if moments is None:
            refuse_days_that_do_not_exist(column)
    except MisfitError as error:
        first = first_data_line(path)
        where = f"line {error.row + first}" if first else f"row {error.row + 1}"
        raise DataError(
            f"{path}, {where}: column {name!r} ({Option('split_by')}) holds {error.cell!r}; expected {error.expected}; "
            "correct it"
        ) from error
    if moments is None:
        raise DataError(f"{path}: column {name!r} holds neither dates nor numbers; expected something to order by time")
    also = values.fits_other_order(column, moments[1])
    return moments[0], [date_note(name, moments[1], also)] if also else []
