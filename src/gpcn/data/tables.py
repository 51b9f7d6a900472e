"""The users' own graphs: a table of edges and a table of nodes become a `Graph`.

Ids and labels are compared as text, to the letter. Numbers and booleans become features as they are, text columns
become one column per value (`colour=red`). What had to be decided is written into the graph's notes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from gpcn.data.features import compact
from gpcn.errors import DataError
from gpcn.graph import UNKNOWN, Graph, IntVector, Split, edges_to_adjacency

SOURCES = ("source", "src", "from", "source_id", "u")
TARGETS = ("target", "dst", "to", "target_id", "destination", "v")
IDS = ("id", "node_id", "node", "nodeid", "name")
LABELS = ("label", "class", "y", "category")
WEIGHTS = ("weight",)
SPLIT_NAME = re.compile(r"split([_-]?\d+)?", re.IGNORECASE)
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none"})
PARTS = {"train": "train", "val": "val", "valid": "val", "validation": "val", "test": "test"}


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Which column is what; `None` means: find it by its usual names. `undirected` mirrors every edge."""

    source: str | None = None
    target: str | None = None
    weight: str | None = None
    id: str | None = None
    label: str | None = None
    features: tuple[str, ...] | None = None
    splits: tuple[str, ...] | None = None
    undirected: bool = False

    def in_edges(self, names: Sequence[str], where: str) -> Columns:
        """The same with `source`, `target` and `weight` settled for a table with these columns."""
        source = _find(names, self.source, SOURCES, where, "--source")
        target = _find(names, self.target, TARGETS, where, "--target")
        if source is None and target is None and len(names) >= 2:
            source, target = names[0], names[1]
        if source is None or target is None or source == target:
            raise DataError(
                f"{where}: cannot tell which columns hold the ends of an edge among {_listed(names)}; "
                "name them with --source and --target"
            )
        return replace(self, source=source, target=target, weight=_find(names, self.weight, WEIGHTS, where, "--weight"))

    def in_nodes(self, names: Sequence[str], where: str) -> Columns:
        """The same with `id`, `label`, `splits` and `features` settled for a table with these columns."""
        identity = _find(names, self.id, IDS, where, "--id") or names[0]
        label = _find([name for name in names if name != identity], self.label, LABELS, where, "--label")
        splits = self.splits or tuple(name for name in names if SPLIT_NAME.fullmatch(name))
        features = self.features
        if features is None:
            features = tuple(name for name in names if name not in (identity, label, *splits))
        for name in (*splits, *features):
            if name not in names:
                raise DataError(f"{where} has no column {name!r}; it has {_listed(names)}")
        return replace(self, id=identity, label=label, splits=splits, features=features)


def assemble(edges: pa.Table, nodes: pa.Table | None, columns: Columns, *, name: str, require_labels: bool) -> Graph:
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
    labels, label_names = _labels(nodes, columns, len(ids), require_labels, name)
    features, feature_names = _features(nodes, columns, len(ids), notes)
    return Graph(
        adjacency=adjacency,
        features=features,
        labels=labels,
        splits=_splits(nodes, columns),
        name=name,
        node_ids=_unless_counting(ids.to_pylist()),
        label_names=_unless_counting(label_names),
        feature_names=feature_names,
        notes=tuple(notes),
    )


def _text(column: Any) -> Any:
    flat = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return pc.utf8_trim_whitespace(flat.cast(pa.string()).fill_null(""))


def _check_ids(ids: Any, column: str) -> None:
    empty = np.flatnonzero(pc.equal(ids, "").to_numpy(zero_copy_only=False))
    if empty.size:
        raise DataError(f"{empty.size} node(s) have no id in column {column!r}, the first is row {empty[0]}")
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
            f"{ends[int(rows[0])].as_py()!r} in row {rows[0]}; add the node or drop the edge"
        )
    return np.asarray(found.to_numpy(), dtype=np.int64)


def _weights(edges: pa.Table, columns: Columns) -> npt.NDArray[Any] | None:
    if columns.weight is None:
        return None
    values = edges.column(columns.weight)
    if not _is_number(values.type):
        raise DataError(f"the weight column {columns.weight!r} holds {values.type} values; expected numbers")
    return np.asarray(values.cast(pa.float64()).to_numpy())


def _labels(
    nodes: pa.Table | None, columns: Columns, count: int, required: bool, where: str
) -> tuple[IntVector, list[str] | None]:
    labels = np.full(count, UNKNOWN, dtype=np.int64)
    names: list[str] = []
    if nodes is not None and columns.label is not None:
        values = _text(nodes.column(columns.label))
        distinct = [value for value in pc.unique(values).to_pylist() if value.lower() not in MISSING]
        numeric = all(_is_whole(value) for value in distinct)
        names = sorted(distinct, key=int) if numeric else sorted(distinct)
        if numeric and names and names[0] == str(UNKNOWN):
            names = names[1:]
        if names:
            places = pc.index_in(values, value_set=pa.array(names, pa.string())).fill_null(UNKNOWN)
            labels = np.asarray(places.to_numpy(zero_copy_only=False), dtype=np.int64)
    if not names and required:
        how = f"every value of column {columns.label!r} is missing" if columns.label else "no column holds the labels"
        raise DataError(f"{where} has no labels: {how}; expected a label for some nodes, name the column with --label")
    return labels, names or None


def _features(nodes: pa.Table | None, columns: Columns, count: int, notes: list[str]) -> tuple[Any, list[str] | None]:
    if nodes is None or not columns.features:
        return np.empty((count, 0), dtype=np.float32), None
    blocks: list[Any] = []
    names: list[str] = []
    run: list[npt.NDArray[np.float32]] = []
    for column in columns.features:
        values = nodes.column(column)
        if _is_number(values.type) or pa.types.is_null(values.type):
            run.append(np.asarray(values.cast(pa.float64()).to_numpy(), dtype=np.float64).astype(np.float32))
            names.append(column)
            continue
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
    numbers = [kind for kind in kinds if _is_numeric(kind)]
    if numbers and len(numbers) >= len(kinds) / 2 and len(numbers) < len(kinds):
        odd = next(kind for kind in kinds if not _is_numeric(kind))
        row = pc.index(values, odd).as_py()
        raise DataError(
            f"column {column!r} holds numbers except for {len(kinds) - len(numbers)} other value(s), the first is "
            f"{odd!r} in row {row}; correct them or leave the column out with --features"
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


def _find(names: Sequence[str], given: str | None, usual: Sequence[str], where: str, option: str) -> str | None:
    if given is not None:
        if given not in names:
            raise DataError(f"{where} has no column {given!r} ({option}); it has {_listed(names)}")
        return given
    lowered = {name.lower(): name for name in names}
    return next((lowered[name] for name in usual if name in lowered), None)


def _unless_counting(names: list[str] | None) -> list[str] | None:
    """Names that only count 0, 1, 2, ... say nothing that positions do not."""
    if names is None or all(name == str(place) for place, name in enumerate(names)):
        return None
    return names


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:12])
    return shown + (f" and {len(names) - 12} more" if len(names) > 12 else "")


def _is_number(kind: Any) -> bool:
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_decimal(kind)
    )


def _is_whole(text: str) -> bool:
    return re.fullmatch(r"-?(0|[1-9]\d*)", text) is not None


def _is_numeric(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
