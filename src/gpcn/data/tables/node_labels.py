"""The column of labels: which classes there are, in which order, and which nodes have none."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gpcn.core.errors import DataError, Option
from gpcn.core.types import UNKNOWN, IntVector
from gpcn.data.tables.columns import Columns
from gpcn.data.tables.edge_ends import SourceTable
from gpcn.preparation import values

NO_LABEL = frozenset({"", "na", "n/a", "nan", "null"})
MOST_CLASSES_PER_NODE = 0.5
SUGGESTED, MOST_SUGGESTED_CLASSES, LONGEST_WORD = 3, 20, 20


def read_label_column(
    nodes: SourceTable | None,
    columns: Columns,
    count: int,
    required: bool,
    notes: list[str],
    *,
    lenient: bool = False,
) -> tuple[IntVector, list[str] | None]:
    """Class numbers, -1 where to be predicted, and the names of the classes; `lenient` takes new ones for unknown."""
    if nodes is None or columns.label is None:
        if required:
            advice = f"give the table of nodes with {Option('nodes')}" if nodes is None else _advice(nodes, columns)
            raise DataError(f"no labels: no column holds them; expected a label for some nodes, {advice}")
        return np.full(count, UNKNOWN, dtype=np.int64), None
    cells = values.plain_whole_numbers(values.column_texts(nodes.data.column(columns.label)), NO_LABEL)
    names, missing = _class_names(nodes.where, pc.unique(cells).to_pylist(), columns, lenient)
    if not names and required:
        raise DataError(
            f"{nodes.where}: no labels: every value of column {columns.label!r} is missing; expected a label for some "
            "nodes"
        )
    if len(names) > 100 and len(names) > MOST_CLASSES_PER_NODE * count:
        raise DataError(
            f"{nodes.where}: column {columns.label!r} holds {len(names):,} different labels for {count:,} nodes, no "
            f"classes; name another column with {Option('label')}"
        )
    positions = pc.index_in(cells, value_set=pa.array(names, pa.string())).fill_null(UNKNOWN)
    labels = np.asarray(positions.to_numpy(zero_copy_only=False), dtype=np.int64)
    words = sorted(word for word in missing if word)
    if words:
        absent = int(np.count_nonzero(labels == UNKNOWN))
        notes.append(f"{absent:,} node(s) are to be predicted: {' and '.join(map(repr, words))} was taken as no label")
    return labels, names or None


def _advice(nodes: SourceTable, columns: Columns) -> str:
    """Which columns could hold the labels: few different values, each several times; the fewest first."""
    candidates: list[tuple[int, str, str]] = []
    for name in nodes.data.column_names:
        cells = nodes.data.column(name)
        if name in (columns.id, *(columns.splits or ())) or pa.types.is_nested(cells.type):
            continue
        words = pc.unique(values.missing_words_as_empty(values.column_texts(cells))).to_pylist()
        words = sorted(word for word in words if word)
        if 2 <= len(words) <= min(MOST_SUGGESTED_CLASSES, len(cells) // 2):
            few = len(words) == 2 and max(map(len, words)) <= LONGEST_WORD
            candidates.append((len(words), name, " and ".join(words) if few else f"{len(words)} different values"))
    if not candidates:
        return f"name the column with {Option('label')}"
    likely = sorted(candidates, key=lambda candidate: candidate[0])[:SUGGESTED]
    return (
        f"name the column with {Option('label')}: "
        + " or ".join(f"{name!r} ({shown})" for _, name, shown in likely)
        + "?"
    )


def _class_names(where: str, distinct: list[str], columns: Columns, lenient: bool) -> tuple[list[str], list[str]]:
    """The classes in order, and the words that stand for no label."""
    if columns.classes is not None:
        strange = [value for value in distinct if value.lower() not in NO_LABEL and value not in columns.classes]
        if strange and not lenient:
            raise DataError(
                f"{where}: column {columns.label!r} holds {strange[0]!r}, which is not among the classes given"
            )
        return list(columns.classes), []
    names = [value for value in distinct if value.lower() not in NO_LABEL]
    if all(_is_whole(value) for value in names):
        names = sorted((value for value in names if value != str(UNKNOWN)), key=_size)
    else:
        names = sorted(names)
    return names, [value for value in distinct if value not in names]


def _size(whole: str) -> tuple[int, list[int]]:
    """Orders whole numbers as texts by their size, however many digits they have."""
    sign = -1 if whole.startswith("-") else 1
    return sign * len(whole.lstrip("-")), [sign * ord(digit) for digit in whole.lstrip("-")]


def _is_whole(text: str) -> bool:
    return re.fullmatch(r"-?(0|[1-9]\d*)", text) is not None
