"""The seam of all models: the inputs that they accept, and the questions that they answer."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.weak import WeakTensorKeyDictionary

from gpcn.core.errors import ConfigError
from gpcn.graph import Graph
from gpcn.nn.engine.adjacency import Adjacency, AdjacencyLike, Direction, Normalization
from gpcn.nn.engine.matrix import check_constant
from gpcn.nn.engine.operator import SparseOperator

Features: TypeAlias = Tensor | SparseOperator


class NodeClassifier(nn.Module):
    """A model from features and links to one logit per node and class.

    Every model is called the same way, `model(x, adjacency)`:

    - `x`: `[N, q]`, a dense tensor, a sparse one, or a `SparseOperator`.
    - `adjacency`: an `edge_index` `[2, E]` (with `edge_weight` `[E]` as third argument where weighted), a sparse
      tensor, a SciPy matrix, a `Graph` or an `Adjacency`: then the model normalizes it as it needs, once. A
      `SparseOperator` is taken as already normalized. Along an `edge_index` features flow from source to target, as in
      PyTorch Geometric; matrices and graphs are multiplied as they are, so that node `i` reads what it points to.
      `model.direction` (`out`, `in` or `both`) overrides either.

    The result is `[N, C]`, before the softmax.
    """

    normalization: Normalization = "symmetric"
    """That of the operator which `logits` is given."""
    self_loops: bool = True
    """Whether every node is linked to itself in it."""
    direction: Direction | None = None
    per_node_weights: tuple[str, ...] = ()
    """Names of the weights that have a row per node."""

    def forward(self, x: Features, adjacency: AdjacencyLike, edge_weight: Tensor | None = None) -> Tensor:
        """Logits `[N, C]`."""
        x = as_features(x)
        operator = self.operator(adjacency, edge_weight, x.shape[0], self.normalization, self_loops=self.self_loops)
        return self.logits(x, operator)

    def logits(self, x: Features, operator: SparseOperator) -> Tensor:
        """Return logits `[N, C]` from features and the one operator of a model that has no `forward` of its own."""
        raise NotImplementedError

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        for child in self.children():
            _reset(child)

    def observe(self, labels: Tensor, train: Tensor) -> None:
        """Take the training labels before training; only models that spread labels use them."""

    def coefficients(self) -> Tensor | None:
        """The weight of each power of the adjacency, `[L + 1]`, where the model is a polynomial of it."""
        return None

    def mix(self) -> float | None:
        """`μ`, the share of convolution against direct learning from links, where the model has one."""
        return None

    @property
    def dtype(self) -> torch.dtype:
        """The type of the weights."""
        first = _first_parameter(self)
        return torch.get_default_dtype() if first is None else first.dtype

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        first = _first_parameter(self)
        return torch.device("cpu") if first is None else first.device

    def operator(
        self,
        adjacency: AdjacencyLike,
        edge_weight: Tensor | None,
        num_nodes: int,
        normalization: Normalization = "symmetric",
        **options: Any,
    ) -> SparseOperator:
        """The operator that this model multiplies with, of its own type and on its own device."""
        if isinstance(adjacency, SparseOperator):
            if tuple(adjacency.shape) != (num_nodes, num_nodes) or adjacency.dtype != self.dtype:
                raise ConfigError(
                    f"the operator is {tuple(adjacency.shape)} of {adjacency.dtype}; expected {num_nodes} by "
                    f"{num_nodes} of {self.dtype}, like the features and the model"
                )
            return adjacency
        links = Adjacency.of(adjacency, edge_weight, num_nodes)
        if links.num_nodes != num_nodes:
            raise ConfigError(f"there are features for {num_nodes} nodes but links among {links.num_nodes}")
        reading = {"direction": self.direction, "dtype": self.dtype, "device": self.device}
        return links.operator(normalization, **(reading | options))


def _first_parameter(module: nn.Module) -> nn.Parameter | None:
    """Return `next(module.parameters())`, several times as fast; every pass asks for it."""
    for parameter in module._parameters.values():
        if parameter is not None:
            return parameter
    candidates = (_first_parameter(child) for child in module._modules.values() if child is not None)
    return next((parameter for parameter in candidates if parameter is not None), None)


def _reset(module: nn.Module) -> None:
    reset = getattr(module, "reset_parameters", None)
    if callable(reset):
        reset()
        return
    for child in module.children():
        _reset(child)


def as_features(x: Any) -> Features:
    """Features ready to be multiplied: dense tensors as they are, sparse ones as operators, made once each."""
    if isinstance(x, SparseOperator) or (isinstance(x, Tensor) and x.layout == torch.strided):
        return x
    if not isinstance(x, Tensor):
        raise ConfigError(f"features are of type {type(x).__name__}; expected a tensor or a SparseOperator")
    check_constant(x, "a sparse tensor")
    cached = _operator_of_tensor.get(x)
    if cached is None or cached[0] != x._version:
        cached = (x._version, SparseOperator.from_torch(x))
        _operator_of_tensor[x] = cached
    operator: SparseOperator = cached[1]
    return operator


_operator_of_tensor: Any = WeakTensorKeyDictionary()


def inputs_of(
    graph: Graph,
    *,
    direction: Direction = "out",
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
) -> tuple[Features, Adjacency]:
    """Return the features (sparse stays sparse) and links of a `Graph`, read in that direction."""
    links = Adjacency(graph.adjacency, graph.relations, direction=direction)
    return features_as_input(graph.features, dtype, device), links


def features_as_input(features: Any, dtype: torch.dtype, device: torch.device | str = "cpu") -> Features:
    """Return features as models want them; sparse ones stay sparse."""
    if isinstance(features, np.ndarray):
        return torch.tensor(features, dtype=dtype, device=device)
    return SparseOperator.from_scipy(features, dtype=dtype).to(device=device)
