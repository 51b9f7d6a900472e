"""The users' own graphs: a table of edges and a table of nodes become a `Graph`.

Ids and labels are compared as text, to the letter. What the other columns hold is guessed or said
(`preparation.roles`), and encoded (`preparation.encoders`). What had to be decided is written into the graph's notes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from gpcn.data.tables import edge_columns
from gpcn.data.tables.columns import Columns
from gpcn.data.tables.edge_ends import Ends, SourceTable, read_ends
from gpcn.data.tables.feature_storage import compact_features
from gpcn.data.tables.node_labels import read_label_column
from gpcn.errors import DataError, Option
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
PART_OF = {word: part for part, words in PARTS.items() for word in words}


def assemble_graph(
    edges: SourceTable,
    nodes: SourceTable | None,
    columns: Columns,
    *,
    name: str,
    require_labels: bool,
    metric: str | None = None,
    preparation: Preparation | None = None,
    feature_names: tuple[str, ...] | None = None,
    notes: Sequence[str] = (),
) -> Graph:
    """A graph from settled `columns` of two tables; without `nodes`, every id among the edges is a node.

    With a `preparation`, features are made as it says instead of being fitted. `feature_names` is given where the
    features in the table are prepared already. `notes` are what was decided before.
    """
    notes = list(notes)
    ends, nodes = read_ends(edges, nodes, columns, notes)
    count = len(ends.ids)
    weights = _weights(edges, columns, ends)
    adjacency = edges_to_adjacency(ends.edges, count, weights)
    distinct, problem, relations = adjacency.nnz, "", dict[str, Any]()
    if columns.type:
        kinds = ends.of(edges.data.column(columns.type))
        fitted = [column.name for column in preparation.columns] if preparation else []
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
    scored = preparation is not None and feature_names is None  # labels and splits of a table to be scored may be odd
    labels, label_names = read_label_column(nodes, columns, count, require_labels, notes, lenient=scored)
    fields: dict[str, Any] = {}
    if feature_names is not None:
        fields = {"features": _as_they_are(nodes, columns), "feature_names": feature_names, "preparation": preparation}
    else:
        of_links = _link_columns(edges, ends, columns, adjacency, relations, preparation, notes)
        of_nodes = _node_columns(nodes, columns)
        _refuse_shared_names(of_nodes, of_links, nodes)
        table = of_nodes | of_links
        fields = _prepared(table, nodes, columns, count, preparation, label_names, notes)
    if metric is None:
        metric, why = default_metric(labels, label_names)
        notes += [why] if why else []
    return Graph(
        adjacency=adjacency,
        labels=labels,
        splits=_splits(nodes, columns, lenient=scored),
        name=name,
        metric=metric,
        node_ids=_unless_counting(ends.ids.to_pylist()),
        label_names=_unless_counting(label_names),
        notes=tuple(notes),
        relations=relations,
        **fields,
    )


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
    adjacency: Any,
    relations: Mapping[str, Any],
    preparation: Preparation | None,
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
    of_links |= structure.degree_features_by_type(dict(relations), str(columns.type), directed=directed)
    fitted = None if preparation is None else {column.name for column in preparation.columns}
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
        of_links |= structure.link_structure_features(adjacency, directed=directed)
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
) -> dict[str, Any]:
    """Features, their names, and the preparation that made them."""
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
    return {
        "features": compact_features(matrix),
        "feature_names": preparation.feature_names or None,
        "preparation": preparation,
    }


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
        parts = np.array([PART_OF.get(word, "") for word in words.to_pylist()])
        try:
            splits.append(Split(**{role: np.flatnonzero(parts == role) for role in PARTS}))
        except DataError as error:
            raise DataError(f"{nodes.where}: split column {column!r}: {error}") from error
    return tuple(splits)


def _unless_counting(names: list[str] | None) -> list[str] | None:
    """Names that only count 0, 1, 2, ... say nothing that positions do not."""
    if names is None or all(name == str(position) for position, name in enumerate(names)):
        return None
    return names
