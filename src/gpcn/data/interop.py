"""To and from what others hold a graph in: PyTorch Geometric `Data`, NetworkX."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from gpcn.core.errors import DataError
from gpcn.core.extras import require_library
from gpcn.core.tensors import as_array
from gpcn.core.types import UNKNOWN
from gpcn.data.tables.assembly import GraphOutline, assemble_graph
from gpcn.data.tables.columns import Columns
from gpcn.data.tables.edge_ends import SourceTable
from gpcn.data.tables.tables_out import feature_column_titles
from gpcn.graph import Graph, Split
from gpcn.graph.split import PARTS
from gpcn.graph.validation import edges_to_adjacency, narrow_edge_weights
from gpcn.preparation import values
from gpcn.preparation.preparation import Preparation
from gpcn.preparation.roles import Role

if TYPE_CHECKING:
    import networkx as nx
    from torch_geometric.data import Data, HeteroData


UNUSED_EDGE_ATTR = "edge_attr is not used; name a single number per edge edge_weight"
PREPARED = "gpcn_prepared"  # an attribute of a NetworkX graph that came from here


def to_pyg(graph: Graph) -> Data:
    """A `Data` with `x` (sparse CSR where ours is), `edge_index`, `edge_weight` where weighted, `y` and masks.

    Masks are `[N]` for one split and `[N, S]` for several.
    """
    import torch

    require_library("torch_geometric", "to_pyg")
    from torch_geometric.data import Data

    data = Data(edge_index=torch.tensor(graph.edge_index), y=torch.tensor(graph.labels), num_nodes=graph.num_nodes)
    if isinstance(graph.features, np.ndarray):
        data.x = torch.tensor(graph.features)
    else:
        ends, columns, values = (torch.tensor(getattr(graph.features, part)) for part in ("indptr", "indices", "data"))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta", UserWarning)
            data.x = torch.sparse_csr_tensor(ends, columns, values, size=graph.features.shape, check_invariants=True)
    if graph.weighted:
        data.edge_weight = torch.tensor(graph.adjacency.data)
    for part in PARTS if graph.splits else ():
        masks = np.stack([split.mask(part, graph.num_nodes) for split in graph.splits], axis=1)
        if masks.any() or part != "calibration":  # the other three are there by PyG's custom
            data[f"{part}_mask"] = torch.tensor(masks[:, 0] if masks.shape[1] == 1 else masks)
    return data


def from_pyg(data: Data | HeteroData, *, name: str = "graph", metric: str = "accuracy") -> Graph:
    """A graph from a `Data`; `x` (dense or sparse), `edge_weight`, `y` and masks (`[N]` or `[N, S]`) are optional.

    A `HeteroData` with one type of nodes and several of edges becomes a graph with `relations`.
    """
    if hasattr(data, "edge_types"):
        return _from_hetero(data, name, metric)
    if data.edge_index is None or data.num_nodes is None:
        raise DataError("the Data has no edge_index; expected one of shape [2, E]")
    nodes = int(data.num_nodes)
    notes = (UNUSED_EDGE_ATTR,) if "edge_attr" in data else ()
    return _graph_of_store(data, nodes, _links(data, nodes), {}, name=name, metric=metric, notes=notes)


def _from_hetero(data: HeteroData, name: str, metric: str) -> Graph:
    if len(data.node_types) != 1:
        raise DataError(
            f"the HeteroData has {len(data.node_types)} types of nodes ({', '.join(map(str, data.node_types))}); "
            "expected one, with any number of types of edges"
        )
    store = data[data.node_types[0]]
    if store.num_nodes is None:
        raise DataError("the HeteroData does not say how many nodes it has; expected x, y or num_nodes")
    nodes = int(store.num_nodes)
    relations = {kind[1]: _links(data[kind], nodes) for kind in data.edge_types}
    if not relations:
        raise DataError("the HeteroData has no edges; expected at least one type of them")
    union = sum(relations.values(), start=sp.csr_array((nodes, nodes), dtype=np.float32))
    if all((matrix.data == 1).all() for matrix in relations.values()):
        union.data[:] = 1
    several = relations if len(relations) > 1 else {}
    notes = (UNUSED_EDGE_ATTR,) if any("edge_attr" in data[kind] for kind in data.edge_types) else ()
    return _graph_of_store(store, nodes, union, several, name=name, metric=metric, notes=notes)


def _links(store: Any, nodes: int) -> Any:
    ends, weight = as_array(store.edge_index), store.get("edge_weight") if hasattr(store, "get") else None
    if weight is None:
        return edges_to_adjacency(ends, nodes)
    weights = narrow_edge_weights(as_array(weight))
    links, bad = edges_to_adjacency(ends, nodes, weights), np.flatnonzero(~(weights > 0))
    if bad.size:
        raise DataError(
            f"{bad.size} value(s) of edge_weight are not positive, the first is {weights[bad[0]]} on edge {bad[0]}: "
            f"{ends[0, bad[0]]} -> {ends[1, bad[0]]}; every edge needs a weight above 0, so leave edges of weight 0 out"
        )
    return links


def _graph_of_store(
    store: Any, nodes: int, links: Any, relations: dict[str, Any], *, name: str, metric: str, notes: tuple[str, ...]
) -> Graph:
    """Return the graph with what a store says of its nodes."""
    return Graph(
        adjacency=links,
        relations=relations,
        features=_features(store.get("x"), nodes),
        labels=_labels(store.get("y"), nodes),
        splits=_splits(store, nodes),
        name=name,
        metric=metric,
        notes=notes,
    )


def _labels(y: Any, nodes: int) -> Any:
    if y is None:
        return np.full(nodes, UNKNOWN)
    if tuple(y.shape) not in ((nodes,), (nodes, 1)):
        raise DataError(
            f"y has shape {list(y.shape)}; expected [{nodes}] or [{nodes}, 1], the number of one class per node (of "
            "one-hot rows, y.argmax(dim=1))"
        )
    return as_array(y).reshape(-1)


def to_networkx(graph: Graph) -> nx.Graph:
    """A `DiGraph` or `Graph` with node attributes `label`, `split_0`, ... and every feature under its name."""
    require_library("networkx", "to_networkx")
    import networkx as nx

    ids = graph.node_ids or [str(number) for number in range(graph.num_nodes)]
    names = feature_column_titles(graph)
    dense = graph.features if isinstance(graph.features, np.ndarray) else graph.features.toarray()
    result: nx.Graph = nx.DiGraph() if graph.directed else nx.Graph()
    result.graph[PREPARED] = True
    parts = [split.names(graph.num_nodes) for split in graph.splits]
    for node, identity in enumerate(ids):
        attributes: dict[str, Any] = dict(zip(names, dense[node].tolist(), strict=True))
        if graph.labels[node] != UNKNOWN:
            label = int(graph.labels[node])
            attributes["label"] = graph.label_names[label] if graph.label_names else str(label)
        attributes |= {f"split_{number}": part[node] for number, part in enumerate(parts) if part[node]}
        result.add_node(identity, **attributes)
    entries = graph.adjacency.tocoo()
    for source, target, value in zip(entries.row, entries.col, entries.data.tolist(), strict=True):
        result.add_edge(ids[source], ids[target], **({"weight": value} if graph.weighted else {}))
    return result


def from_networkx(
    graph: nx.Graph,
    columns: Columns | None = None,
    *,
    name: str = "graph",
    require_labels: bool = True,
    preparation: Preparation | None = None,
    **named: Any,
) -> Graph:
    """Return a graph from NetworkX, its node and edge attributes read like the columns of tables.

    `named` are fields of `Columns`, such as `label="role"`.
    """
    outline = GraphOutline(name=name, require_labels=require_labels, preparation=preparation)
    return graph_of_networkx(graph, _columns(columns, named), outline)


def graph_of_networkx(graph: nx.Graph, columns: Columns, outline: GraphOutline) -> Graph:
    """Return the graph of `outline` with the nodes, links and attributes of one of NetworkX."""
    name = outline.name
    if graph.number_of_nodes() == 0:
        raise DataError(f"{name} has no nodes; expected at least one")
    nodes = _attributes([attributes for _, attributes in graph.nodes(data=True)], "node", name)
    edges = _attributes([attributes for _, _, attributes in graph.edges(data=True)], "edge", name)
    identity, source, target = (_unused(word, (*nodes, *edges)) for word in ("id", "source", "target"))
    nodes = {identity: pa.array([str(node) for node in graph.nodes])} | nodes
    ends = [(str(first), str(second)) for first, second in graph.edges()]
    edges = {
        source: pa.array([first for first, _ in ends], pa.string()),
        target: pa.array([second for _, second in ends], pa.string()),
    } | edges
    if graph.graph.get(PREPARED):  # attributes that to_networkx wrote are features as they are
        numeric: dict[str, Role] = {
            key: "number" for key, column in nodes.items() if values.is_number_type(column.type)
        }
        columns = replace(columns, scale="none", structure="none", roles={**numeric, **columns.roles})
    undirected = columns.undirected or not graph.is_directed()
    settled = replace(columns, id=identity, source=source, target=target, undirected=undirected)
    return _graph_of_arrow(SourceTable(pa.table(edges), name), SourceTable(pa.table(nodes), name), settled, outline)


def from_frames(
    edges: Any,
    nodes: Any = None,
    columns: Columns | None = None,
    *,
    name: str = "graph",
    require_labels: bool = True,
    preparation: Preparation | None = None,
    **named: Any,
) -> Graph:
    """Return a graph from two data frames of pandas or Polars, or Arrow tables, read as files are.

    `named` are fields of `Columns`, such as `source="payer", target="payee", id="account", label="fraud"`.
    """
    if edges is None:
        raise DataError("edges is None; expected a data frame with the two ends of every edge")
    node_table = None if nodes is None else _arrow(nodes, "nodes")
    outline = GraphOutline(name=name, require_labels=require_labels, preparation=preparation)
    return _graph_of_arrow(_arrow(edges, "edges"), node_table, _columns(columns, named), outline)


def _graph_of_arrow(edges: SourceTable, nodes: SourceTable | None, columns: Columns, outline: GraphOutline) -> Graph:
    earlier = outline.earlier
    if earlier is not None:
        columns = columns.as_read_before(earlier.reading)
    columns = columns.in_edges(edges.data.column_names, edges.where, lenient=earlier is not None)
    if nodes is not None:
        columns = columns.in_nodes(nodes.data.column_names, nodes.where, lenient=earlier is not None)
    return assemble_graph(edges, nodes, columns, outline)


def _columns(columns: Columns | None, named: dict[str, Any]) -> Columns:
    listed: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in named.items()}
    try:
        return replace(columns or Columns(), **listed)
    except TypeError as error:
        raise DataError(f"{', '.join(named)}: not all of these are fields of Columns; see gpcn.Columns") from error


def _arrow(frame: Any, what: str) -> SourceTable:
    try:
        table = frame if isinstance(frame, pa.Table) else pa.table(frame)
    except (TypeError, ValueError, pa.ArrowException) as error:
        raise DataError(
            f"{what} is of type {type(frame).__name__} and cannot be read: {error}; expected a data frame of pandas or "
            "Polars, or an Arrow table"
        ) from error
    table = table.select([name for name in table.column_names if name != "__index_level_0__"])
    for position, field in enumerate(table.schema):
        if pa.types.is_string_view(field.type) or pa.types.is_large_string(field.type):
            table = table.set_column(position, field.name, table.column(position).cast(pa.string()))
        elif pa.types.is_dictionary(field.type):
            table = table.set_column(position, field.name, table.column(position).cast(field.type.value_type))
    return SourceTable(table, what)


def _attributes(rows: list[dict[Any, Any]], what: str, where: str) -> dict[str, Any]:
    keys = list(dict.fromkeys(key for attributes in rows for key in attributes))
    if len({str(key) for key in keys}) < len(keys):
        raise DataError(f"{where}: two {what} attributes have the same name as text; rename one")
    return {str(key): _attribute([attributes.get(key) for attributes in rows], str(key), where) for key in keys}


def _unused(word: str, names: Iterable[str]) -> str:
    taken = set(names)
    while word in taken:
        word += "_"
    return word


def _attribute(cells: list[Any], key: str, where: str) -> Any:
    if any(isinstance(value, (dict, np.ndarray)) for value in cells):
        raise DataError(f"{where}: attribute {key!r} holds containers; expected numbers, texts or lists of texts")
    listed = [sorted(map(str, value)) if isinstance(value, (set, frozenset)) else value for value in cells]
    listed = [[str(item) for item in value] if isinstance(value, (list, tuple)) else value for value in listed]
    try:
        return pa.array(listed)
    except (pa.ArrowException, TypeError, OverflowError, UnicodeError):
        return pa.array([None if value is None else str(value) for value in listed])


def _features(x: Any, nodes: int) -> Any:
    import torch

    if x is None:
        return np.empty((nodes, 0), dtype=np.float32)
    if x.layout == torch.strided:
        return as_array(x)
    entries = x.detach().cpu().to_sparse_coo().coalesce()
    return sp.csr_array((as_array(entries.values()), tuple(entries.indices().numpy())), shape=tuple(x.shape))


def _splits(data: Any, nodes: int) -> tuple[Split, ...]:
    masks = {part: mask for part in PARTS if (mask := data.get(f"{part}_mask")) is not None}
    if not masks:
        return ()
    shapes = {tuple(mask.shape) for mask in masks.values()}
    if len(shapes) > 1 or next(iter(shapes))[0] != nodes:
        raise DataError(f"the masks have shapes {sorted(shapes)}; expected [{nodes}] or [{nodes}, S], all alike")
    columns = {part: as_array(mask).reshape(nodes, -1).T for part, mask in masks.items()}
    count = len(next(iter(columns.values())))
    return tuple(Split.from_masks(**{part: rows[number] for part, rows in columns.items()}) for number in range(count))
