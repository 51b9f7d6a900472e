"""What stands in the table of edges besides the two ends: types become relations, numbers and times become features."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from gpcn.core.types import IntVector
from gpcn.graph.validation import edges_to_adjacency
from gpcn.preparation import roles, values
from gpcn.preparation.misfits import NUMERIC, MisfitError, plausible_times, refuse_days_that_do_not_exist
from gpcn.preparation.scalar_encoders import MISSING, date_note

MOST_TYPES = 20
IN_TIME = "mean days ago"
ROUNDING = 1e-5  # how far two sums of the same weights may be apart, as a share of them
Floats = npt.NDArray[np.float64]


def edge_relations(
    kinds: Any,
    ends: IntVector,
    nodes: int,
    weights: npt.NDArray[Any] | None,
    *,
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
        chosen_weights = None if weights is None else weights[chosen]
        matrices[name or MISSING] = edges_to_adjacency(ends[:, chosen], nodes, chosen_weights)
    return matrices, ""


def list_both_directions(matrices: Collection[sp.csr_array]) -> bool:
    """Return whether every edge between two nodes is there in both directions, with the same weight to rounding."""
    apart = [abs(matrix - matrix.T) - ROUNDING * matrix.maximum(matrix.T) for matrix in matrices]
    linked = any(matrix.nnz > np.count_nonzero(matrix.diagonal()) for matrix in matrices)
    return linked and not any((difference > 0).nnz for difference in apart)


def undirected_adjacency(matrix: sp.csr_array, *, add_up: bool) -> sp.csr_array:
    """Return the edges of `matrix` in both directions: `A + Aᵀ` with loops once, or the larger where not to `add_up`.

    Sums make the weight of an edge the same whichever end its rows write first.
    """
    if not add_up:
        return matrix.maximum(matrix.T)
    return sp.csr_array(matrix + matrix.T - sp.diags_array(matrix.diagonal(), format="csr"))


def edge_types_counted_in(columns: Collection[str], column: str) -> list[str]:
    """The types that the degrees among `columns` of features were counted by."""
    starts = [f"links: log {side} by {column}=" for side in ("out-degree", "degree")]
    return [name.removeprefix(start) for name in columns for start in starts if name.startswith(start)]


def reason_to_leave_out(name: str, column: Any, fitted: Collection[str] | None) -> str:
    """Return why no features are made of an edge column; empty where they are.

    `fitted` are the features of an earlier table: what it used is used again, and nothing else.
    """
    if fitted is not None and _was_used(name, fitted):
        return ""
    if values.column_numbers(column) is None and plausible_times(column) is None:
        refuse_days_that_do_not_exist(column)
        return "it holds neither numbers nor dates"
    if fitted is not None:
        return "training did not use it"
    guess = roles.guess_role(name, column)
    return guess.reason if guess.role in roles.LEFT_OUT else ""


def _was_used(name: str, fitted: Collection[str]) -> bool:
    return any(f"links: {side}{name}, {what}" in fitted for side in ("", "out ", "in ") for what in ("mean", IN_TIME))


def edge_aggregates(
    name: str, column: Any, ends: IntVector, nodes: int, *, undirected: bool, notes: list[str]
) -> dict[str, Floats]:
    """Sums and means of a numeric edge column over the edges of each node; of a time, how many days before the last.

    A column that holds neither is refused with its first misfit. Times count from the last one of the table, so that
    next month's table gives what this month's gave.
    """
    numbers = values.column_numbers(column)
    time = numbers is None
    if numbers is None:
        moments = plausible_times(column)
        if moments is None:
            raise MisfitError.first(column, NUMERIC, "a number or a date", name)
        also = values.fits_other_order(column, moments[1])
        notes += [date_note(name, moments[1], also)] if also else []
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
        columns[f"links: {side}{name}, {IN_TIME if time else 'mean'}"] = mean
    return columns
