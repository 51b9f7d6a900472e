"""The users' own graphs: a table of edges and a table of nodes become a `Graph`.

Ids and labels are compared as text, to the letter. Numbers and booleans become features as they are, text columns
become one column per value (`colour=red`). What had to be decided is written into the graph's notes.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from gpcn.data.columns import Columns, is_numeric
from gpcn.data.features import compact
from gpcn.errors import DataError
from gpcn.graph import Graph, Split
from gpcn.types import UNKNOWN, IntVector, Metric
from gpcn.validation import edges_to_adjacency

MISSING = frozenset({"", "na", "n/a", "nan", "null"})
LOCAL_NUMBER = re.compile(r"[-+]?\d[\d.,' ]*%?")
MOST_CLASSES_PER_NODE = 0.5
PARTS = {"train": "train", "val": "val", "valid": "val", "validation": "val", "test": "test"}


def assemble(
    edges: pa.Table,
    nodes: pa.Table | None,
    columns: Columns,
    *,
    name: str,
    require_labels: bool,
    metric: Metric = "accuracy",
) -> Graph:
    """A graph from settled `columns` of two tables; without `nodes`, every id among the edges is a node."""
    source, target = (_text(edges.column(str(column))) for column in (columns.source, columns.target))
    notes: list[str] = []
    if nodes is None:
        ids = pc.unique(pa.concat_arrays([source, target]))
    else:
        ids = _text(nodes.column(str(columns.id)))
        _check_ids(ids, str(columns.id))
    ends = np.stack([_places(part, ids, side) for part, side in ((source, "source"), (target, "target"))])
    adjacency = edges_to_adjacency(ends, len(ids), _weights(edges, columns))
    if adjacency.nnz < ends.shape[1]:
        how = "summed" if columns.weight else "counted once"
        notes.append(f"{ends.shape[1] - adjacency.nnz:,} edge(s) listed more than once were {how}")
    if columns.undirected:
        adjacency = adjacency.maximum(adjacency.T)
    labels, label_names = _labels(nodes, columns, len(ids), require_labels, notes)
    features, feature_names = _features(nodes, columns, len(ids), notes)
    return Graph(
        adjacency=adjacency,
        features=features,
        labels=labels,
        splits=_splits(nodes, columns),
        name=name,
        metric=metric,
        node_ids=_unless_counting(ids.to_pylist()),
        label_names=_unless_counting(label_names),
        feature_names=feature_names,
        notes=tuple(notes),
    )


def _text(column: Any) -> Any:
    flat = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    try:
        return pc.utf8_trim_whitespace(flat.cast(pa.string()).fill_null(""))
    except pa.ArrowException as error:
        raise DataError(f"a column holds {flat.type} values; expected text, numbers, dates or booleans") from error


def _check_ids(ids: Any, column: str) -> None:
    empty = np.flatnonzero(pc.equal(ids, "").to_numpy(zero_copy_only=False))
    if empty.size:
        raise DataError(f"{empty.size} node(s) have no id in column {column!r}, the first is row {empty[0] + 1}")
    if pc.count_distinct(ids).as_py() < len(ids):
        counts = pc.value_counts(ids)
        repeated = counts.filter(pc.greater(counts.field("counts"), 1))
        raise DataError(
            f"{len(repeated)} node id(s) occur more than once in column {column!r}, the first is "
            f"{repeated[0]['values'].as_py()!r}; expected each node once"
        )


def _places(ends: Any, ids: Any, side: str) -> IntVector:
    found = pc.index_in(ends, value_set=ids)
    if found.null_count:
        rows = np.flatnonzero(pc.is_null(found).to_numpy(zero_copy_only=False))
        raise DataError(
            f"{rows.size} edge(s) name a {side} that is not among the nodes, the first is "
            f"{ends[int(rows[0])].as_py()!r} in row {rows[0] + 1}; add the node or drop the edge"
        )
    return np.asarray(found.to_numpy(), dtype=np.int64)


def _weights(edges: pa.Table, columns: Columns) -> npt.NDArray[Any] | None:
    if columns.weight is None:
        return None
    values = edges.column(columns.weight)
    if not _is_number(values.type):
        raise DataError(f"the weight column {columns.weight!r} holds {values.type} values; expected numbers")
    numbers = np.asarray(values.cast(pa.float64(), safe=False).to_numpy())
    bad = np.flatnonzero(~((numbers > 0) & np.isfinite(numbers)))
    if bad.size:
        raise DataError(
            f"{bad.size} weight(s) in column {columns.weight!r} are not positive, the first is {numbers[bad[0]]} in "
            f"row {bad[0] + 1}; expected numbers above 0"
        )
    return numbers


def _labels(
    nodes: pa.Table | None, columns: Columns, count: int, required: bool, notes: list[str]
) -> tuple[IntVector, list[str] | None]:
    if nodes is None or columns.label is None:
        if required:
            advice = "give the table of nodes with --nodes" if nodes is None else "name the column with --label"
            raise DataError(f"no labels: no column holds them; expected a label for some nodes, {advice}")
        return np.full(count, UNKNOWN, dtype=np.int64), None
    values = _whole_numbers_plain(_text(nodes.column(columns.label)))
    names, missing = _class_names(pc.unique(values).to_pylist(), columns)
    if not names and required:
        raise DataError(
            f"no labels: every value of column {columns.label!r} is missing; expected a label for some nodes"
        )
    if len(names) > 100 and len(names) > MOST_CLASSES_PER_NODE * count:
        raise DataError(
            f"column {columns.label!r} holds {len(names):,} different labels for {count:,} nodes, no classes; "
            "name another column with --label"
        )
    places = pc.index_in(values, value_set=pa.array(names, pa.string())).fill_null(UNKNOWN)
    labels = np.asarray(places.to_numpy(zero_copy_only=False), dtype=np.int64)
    words = sorted(word for word in missing if word)
    if words:
        absent = int(np.count_nonzero(labels == UNKNOWN))
        notes.append(f"{absent:,} node(s) are to be predicted: {' and '.join(map(repr, words))} was taken as no label")
    return labels, names or None


def _class_names(distinct: list[str], columns: Columns) -> tuple[list[str], list[str]]:
    """The classes in order, and the words that stand for no label."""
    if columns.classes is not None:
        strange = [value for value in distinct if value and value not in columns.classes]
        if strange:
            raise DataError(f"column {columns.label!r} holds {strange[0]!r}, which is not among the classes given")
        return list(columns.classes), []
    names = [value for value in distinct if value.lower() not in MISSING]
    if all(_is_whole(value) for value in names):
        names = sorted((value for value in names if value != str(UNKNOWN)), key=int)
    else:
        names = sorted(names)
    return names, [value for value in distinct if value not in names]


def _whole_numbers_plain(values: Any) -> Any:
    """`1.0` as `1`, where all values are whole numbers, as when a table was exported from floats."""
    kinds = [kind for kind in pc.unique(values).to_pylist() if kind.lower() not in MISSING]
    if any("." in kind for kind in kinds) and all(re.fullmatch(r"-?\d+(\.0*)?", kind) for kind in kinds):
        return pc.replace_substring_regex(values, r"\.0*$", "")
    return values


def _features(nodes: pa.Table | None, columns: Columns, count: int, notes: list[str]) -> tuple[Any, list[str] | None]:
    if nodes is None or not columns.features:
        return np.empty((count, 0), dtype=np.float32), None
    blocks: list[Any] = []
    names: list[str] = []
    run: list[npt.NDArray[np.float32]] = []
    for column in columns.features:
        values = nodes.column(column)
        if _is_number(values.type) or pa.types.is_null(values.type):
            with np.errstate(over="ignore"):
                run.append(np.asarray(values.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float32))
            names.append(column)
            continue
        if pa.types.is_nested(values.type) or pa.types.is_binary(values.type):
            raise DataError(
                f"column {column!r} holds {values.type} values; expected numbers or text, one value per column"
            )
        one_hot, kinds = _one_hot(column, _text(values), notes)
        if one_hot is not None:
            if run:
                blocks.append(np.stack(run, axis=1))
                run = []
            blocks.append(one_hot)
            names += [f"{column}={kind}" for kind in kinds]
    if run:
        blocks.append(np.stack(run, axis=1))
    if not blocks:
        return np.empty((count, 0), dtype=np.float32), None
    joined = blocks[0] if len(blocks) == 1 else sp.hstack([sp.csr_array(block) for block in blocks], format="csr")
    return compact(joined), names


def _one_hot(column: str, values: Any, notes: list[str]) -> tuple[Any, list[str]]:
    """One sparse column per distinct text; a missing text is a row of zeros."""
    kinds = sorted(kind for kind in pc.unique(values).to_pylist() if kind.lower() not in MISSING)
    numbers = [kind for kind in kinds if is_numeric(kind)]
    if numbers and len(numbers) >= len(kinds) / 2 and len(numbers) < len(kinds):
        odd = next(kind for kind in kinds if not is_numeric(kind))
        row = pc.index(values, odd).as_py()
        raise DataError(
            f"column {column!r} holds numbers except for {len(kinds) - len(numbers)} other value(s), the first is "
            f"{odd!r} in row {row + 1}; correct them or leave the column out with --features"
        )
    if kinds and not numbers and all(LOCAL_NUMBER.fullmatch(kind) for kind in kinds):
        raise DataError(
            f"column {column!r} holds numbers in a local form such as {kinds[0]!r}; expected a decimal point and no "
            "other marks"
        )
    if len(kinds) > 32 and len(kinds) > len(values) / 2:
        notes.append(
            f"column {column!r} was left out: {len(kinds):,} different texts in {len(values):,} rows are names or "
            "prose, not categories"
        )
        return None, []
    places = pc.index_in(values, value_set=pa.array(kinds, pa.string()))
    rows = np.flatnonzero(pc.is_valid(places).to_numpy(zero_copy_only=False))
    where = np.asarray(places.drop_null().to_numpy(), dtype=np.int64)
    ones = np.ones(rows.size, dtype=np.float32)
    return sp.csr_array((ones, (rows, where)), shape=(len(values), len(kinds))), kinds


def _splits(nodes: pa.Table | None, columns: Columns) -> tuple[Split, ...]:
    if nodes is None or not columns.splits:
        return ()
    found = []
    for column in columns.splits:
        words = [word.lower() for word in _text(nodes.column(column)).to_pylist()]
        strange = next((word for word in words if word not in PARTS and word not in MISSING), None)
        if strange is not None:
            raise DataError(f"split column {column!r} holds {strange!r}; expected train, val, test or nothing")
        parts = np.array([PARTS.get(word, "") for word in words])
        try:
            found.append(Split(**{role: np.flatnonzero(parts == role) for role in ("train", "val", "test")}))
        except DataError as error:
            raise DataError(f"split column {column!r}: {error}") from error
    return tuple(found)


def _unless_counting(names: list[str] | None) -> list[str] | None:
    """Names that only count 0, 1, 2, ... say nothing that positions do not."""
    if names is None or all(name == str(place) for place, name in enumerate(names)):
        return None
    return names


def _is_number(kind: Any) -> bool:
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_decimal(kind)
    )


def _is_whole(text: str) -> bool:
    return re.fullmatch(r"-?(0|[1-9]\d*)", text) is not None
