"""`Adjacency`: a graph's links as models want them, each normalization computed once and kept.

    Ā = D̂^-1/2 (A + I) D̂^-1/2,    D̂ = row sums of A + I

is the default. A directed graph stays directed unless asked otherwise; a node without links keeps only its loop.

Direction: `A[i, j]` is the link from `i` to `j`. Reading `out`, node `i` sees what it points to (`A x`, as the paper's
code); reading `in`, what points to it (`Aᵀ x`, as PyTorch Geometric's flow from source to target); `both`, either.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar, cast
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from gpcn.core import machine_memory
from gpcn.core.errors import ConfigError, DataError
from gpcn.core.tensors import as_array
from gpcn.graph import Graph
from gpcn.graph.validation import check_sparse_matrix, edges_to_adjacency
from gpcn.nn.argument_checks import check_choice
from gpcn.nn.engine.matrix import check_constant, check_product_type, to_scipy
from gpcn.nn.engine.operator import SparseOperator

Normalization: TypeAlias = Literal["symmetric", "row", "column", "none"]
Direction: TypeAlias = Literal["out", "in", "both"]
DIRECTIONS: tuple[Direction, ...] = ("out", "in", "both")
TWO_STEP_BYTES = 48  # for each link while they are made: the product, its pattern, and both without near neighbours
SAMPLED_ROWS = 64
Floats: TypeAlias = npt.NDArray[np.float64]
Links = TypeVar("Links")
AdjacencyLike: TypeAlias = "Adjacency | SparseOperator | Graph | Tensor | sp.sparray"


class WantedOperator(NamedTuple):
    """An operator by the arguments of `Adjacency.operator`."""

    normalization: Normalization
    self_loops: bool
    direction: Direction
    relation: str | None
    hops: int


class Adjacency:
    """The weighted links `A[i, j]` from node `i` to node `j`, and every operator made from them so far.

    Args:
        matrix: `A`, `[N, N]`.
        relations: the links of each type, where there are types.
        direction: how links are read where a model does not say.
    """

    def __init__(
        self, matrix: Any, relations: Mapping[str, Any] | None = None, *, direction: Direction = "out"
    ) -> None:
        self.matrix = _square(matrix)
        self.relations = {name: _square(links) for name, links in (relations or {}).items()}
        self.direction = check_direction(direction)
        for name, links in self.relations.items():
            if links.shape != self.matrix.shape:
                raise DataError(f"links of type {name!r} have shape {links.shape}; expected {self.matrix.shape}")
        self._operators: dict[object, SparseOperator] = {}

    @classmethod
    def of(
        cls,
        source: AdjacencyLike,
        edge_weight: Tensor | None = None,
        num_nodes: int | None = None,
        edge_type: Tensor | None = None,
    ) -> Adjacency:
        """From a `Graph`, an `edge_index` `[2, E]` (then `num_nodes` is needed), a sparse tensor or a SciPy matrix.

        An `edge_index` is read as PyTorch Geometric does, a node sees what points to it; with `edge_type` `[E]` the
        links of type `t` are the relation named `"t"`. Matrices and graphs are read as `A x`.
        What was made from a graph or a tensor is remembered for as long as that lives unchanged. Links are data: an
        `edge_weight` that waits for a gradient is refused.
        """
        if edge_weight is not None:
            check_constant(edge_weight, "edge_weight")
        if isinstance(source, Adjacency):
            return source
        if isinstance(source, Graph):
            if source not in _adjacency_of_graph:
                _adjacency_of_graph[source] = cls(source.adjacency, source.relations)
            return _adjacency_of_graph[source]
        if sp.issparse(source):
            return cls(source)
        if not isinstance(source, Tensor):
            raise ConfigError(f"cannot make an adjacency from {type(source).__name__}; expected edge_index or a matrix")
        cached = _adjacency_of_tensor.get(source)
        stamp = (source._version, num_nodes, *(_stamp(values) for values in (edge_weight, edge_type)))
        if cached is None or cached[0] != stamp:
            cached = (stamp, cls._of_tensor(source, edge_weight, num_nodes, edge_type), edge_weight, edge_type)
            _adjacency_of_tensor[source] = cached
        adjacency: Adjacency = cached[1]
        return adjacency

    @classmethod
    def _of_tensor(
        cls, source: Tensor, edge_weight: Tensor | None, num_nodes: int | None, edge_type: Tensor | None
    ) -> Adjacency:
        if source.layout != torch.strided:
            return cls(to_scipy(source))
        if num_nodes is None:
            raise ConfigError("an edge_index alone does not say how many nodes there are; pass num_nodes")
        relations = {}
        if edge_type is not None:
            if edge_type.shape != source.shape[1:]:
                raise ConfigError(
                    f"edge_type has shape {list(edge_type.shape)}; expected [{source.shape[1]}], a type per edge"
                )
            for number in torch.unique(edge_type).tolist():
                mask = edge_type == number
                weights = None if edge_weight is None else edge_weight[mask]
                relations[str(number)] = _matrix_of(source[:, mask], weights, num_nodes)
        return cls(_matrix_of(source, edge_weight, num_nodes), relations, direction="in")

    @property
    def num_nodes(self) -> int:
        """`N`."""
        return int(self.matrix.shape[0])

    @property
    def links(self) -> sp.csr_array:
        """The links as they are read: row `i` holds those of node `i` in this direction."""
        return links_as_read(self.matrix, self.direction)

    def operator(
        self,
        normalization: Normalization = "symmetric",
        *,
        self_loops: bool = True,
        direction: Direction | None = None,
        relation: str | None = None,
        hops: int = 1,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> SparseOperator:
        """The normalized operator.

        Args:
            normalization: `symmetric`, `row`, `column` or `none`.
            self_loops: whether every node is linked to itself.
            direction: `out`, `in` or `both`; by default as these links are read.
            relation: one type of links alone.
            hops: 2 links each node to those exactly two steps away (weights dropped).
            dtype: of the result.
            device: of the result.
        """
        check_product_type(dtype, device)
        wanted = WantedOperator(normalization, self_loops, check_direction(direction or self.direction), relation, hops)
        key = (wanted, dtype, torch.device(device))
        if key not in self._operators:
            self._operators[key] = self._make(wanted, dtype).to(device=device)
        return self._operators[key]

    def _make(self, wanted: WantedOperator, dtype: torch.dtype) -> SparseOperator:
        matrix = links_as_read(links_of_type(wanted.relation, self.matrix, self.relations), wanted.direction)
        if wanted.hops == 2:
            matrix = _exactly_two_steps(matrix)
        if wanted.self_loops:
            matrix = matrix + sp.eye_array(self.num_nodes, format="csr")
        return SparseOperator.from_scipy(_normalize(sp.csr_array(matrix), wanted.normalization), dtype=dtype)

    def __repr__(self) -> str:
        return f"Adjacency({self.num_nodes:,} nodes, {self.matrix.nnz:,} links)"


_adjacency_of_tensor: Any = WeakTensorKeyDictionary()
_adjacency_of_graph: WeakKeyDictionary[Graph, Adjacency] = WeakKeyDictionary()


def check_direction(direction: str) -> Direction:
    """Return how links are read, checked."""
    return cast(Direction, check_choice("direction", direction, *DIRECTIONS))


def links_as_read(matrix: sp.csr_array, direction: Direction) -> sp.csr_array:
    """Return the links as node `i` reads them in row `i`; of two that differ in weight, `both` reads the larger."""
    if direction == "out":
        return matrix
    return sp.csr_array(matrix.T if direction == "in" else matrix.maximum(matrix.T))


def links_of_type(relation: str | None, links: Links, relations: Mapping[str, Links]) -> Links:
    """Return all `links`, or those of one type among the `relations`."""
    if relation is None:
        return links
    if relation not in relations:
        types = ", ".join(relations) or "none"
        raise ConfigError(f"there are no links of type {relation!r}; the types of this graph: {types}")
    return relations[relation]


def normalization_scales(
    normalization: Normalization, row_sums: Callable[[], Floats], column_sums: Callable[[], Floats]
) -> tuple[Floats | None, Floats | None]:
    """Return what rows and columns are multiplied with; `None` is 1."""
    if normalization == "none":
        return None, None
    if normalization == "symmetric":
        scale = _inverse(np.sqrt(row_sums()))
        return scale, scale
    if normalization == "row":
        return _inverse(row_sums()), None
    if normalization == "column":
        return None, _inverse(column_sums())
    raise ConfigError(f"normalization {normalization!r} is unknown; expected symmetric, row, column or none")


def _square(matrix: Any) -> sp.csr_array:
    check_sparse_matrix(matrix, "adjacency")
    links = sp.csr_array(matrix).astype(np.float64)
    if links.shape[0] != links.shape[1]:
        raise DataError(f"the adjacency has shape {links.shape}; expected N by N")
    return links


def _stamp(values: Tensor | None) -> tuple[int, int] | None:
    return None if values is None else (id(values), values._version)


def _matrix_of(source: Tensor, edge_weight: Tensor | None, num_nodes: int) -> sp.csr_array:
    ends, weights = as_array(source), None if edge_weight is None else as_array(edge_weight)
    links = edges_to_adjacency(ends, num_nodes, weights)
    if weights is None or weights.dtype != np.float64:
        return links
    return sp.csr_array((weights, (ends[0], ends[1])), shape=links.shape)  # all 64 bits


def _normalize(matrix: sp.csr_array, normalization: Normalization) -> sp.csr_array:
    left, right = normalization_scales(
        normalization, lambda: np.asarray(matrix.sum(axis=1)).ravel(), lambda: np.asarray(matrix.sum(axis=0)).ravel()
    )
    matrix = matrix if left is None else sp.diags_array(left) @ matrix
    return sp.csr_array(matrix if right is None else matrix @ sp.diags_array(right))


def _check_two_steps(links: sp.csr_array) -> None:
    """Refuse links between nodes two steps apart where these do not fit into memory, as in a graph with large hubs."""
    nodes, degrees = links.shape[0], np.diff(links.indptr).astype(np.float64)
    most = np.minimum(links @ degrees, nodes)  # two-step neighbours of each node, at most
    entries = float(most.sum())
    limit = machine_memory.available_memory()
    if limit is None or entries * TWO_STEP_BYTES <= limit:
        return
    sample = np.random.default_rng(0).choice(nodes, size=SAMPLED_ROWS, p=most / entries)  # a few rows may hold it all
    share = float(np.mean([(links[[row]] @ links).nnz / most[row] for row in sample]))
    machine_memory.require_memory(
        share * entries * TWO_STEP_BYTES,
        f"the graph of neighbours two steps away ({nodes:,} nodes, about {share * entries:,.0f} links)",
        "use a model that reads one step at a time, such as gpcn or gcn",
    )


def _inverse(values: Floats) -> Floats:
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)


def _exactly_two_steps(matrix: sp.csr_array) -> sp.csr_array:
    one = (matrix != 0).astype(np.float64)
    _check_two_steps(one)
    near = one + sp.eye_array(matrix.shape[0], format="csr")
    two = ((one @ one) != 0).astype(np.float64)
    return sp.csr_array(two - two.multiply(near != 0))
