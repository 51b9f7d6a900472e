"""One door for every graph: a dataset's name or a path."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gpcn.core.errors import ConfigError, DataError, Option, near_matches
from gpcn.core.extras import require_library
from gpcn.core.input_files import require_regular_file, require_unicode_path
from gpcn.data import native
from gpcn.data.archives import read_npz
from gpcn.data.benchmarks import catalog, readers
from gpcn.data.benchmarks.fetch import mirror_folder
from gpcn.data.benchmarks.loading import load_dataset
from gpcn.data.interop import graph_of_networkx
from gpcn.data.object_storage import local_copy
from gpcn.data.tables import delimited
from gpcn.data.tables.assembly import GraphOutline, assemble_graph
from gpcn.data.tables.columns import Columns
from gpcn.data.tables.edge_ends import SourceTable, edge_header_note
from gpcn.data.tables.tables_out import read_table_description
from gpcn.graph import Graph
from gpcn.preparation.appended import with_structure_features
from gpcn.preparation.preparation import Preparation
from gpcn.records import layout

TABLES = delimited.ENDINGS


def load(
    source: str | Path,
    *,
    nodes: str | Path | None = None,
    columns: Columns | None = None,
    mirror: str | Path | None = None,
    require_labels: bool = True,
    preparation: Preparation | None = None,
) -> Graph:
    """The graph called or stored at `source`.

    Args:
        source: a dataset's name (see `gpcn datasets`); a folder with `edges.*` and `nodes.*`; a table of edges
            (`.csv`, `.tsv`, `.jsonl`, also compressed as `.csv.gz` or `.csv.zst`; `.parquet`); an edge list (`.txt`,
            `.edges`, `.edgelist`); `.npz`; `.graphml`. A
            dataset's name wins over a file of the same name: write `./texas` for the file.
        nodes: the table of nodes that goes with a table or list of edges.
        columns: which column is what, where the usual names do not tell.
        mirror: a folder with the raw files of the datasets.
        require_labels: whether a graph without any label is an error.
        preparation: how the tables of an earlier graph were read and encoded; these tables are treated alike, and may
            lack labels and columns.
    """
    columns = columns or Columns()
    mirror = mirror_folder(None if mirror is None else Path(mirror))
    if isinstance(source, str) and source in catalog.names():
        _refuse_options(f"the dataset {source}", nodes, columns)
        return with_structure_features(load_dataset(source, mirror=mirror), columns.structure, preparation)
    path = local_copy(source)
    try:
        for file in (path, *([] if nodes is None else [Path(nodes)])):
            require_unicode_path(file)
            require_regular_file(file)
        _check_exists(path, str(source))
        outline = GraphOutline(name=path.stem, require_labels=require_labels, preparation=preparation)
        graph = _load_path(path, None if nodes is None else Path(nodes), columns, outline)
    except OSError as error:
        raise DataError(f"cannot read {error.filename or path}: {error.strerror or error}") from error
    except DataError as error:
        named = path.name in str(error) or (nodes is not None and Path(nodes).name in str(error))
        raise error if named else DataError(f"{path}: {error}") from error
    if require_labels and graph.labelled.size == 0:
        raise DataError(f"{path} has no labels: all are -1; expected a label for some nodes")
    return graph


def _check_exists(path: Path, source: str) -> None:
    if not source:
        raise DataError("the graph's name is empty; expected a dataset or a path")
    if not path.exists():
        if path.suffix or len(path.parts) > 1:
            raise DataError(f"there is no file or folder {path}; check the path")
        raise DataError(f"{source!r} is neither a dataset nor a file; {near_matches(source, catalog.names())}")


def _refuse_options(what: str, nodes: object, columns: Columns) -> None:
    if nodes is not None or columns != Columns(structure=columns.structure):
        raise ConfigError(f"{what} has its own columns; leave out {Option('nodes')} and the options that name columns")


def _load_path(path: Path, nodes: Path | None, columns: Columns, outline: GraphOutline) -> Graph:
    if path.is_dir() and layout.kind_of(path) == "parts":
        from gpcn.data.parts.whole_graph import read_whole

        _refuse_options(str(path), nodes, columns)
        return with_structure_features(read_whole(path), columns.structure, outline.preparation)
    if path.is_dir():
        edges, own_nodes = find_pair(path)
        columns, outline = read_table_description(path, columns, replace(outline, name=path.resolve().name))
        return _load_tables(edges, nodes or own_nodes, columns, outline)
    suffix = path.suffix.lower()
    if suffix == ".npz":
        _refuse_options(str(path), nodes, columns)
        return with_structure_features(_load_npz(path), columns.structure, outline.preparation)
    if delimited.table_file_ending(path) in delimited.SUFFIXES or suffix in delimited.EDGE_LISTS:
        return _load_tables(path, nodes, columns, replace(outline, name=delimited.table_file_stem(path)))
    if suffix == ".graphml":
        return _load_graphml(path, columns, outline)
    endings = ", ".join((*TABLES, *delimited.EDGE_LISTS, ".npz", ".graphml"))
    raise DataError(f"{path} has an unknown ending {path.suffix!r}; expected a folder or one of {endings}")


def find_pair(folder: Path) -> tuple[Path, Path | None]:
    """The tables of edges and of nodes in a folder."""

    def find(stem: str) -> Path | None:
        files = [folder / f"{stem}{ending}" for ending in TABLES if (folder / f"{stem}{ending}").is_file()]
        if len(files) > 1:
            raise DataError(f"{folder} holds {files[0].name} and {files[1].name}; expected one of them")
        return files[0] if files else None

    edges = find("edges")
    if edges is None:
        raise DataError(
            f"{folder} holds no edges table; expected edges.csv, .tsv, .jsonl or .parquet, or name the file of edges "
            f"itself and the nodes with {Option('nodes')}"
        )
    return edges, find("nodes")


def _load_tables(edges: Path, nodes: Path | None, columns: Columns, outline: GraphOutline) -> Graph:
    earlier, scored = outline.earlier, outline.earlier is not None
    if earlier is not None:
        columns = columns.as_read_before(earlier.reading)
    if edges.suffix.lower() in delimited.EDGE_LISTS:
        edge_table = SourceTable(delimited.read_edge_list(edges), str(edges))
        columns = columns.in_edges(edge_table.data.column_names, str(edges), lenient=scored)
    else:
        given, names = columns, delimited.table_column_names(edges)
        columns = given.in_edges(names, str(edges), lenient=scored)
        ends = (str(columns.source), str(columns.target), *([columns.type] if columns.type else []))
        table = delimited.read_table(edges, text=ends, may_be_empty=nodes is not None)
        edge_table = SourceTable(table, str(edges), delimited.first_data_line(edges))
        if not given.names_ends(names):
            outline = replace(outline, notes=(edge_header_note(edge_table, columns),))
    node_table = None
    if nodes is not None:
        if not nodes.is_file():
            raise DataError(f"{nodes} is not a file; check {Option('nodes')}")
        names = delimited.table_column_names(nodes)
        columns = columns.in_nodes(names, str(nodes), lenient=scored)
        texts = [name for name in (columns.id, columns.label, *(columns.splits or ())) if name]
        literal = [*columns.literal_columns, *(earlier.literal_columns if earlier else ())]
        table = delimited.read_table(nodes, text=texts, literal=literal, only=(*texts, *(columns.features or ())))
        node_table = SourceTable(table, str(nodes), delimited.first_data_line(nodes))
    return assemble_graph(edge_table, node_table, columns, outline)


def _load_npz(path: Path) -> Graph:
    arrays = read_npz(path, str(path))
    if native.is_native(arrays):
        return native.from_arrays(arrays, str(path))
    if "node_features" in arrays:
        return replace(readers.heterophilous_graph(arrays, str(path), directed=True), name=path.stem)
    raise DataError(
        f"{path} holds the arrays {', '.join(sorted(arrays)) or '(none)'}; expected a file written by gpcn convert, or "
        "edges, node_features and node_labels"
    )


def _load_graphml(path: Path, columns: Columns, outline: GraphOutline) -> Graph:
    nx = require_library("networkx", "reading GraphML")
    content = path.read_bytes()
    if b"<!DOCTYPE" in content or b"<!ENTITY" in content or b"\0" in content:
        raise DataError(f"{path} defines XML entities or is not UTF-8, which is used to attack readers; remove them")
    try:
        graph = nx.read_graphml(path)
    except Exception as error:
        raise DataError(
            f"{path} is not readable GraphML: {str(error).splitlines()[0] if str(error) else error!r}"
        ) from error
    return graph_of_networkx(graph, columns, outline)
