"""To and from what others hold a graph in: PyTorch Geometric `Data`, NetworkX."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from gpcn.data.columns import Columns
from gpcn.data.tables import assemble
from gpcn.data.tables_out import feature_titles
from gpcn.errors import DataError
from gpcn.graph import Graph, Split
from gpcn.types import ROLES, UNKNOWN, Metric
from gpcn.validation import edges_to_adjacency

if TYPE_CHECKING:
    import networkx as nx
    from torch_geometric.data import Data


def to_pyg(graph: Graph) -> Data:
    """A `Data` with `x` (sparse CSR where ours is), `edge_index`, `edge_weight` where weighted, `y` and masks.

    Masks are `[N]` for one split and `[N, S]` for several.
    """
    import torch
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
    for role in ROLES if graph.splits else ():
        masks = np.stack([split.mask(role, graph.num_nodes) for split in graph.splits], axis=1)
        data[f"{role}_mask"] = torch.tensor(masks[:, 0] if masks.shape[1] == 1 else masks)
    return data


def from_pyg(data: Data, *, name: str = "graph", metric: Metric = "accuracy") -> Graph:
    """A graph from a `Data`; `x` (dense or sparse), `edge_weight`, `y` and masks (`[N]` or `[N, S]`) are optional."""
    if data.edge_index is None or data.num_nodes is None:
        raise DataError("the Data has no edge_index; expected one of shape [2, E]")
    nodes = int(data.num_nodes)
    weight = data.get("edge_weight")
    labels = np.full(nodes, UNKNOWN) if data.y is None else data.y.detach().cpu().numpy().reshape(-1)
    return Graph(
        adjacency=edges_to_adjacency(
            data.edge_index.cpu().numpy(), nodes, None if weight is None else weight.detach().cpu().numpy()
        ),
        features=_features(data.x, nodes),
        labels=labels,
        splits=_splits(data, nodes),
        name=name,
        metric=metric,
    )


def to_networkx(graph: Graph) -> nx.Graph:
    """A `DiGraph` or `Graph` with node attributes `label`, `split_0`, ... and every feature under its name."""
    import networkx as nx

    ids = graph.node_ids or [str(number) for number in range(graph.num_nodes)]
    names = feature_titles(graph)
    dense = graph.features if isinstance(graph.features, np.ndarray) else graph.features.toarray()
    result: nx.Graph = nx.DiGraph() if graph.directed else nx.Graph()
    roles = [_roles(split, graph.num_nodes) for split in graph.splits]
    for place, identity in enumerate(ids):
        attributes: dict[str, Any] = dict(zip(names, dense[place].tolist(), strict=True))
        if graph.labels[place] != UNKNOWN:
            label = int(graph.labels[place])
            attributes["label"] = graph.label_names[label] if graph.label_names else str(label)
        attributes |= {f"split_{number}": role[place] for number, role in enumerate(roles) if role[place]}
        result.add_node(identity, **attributes)
    entries = graph.adjacency.tocoo()
    for source, target, value in zip(entries.row, entries.col, entries.data.tolist(), strict=True):
        result.add_edge(ids[source], ids[target], **({"weight": value} if graph.weighted else {}))
    return result


def from_networkx(
    graph: nx.Graph, columns: Columns | None = None, *, name: str = "graph", require_labels: bool = True
) -> Graph:
    """A graph from NetworkX, its node attributes read like the columns of a table of nodes."""
    if graph.number_of_nodes() == 0:
        raise DataError(f"{name} has no nodes; expected at least one")
    keys = list(dict.fromkeys(key for _, attributes in graph.nodes(data=True) for key in attributes))
    if len({str(key) for key in keys}) < len(keys):
        raise DataError(f"{name}: two attributes have the same name as text; rename one")
    identity = "id"
    while identity in keys:
        identity += "_"
    texts = [str(node) for node in graph.nodes]
    nodes = {identity: pa.array(texts)}
    for key in keys:
        nodes[str(key)] = _attribute([attributes.get(key) for _, attributes in graph.nodes(data=True)], str(key), name)
    wanted = columns or Columns()
    weight = wanted.weight or "weight"
    ends = [(str(source), str(target), attributes.get(weight)) for source, target, attributes in graph.edges(data=True)]
    edges = {
        "source": pa.array([e[0] for e in ends], pa.string()),
        "target": pa.array([e[1] for e in ends], pa.string()),
    }
    if any(end[2] is not None for end in ends):
        edges["weight"] = _attribute([end[2] for end in ends], weight, name)
    node_table, edge_table = pa.table(nodes), pa.table(edges)
    settled = Columns(
        id=identity,
        label=wanted.label,
        features=wanted.features,
        splits=wanted.splits,
        undirected=wanted.undirected or not graph.is_directed(),
    )
    settled = settled.in_edges(edge_table.column_names, name).in_nodes(node_table.column_names, name)
    return assemble(edge_table, node_table, settled, name=name, require_labels=require_labels)


def _attribute(values: list[Any], key: str, where: str) -> Any:
    if any(isinstance(value, (dict, list, tuple, set, np.ndarray)) for value in values):
        raise DataError(f"{where}: attribute {key!r} holds containers; expected numbers or texts")
    try:
        return pa.array(values)
    except (pa.ArrowException, TypeError, OverflowError, UnicodeError):
        return pa.array([None if value is None else str(value) for value in values])


def _roles(split: Split, nodes: int) -> list[str]:
    words = np.full(nodes, "", dtype="<U5")
    for role in ROLES:
        words[getattr(split, role)] = role
    return [str(word) for word in words]


def _features(x: Any, nodes: int) -> Any:
    import torch

    if x is None:
        return np.empty((nodes, 0), dtype=np.float32)
    x = x.detach().cpu()
    if x.layout == torch.strided:
        return x.float().numpy()
    csr = x.to_sparse_csr()
    parts = (csr.values().numpy(), csr.col_indices().numpy(), csr.crow_indices().numpy())
    return sp.csr_array(parts, shape=tuple(csr.shape))


def _splits(data: Data, nodes: int) -> tuple[Split, ...]:
    masks = [data.get(f"{role}_mask") for role in ROLES]
    if all(mask is None for mask in masks):
        return ()
    if any(mask is None for mask in masks):
        raise DataError("the Data has some of train_mask, val_mask and test_mask; expected all three or none")
    shapes = {tuple(mask.shape) for mask in masks}
    if len(shapes) > 1 or next(iter(shapes))[0] != nodes:
        raise DataError(f"the masks have shapes {sorted(shapes)}; expected [{nodes}] or [{nodes}, S], all alike")
    columns = [mask.cpu().numpy().reshape(nodes, -1).T for mask in masks]
    return tuple(Split.from_masks(*rows) for rows in zip(*columns, strict=True))
