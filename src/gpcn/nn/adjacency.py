"""`Adjacency`: a graph's links as models want them, each normalization computed once and kept.

    Ā = D̂^-1/2 (A + I) D̂^-1/2,    D̂ = row sums of A + I

is the default. A directed graph stays directed unless asked otherwise; a node without links keeps only its loop.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from gpcn.errors import ConfigError, DataError
from gpcn.graph import Graph
from gpcn.nn.operator import SparseOperator, to_scipy
from gpcn.validation import edges_to_adjacency

Normalization: TypeAlias = Literal["symmetric", "row", "column", "none"]
AdjacencyLike: TypeAlias = "Adjacency | SparseOperator | Graph | Tensor | sp.sparray"


class Adjacency:
    """The weighted links `A[i, j]` from node `i` to node `j`, and every operator made from them so far."""

    def __init__(self, matrix: Any) -> None:
        self.matrix = sp.csr_array(matrix).astype(np.float64)
        if self.matrix.shape[0] != self.matrix.shape[1]:
            raise DataError(f"the adjacency has shape {self.matrix.shape}; expected N by N")
        self._operators: dict[Any, SparseOperator] = {}

    @classmethod
    def of(cls, source: AdjacencyLike, edge_weight: Tensor | None = None, num_nodes: int | None = None) -> Adjacency:
        """From a `Graph`, an `edge_index` `[2, E]` (then `num_nodes` is needed), a sparse tensor or a SciPy matrix.

        What was made from a graph or a tensor is remembered for as long as that lives unchanged.
        """
        if isinstance(source, Adjacency):
            return source
        if isinstance(source, Graph):
            if source not in _made_from_graphs:
                _made_from_graphs[source] = cls(source.adjacency)
            return _made_from_graphs[source]
        if sp.issparse(source):
            return cls(source)
        if not isinstance(source, Tensor):
            raise ConfigError(f"cannot make an adjacency from {type(source).__name__}; expected edge_index or a matrix")
        known = _made_from.get(source)
        stamp = (source._version, num_nodes, None if edge_weight is None else (id(edge_weight), edge_weight._version))
        if known is None or known[0] != stamp:
            known = (stamp, cls(_matrix_of(source, edge_weight, num_nodes)), edge_weight)
            _made_from[source] = known
        made: Adjacency = known[1]
        return made

    @property
    def num_nodes(self) -> int:
        """`N`."""
        return int(self.matrix.shape[0])

    def operator(
        self,
        normalization: Normalization = "symmetric",
        *,
        self_loops: bool = True,
        symmetrize: bool = False,
        hops: int = 1,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> SparseOperator:
        """The normalized operator; `hops=2` links each node to those exactly two steps away (weights dropped)."""
        key = (normalization, self_loops, symmetrize, hops, dtype, torch.device(device))
        if key not in self._operators:
            matrix = self.matrix.maximum(self.matrix.T) if symmetrize else self.matrix
            if hops == 2:
                matrix = _exactly_two_steps(matrix)
            if self_loops:
                matrix = matrix + sp.eye_array(self.num_nodes, format="csr")
            made = SparseOperator.from_scipy(_normalize(sp.csr_array(matrix), normalization), dtype=dtype)
            self._operators[key] = made.to(device=device)
        return self._operators[key]

    def __repr__(self) -> str:
        return f"Adjacency({self.num_nodes:,} nodes, {self.matrix.nnz:,} links)"


_made_from: Any = WeakTensorKeyDictionary()
_made_from_graphs: WeakKeyDictionary[Graph, Adjacency] = WeakKeyDictionary()


def _matrix_of(source: Tensor, edge_weight: Tensor | None, num_nodes: int | None) -> sp.csr_array:
    if source.layout != torch.strided:
        return to_scipy(source)
    if num_nodes is None:
        raise ConfigError("an edge_index alone does not say how many nodes there are; pass num_nodes")
    ends = source.detach().cpu().numpy()
    links = edges_to_adjacency(ends, num_nodes, None if edge_weight is None else edge_weight.detach().cpu().numpy())
    if edge_weight is None or edge_weight.dtype != torch.float64:
        return links
    return sp.csr_array((edge_weight.detach().cpu().numpy(), (ends[0], ends[1])), shape=links.shape)  # all 64 bits


def _normalize(matrix: sp.csr_array, normalization: Normalization) -> sp.csr_array:
    if normalization == "none":
        return matrix
    rows = np.asarray(matrix.sum(axis=1)).ravel()
    if normalization == "symmetric":
        scale = _inverse(np.sqrt(rows))
        return sp.csr_array(sp.diags_array(scale) @ matrix @ sp.diags_array(scale))
    if normalization == "row":
        return sp.csr_array(sp.diags_array(_inverse(rows)) @ matrix)
    if normalization == "column":
        return sp.csr_array(matrix @ sp.diags_array(_inverse(np.asarray(matrix.sum(axis=0)).ravel())))
    raise ConfigError(f"normalization {normalization!r} is unknown; expected symmetric, row, column or none")


def _inverse(values: Any) -> Any:
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)


def _exactly_two_steps(matrix: sp.csr_array) -> sp.csr_array:
    one = (matrix != 0).astype(np.float64)
    near = one + sp.eye_array(matrix.shape[0], format="csr")
    two = ((one @ one) != 0).astype(np.float64)
    return sp.csr_array(two - two.multiply(near != 0))
