"""What the fields of a `Graph` must be, and the sentence for each way in which they are not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from gpcn.core.errors import DataError
from gpcn.core.types import FloatMatrix, SparseMatrix


def edges_to_adjacency(edge_index: npt.ArrayLike, num_nodes: int, weights: npt.ArrayLike | None = None) -> SparseMatrix:
    """`[2, E]` endpoints to an `[N, N]` CSR, endpoints checked; repeated edges merge (weights add up)."""
    ends = np.asarray(edge_index)
    if ends.ndim != 2 or ends.shape[0] != 2:
        raise DataError(f"edge_index has shape {ends.shape}; expected [2, E]: sources above targets")
    if ends.size and ends.dtype.kind not in "iu":
        raise DataError(f"edge_index holds {ends.dtype} values; expected whole numbers")
    ends = ends.astype(np.int64, copy=False)
    wrong = np.flatnonzero(((ends < 0) | (ends >= num_nodes)).any(axis=0))
    if wrong.size:
        source, target = ends[:, wrong[0]]
        raise DataError(
            f"{wrong.size} edge(s) have an endpoint outside 0..{num_nodes - 1}, the first is edge "
            f"{wrong[0]}: {source} -> {target}; nodes are numbered from 0"
        )
    values = np.ones(ends.shape[1], np.float32) if weights is None else narrow_edge_weights(weights)
    if values.size != ends.shape[1]:
        raise DataError(f"there are {values.size} weights for {ends.shape[1]} edges; expected one each")
    matrix = sp.csr_array((values, (ends[0], ends[1])), shape=(num_nodes, num_nodes))
    if weights is None:
        matrix.data[:] = 1
    return matrix


def narrow_edge_weights(given: npt.ArrayLike) -> npt.NDArray[np.float32]:
    """Edge weights in 32 bits; one that would become 0 there, and its edge vanish, is refused."""
    try:
        wide = np.asarray(given).ravel()
        if wide.dtype.kind in "cmMV":
            raise TypeError(f"they are of type {wide.dtype}")
        with np.errstate(over="ignore", under="ignore"):
            narrow = wide.astype(np.float32, copy=False)
    except (TypeError, ValueError) as error:
        raise DataError(f"the edge weights are not numbers: {error}") from error
    if wide.dtype.kind in "biu" or wide.dtype == np.float32:
        return narrow
    lost = np.flatnonzero((narrow == 0) & (wide != 0))
    if lost.size:
        raise DataError(
            f"{lost.size} edge weight(s) are too small for 32-bit numbers, the first is {wide[lost[0]]}; multiply all "
            "weights by the same large number"
        )
    return narrow


def check_sparse_matrix(matrix: object, what: str) -> None:
    """Refuse a sparse matrix whose parts do not fit together: compiled code would read outside its arrays."""
    try:
        if isinstance(matrix, (sp.csr_array, sp.csr_matrix, sp.csc_array, sp.csc_matrix, sp.bsr_array, sp.bsr_matrix)):
            matrix.check_format(full_check=True)
        elif isinstance(matrix, (sp.coo_array, sp.coo_matrix)):
            if len({len(axis) for axis in (*matrix.coords, matrix.data)}) > 1:
                raise ValueError("as many rows and columns as values are needed")
            for axis, size in zip(matrix.coords, matrix.shape, strict=True):
                if len(axis) and not (axis.min() >= 0 and axis.max() < size):
                    raise ValueError(f"an index is outside 0..{size - 1}")
    except (ValueError, TypeError, IndexError) as error:
        raise DataError(f"the {what} is a damaged sparse matrix: {error}; make it again") from error


def read_only_array(matrix: Any) -> Any:
    """The same numbers, which nobody can change through this array: a graph's fingerprint stays true."""
    if isinstance(matrix, np.ndarray):
        view = matrix.view()
        view.flags.writeable = False
        return view
    frozen = sp.csr_array(matrix)  # shares its arrays
    for part in ("data", "indices", "indptr"):
        setattr(frozen, part, read_only_array(getattr(matrix, part)))
    frozen.has_canonical_format = matrix.has_canonical_format
    return frozen


def _check_kind(given: object, what: str) -> None:
    """Numbers and booleans; complex numbers, dates, records and texts would be cast to something else."""
    dtype = getattr(given, "dtype", None)
    if getattr(dtype, "kind", "f") not in "fiub":
        raise DataError(f"the {what} hold {dtype} values; expected a table of numbers")


def checked_adjacency(given: object) -> SparseMatrix:
    """`[N, N]`, positive weights, canonical, small indices."""
    _check_kind(given, "adjacency")
    check_sparse_matrix(given, "adjacency")
    try:
        matrix = sp.csr_array(given)
        if matrix.dtype != np.float32 and matrix.ndim == 2:
            matrix = sp.csr_array((narrow_edge_weights(matrix.data), matrix.indices, matrix.indptr), shape=matrix.shape)
    except (TypeError, ValueError) as error:
        raise DataError(f"the adjacency cannot be read as a sparse matrix: {error}") from error
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise DataError(f"the adjacency has shape {matrix.shape}; expected N by N")
    if matrix.shape[0] == 0:
        raise DataError("the graph has no nodes; expected at least one")
    matrix = _canonical(matrix)
    bad = np.flatnonzero(~np.isfinite(matrix.data) | (matrix.data < 0))
    if bad.size:
        row = int(np.searchsorted(matrix.indptr, bad[0], side="right")) - 1
        raise DataError(
            f"{bad.size} edge weight(s) are not positive numbers, the first is {matrix.data[bad[0]]} on edge "
            f"{row} -> {matrix.indices[bad[0]]}; weights must be finite and above 0"
        )
    return read_only_array(_small_indices(matrix))


def checked_features(
    given: Any, nodes: int, node_ids: Sequence[str] | None = None, names: Sequence[str] | None = None
) -> FloatMatrix | SparseMatrix:
    """`[nodes, q]` of finite 32-bit floats, dense or sparse as given; `node_ids` and `names` are for the error."""
    _check_kind(given, "features")
    check_sparse_matrix(given, "features matrix")
    try:
        with np.errstate(over="ignore"):
            matrix = sp.csr_array(given, dtype=np.float32) if sp.issparse(given) else np.asarray(given, np.float32)
    except (TypeError, ValueError) as error:
        raise DataError(f"the features are not a table of numbers: {error}") from error
    if matrix.ndim != 2 or matrix.shape[0] != nodes:
        raise DataError(f"the features have shape {matrix.shape}; expected {nodes} rows, one per node")
    if isinstance(matrix, sp.csr_array):
        matrix = _small_indices(_canonical(matrix))
        values = matrix.data
    else:
        matrix = np.ascontiguousarray(matrix)
        values = matrix.reshape(-1)
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        row, column = _position(matrix, int(bad[0]))
        who = f" (node {node_ids[row]!r})" if node_ids and row < len(node_ids) else ""
        what = f" {names[column]!r}" if names and column < len(names) else f" {column}"
        raise DataError(
            f"{bad.size} feature value(s) are missing, infinite or too large, the first is {values[bad[0]]} in row "
            f"{row}{who}, column{what}; fill them in or leave the column out"
        )
    return read_only_array(matrix)


def _position(matrix: FloatMatrix | SparseMatrix, entry: int) -> tuple[int, int]:
    if isinstance(matrix, np.ndarray):
        row, column = divmod(entry, matrix.shape[1])
        return int(row), int(column)
    return int(np.searchsorted(matrix.indptr, entry, side="right")) - 1, int(matrix.indices[entry])


def checked_relations(given: Any, nodes: int) -> dict[str, SparseMatrix]:
    """Edges by type, each like the adjacency."""
    checked = {}
    for name, matrix in dict(given).items():
        checked[str(name)] = checked_adjacency(matrix)
        if checked[str(name)].shape != (nodes, nodes):
            raise DataError(f"relation {name!r} has shape {checked[str(name)].shape}; expected {nodes} by {nodes}")
    return checked


def check_graph_names(field: str, names: Sequence[str] | None, size: int) -> None:
    """As many names as things to name, all different, all writable; a `field` without names is fine."""
    if names is None:
        return
    if any("\ud800" <= letter <= "\udfff" for name in names for letter in name):
        raise DataError(f"{field} holds text that is no valid Unicode; expected names that can be written as UTF-8")
    if len(names) != size:
        raise DataError(f"{field} has {len(names)} entries; expected {size}")
    if len(set(names)) != size:
        raise DataError(f"{field} repeats {_first_repeated(names)!r}; each must be different")


def _first_repeated(names: Iterable[str]) -> str:
    seen: set[str] = set()
    return next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]


def _canonical(matrix: SparseMatrix) -> SparseMatrix:
    """Sorted, without repeated entries or stored zeros; the giver's own arrays are never changed."""
    if matrix.has_canonical_format and matrix.data.all():
        return matrix
    matrix = matrix.copy()
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def _small_indices(matrix: SparseMatrix) -> SparseMatrix:
    largest = np.iinfo(np.int32).max
    if matrix.indices.dtype != np.int32 and matrix.nnz <= largest and max(matrix.shape) <= largest:
        parts = (matrix.data, matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32))
        return sp.csr_array(parts, shape=matrix.shape)
    return matrix
