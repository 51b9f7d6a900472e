"""The users' own graphs: a table of edges and a table of nodes become a `Graph`.

Ids and labels are compared as text, to the letter. What the other columns hold is guessed or said
(`preparation.roles`), and encoded (`preparation.encoders`). What had to be decided is written into the graph's notes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from gpcn.core.errors import DataError, Option
from gpcn.core.types import SparseMatrix
from gpcn.data.tables import edge_columns
from gpcn.data.tables.columns import Columns
from gpcn.data.tables.edge_ends import Ends, SourceTable, read_ends
from gpcn.data.tables.feature_storage import compact_features
from gpcn.data.tables.node_labels import read_label_column
from gpcn.graph import Graph, Split
from gpcn.graph.validation import edges_to_adjacency
from gpcn.preparation import structure, values
from gpcn.preparation.misfits import MisfitError
from gpcn.preparation.preparation import Preparation
from gpcn.preparation.scalar_encoders import Dates, date_note
from gpcn.preparation.values import MISSING
from gpcn.tasks.metric_choice import default_metric

PARTS = {
    "train": ("train", "training"),
    "val": ("val", "valid", "validation", "dev", "development"),
    "test": ("test", "testing", "eval", "evaluation", "holdout"),
    "calibration": ("calibration", "calibrate", "cal"),
}
SAID = ("category", "text", "drop")  # what a user can say of a column that does not hold what it seemed to
PART_OF = {word: code for code, words in enumerate(PARTS.values(), start=1) for word in words}


@dataclass(frozen=True, kw_only=True)
class GraphOutline:
    """A graph before its tables are read.

    Args:
        name: what to call it.
        metric: how predictions are judged (default: what suits its labels).
        require_labels: whether a graph without any label is refused.
        preparation: what makes its features; `None` fits one.
        feature_names: of features that `preparation` made before they came into the tables.
        notes: what was decided so far.
    """

    name: str
    metric: str | None = None
    require_labels: bool = True
    preparation: Preparation | None = None
    feature_names: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()

    @property
    def earlier(self) -> Preparation | None:
        """What made the features of an earlier graph and is to make these: labels, splits and columns may be odd."""
        return self.preparation if self.feature_names is None else None


def assemble_graph(edges: SourceTable, nodes: SourceTable | None, columns: Columns, outline: GraphOutline) -> Graph:
    """Return the graph of two tables with settled `columns`; without `nodes`, every id among the edges is a node."""
    notes = list(outline.notes)
    ends, nodes = read_ends(edges, nodes, columns, notes)
    links = _links(edges, ends, columns, outline.earlier, notes)
    lenient = outline.earlier is not None
    count = len(ends.ids)
    labels, label_names = read_label_column(nodes, columns, count, outline.require_labels, notes, lenient=lenient)
    if outline.feature_names is not None:
        features, preparation, names = _as_they_are(nodes, columns), outline.preparation, outline.feature_names
    else:
        of_links = _link_columns(edges, ends, columns, links, outline.earlier, notes)
        of_nodes = _node_columns(nodes, columns)
        _refuse_shared_names(of_nodes, of_links, nodes)
        table = of_nodes | of_links
        features, preparation = _prepared(table, nodes, columns, count, outline.earlier, label_names, notes)
        names = tuple(preparation.feature_names)
    metric, why = (outline.metric, None) if outline.metric else default_metric(labels, label_names)
    return Graph(
        adjacency=links.adjacency,
        relations=links.relations,
        features=features,
        feature_names=names or None,
        labels=labels,
        label_names=_unless_counting(label_names),
        splits=_splits(nodes, columns, lenient=lenient),
        name=outline.name,
        metric=metric,
        node_ids=_unless_counting(ends.ids.to_pylist()),
        notes=(*notes, why) if why else tuple(notes),
        preparation=preparation,
    )


@dataclass(frozen=True)
class _Links:
    """All edges, and by type where they have types."""

    adjacency: SparseMatrix
    relations: dict[str, SparseMatrix]


def _links(edges: SourceTable, ends: Ends, columns: Columns, earlier: Preparation | None, notes: list[str]) -> _Links:
    weights, count = _weights(edges, columns, ends), len(ends.ids)
    adjacency = edges_to_adjacency(ends.edges, count, weights)
    distinct, problem, relations = adjacency.nnz, "", dict[str, SparseMatrix]()
    if columns.type:
        kinds = ends.of(edges.data.column(columns.type))
        fitted = [column.name for column in earlier.columns] if earlier else []
        earlier_types = edge_columns.edge_types_counted_in(fitted, columns.type)
        relations, problem = edge_columns.edge_relations(kinds, ends.edges, count, weights, earlier_types=earlier_types)
    if columns.undirected:
        add_up = weights is not None and not edge_columns.list_both_directions(relations.values() or [adjacency])
        adjacency, *matrices = (
            edge_columns.undirected_adjacency(matrix, add_up=add_up) for matrix in (adjacency, *relations.values())
        )
        relations = dict(zip(relations, matrices, strict=True))
        if add_up:
            distinct = (adjacency.nnz + np.count_nonzero(adjacency.diagonal())) // 2
        elif weights is not None:
            notes.append("every edge is listed in both directions with the same weight, and that is its weight")
    if distinct < ends.edges.shape[1]:
        how = "summed" if columns.weight else "counted once"
        notes.append(f"{ends.edges.shape[1] - distinct:,} edge(s) listed more than once were {how}")
    notes += [f"edge column {columns.type!r}: {problem}"] if problem else []
    return _Links(adjacency, relations)


def _weights(edges: SourceTable, columns: Columns, ends: Ends) -> npt.NDArray[Any] | None:
    if columns.weight is None:
        return None
    column = edges.data.column(columns.weight)
    numbers = values.column_numbers(column)
    if numbers is None:
        raise DataError(
            f"{edges.where}: the weight column {columns.weight!r} holds {column.type} values; expected numbers"
        )
    bad = np.flatnonzero(~((numbers > 0) & np.isfinite(numbers)))
    if bad.size:
        raise DataError(
            f"{edges.where}: {bad.size} weight(s) in column {columns.weight!r} are not positive, the first is "
            f"{numbers[bad[0]]} in {edges.at(int(bad[0]))}; expected numbers above 0"
        )
    return numbers if ends.rows is None else numbers[ends.rows]


def _node_columns(nodes: SourceTable | None, columns: Columns) -> dict[str, Any]:
    return {} if nodes is None else {name: nodes.data.column(name) for name in columns.features or ()}


def _link_columns(
    edges: SourceTable,
    ends: Ends,
    columns: Columns,
    links: _Links,
    earlier: Preparation | None,
    notes: list[str],
) -> dict[str, Any]:
    """What the links add to the features, as columns of numbers."""
    level = columns.structure
    if level == "none":
        return {}
    if level == "auto":
        level = "degrees" if columns.features else "full"
    directed, nodes = not columns.undirected, len(ends.ids)
    of_links = structure.degree_features(ends.edges, nodes, directed=directed)
    of_links |= structure.degree_features_by_type(links.relations, str(columns.type), directed=directed)
    fitted = None if earlier is None else {column.name for column in earlier.columns}
    for name in edges.data.column_names:
        if name in (columns.source, columns.target, columns.type):
            continue
        column = ends.of(edges.data.column(name))
        try:
            reason = edge_columns.reason_to_leave_out(name, column, fitted)
            if reason:
                use = "not used as a feature" if name == columns.weight else "not used"
                notes.append(f"edge column {name!r} is {use}: {reason}")
                continue
            of_links |= edge_columns.edge_aggregates(
                name, column, ends.edges, nodes, undirected=columns.undirected, notes=notes
            )
        except MisfitError as error:
            row = error.row if ends.rows is None else int(ends.rows[error.row])
            raise DataError(
                f"{edges.where}, {edges.at(row)}: column {name!r} holds {error.cell!r}; expected {error.expected}"
                f"{', as in training; correct it' if fitted else '; correct it, or leave the column out of the table'}"
            ) from error
    if level == "full":
        of_links |= structure.link_structure_features(links.adjacency, directed=directed)
    return {name: pa.array(column, from_pandas=True) for name, column in of_links.items()}


def _refuse_shared_names(of_nodes: Mapping[str, Any], of_links: Mapping[str, Any], nodes: SourceTable | None) -> None:
    shared = [name for name in of_nodes if name in of_links]
    if nodes is not None and shared:
        raise DataError(
            f"{nodes.where}: {len(shared)} column(s) are called like features that are made of the links, the first is "
            f"{shared[0]!r}; expected names of their own, so rename them, or use "
            f"{Option('structure', 'none')} to keep these alone"
        )


def _prepared(
    table: dict[str, Any],
    nodes: SourceTable | None,
    columns: Columns,
    count: int,
    preparation: Preparation | None,
    label_names: list[str] | None,
    notes: list[str],
) -> tuple[Any, Preparation]:
    """Features, and the preparation that made them: the one given, or one that is fitted."""
    of_nodes, fitted_here = set(columns.features or ()), preparation is None
    try:
        _refuse_infinite(table, nodes)
        if preparation is None:
            reading = asdict(columns) | {"classes": label_names}
            declared = dict(columns.roles) | {name: "number" for name in table if name not in of_nodes}
            preparation = Preparation.fit(table, declared=declared, scale=columns.scale, reading=reading)
            matrix, _ = preparation.transform(table, count)
        else:
            matrix, surprises = preparation.transform(table, count)
            notes += surprises
    except MisfitError as error:
        where = f"{nodes.where}, {nodes.at(error.row)}" if nodes else f"row {error.row + 1}"
        raise DataError(
            f"{where}: column {error.column!r} holds {error.cell!r}; expected {error.expected}; correct it, or say "
            f"what the column holds with {' or '.join(f'{Option(role, error.column)}' for role in SAID)}"
        ) from error
    except DataError as error:
        raise DataError(f"{nodes.where}: {error}" if nodes else f"{error}") from error
    notes += [
        f"column {column.name!r} was left out: {column.reason}"
        for column in preparation.columns
        if fitted_here and column.encoder is None and column.role != "drop" and column.name in of_nodes
    ]
    notes += [
        date_note(column.name, column.encoder.format, column.encoder.also)
        for column in preparation.columns
        if fitted_here and isinstance(column.encoder, Dates) and column.encoder.also
    ]
    return compact_features(matrix), preparation


def _refuse_infinite(table: dict[str, Any], nodes: SourceTable | None) -> None:
    for name, column in table.items():
        if not pa.types.is_floating(column.type):
            continue
        infinite = pc.is_inf(column)
        if pc.any(infinite).as_py():
            row = int(pc.index(infinite, True).as_py())
            where = nodes.at(row) if nodes else f"row {row + 1}"
            raise DataError(f"column {name!r} holds an infinite number in {where}; correct it or leave the column out")


def _as_they_are(nodes: SourceTable | None, columns: Columns) -> Any:
    """Numbers that an earlier preparation made."""
    if nodes is None or not columns.features:
        return np.empty((0 if nodes is None else nodes.data.num_rows, 0), dtype=np.float32)
    run = []
    for name in columns.features:
        numbers = values.column_numbers(nodes.data.column(name))
        if numbers is None:
            raise DataError(f"{nodes.where}: column {name!r} does not hold numbers; delete graph.json to read it anew")
        with np.errstate(over="ignore"):
            run.append(numbers.astype(np.float32))
    return compact_features(np.stack(run, axis=1))


def _splits(nodes: SourceTable | None, columns: Columns, *, lenient: bool) -> tuple[Split, ...]:
    if nodes is None or not columns.splits:
        return ()
    try:
        return _read_splits(nodes, columns.splits)
    except DataError:
        if not lenient:
            raise
        return ()


def _read_splits(nodes: SourceTable, names: tuple[str, ...]) -> tuple[Split, ...]:
    splits = []
    for column in names:
        words = pc.utf8_lower(values.column_texts(nodes.data.column(column)))
        strange = [word for word in pc.unique(words).to_pylist() if word not in PART_OF and word not in MISSING]
        if strange:
            row = int(pc.index(words, strange[0]).as_py())
            raise DataError(
                f"{nodes.where}: split column {column!r} holds {strange[0]!r} in {nodes.at(row)}; expected train, val, "
                "test, calibration or nothing"
            )
        splits.append(Split.from_codes(np.array([PART_OF.get(word, 0) for word in words.to_pylist()], np.uint8)))
    return tuple(splits)


def _unless_counting(names: list[str] | None) -> list[str] | None:
    """Names that only count 0, 1, 2, ... say nothing that positions do not."""
    if names is None or all(name == str(position) for position, name in enumerate(names)):
        return None
    return names
