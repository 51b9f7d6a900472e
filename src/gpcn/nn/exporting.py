"""Models that take nothing but tensors, as `torch.export` wants them.

A model reads its links through operators (`Adjacency.operator`): one, or several where it reads them in several ways.
Which ones is recorded in a call on real links; the module made of it takes their entries as tensors.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from gpcn.core.errors import ConfigError
from gpcn.nn.bank_model import BankModel
from gpcn.nn.base import Features, NodeClassifier
from gpcn.nn.engine.adjacency import Adjacency, Direction, WantedOperator
from gpcn.nn.engine.edge_matrix import edge_operator
from gpcn.nn.engine.operator import SparseOperator


class ExportableModel(nn.Module):
    """Probabilities `[N, C]`, the mean over models of the same links, from tensors alone.

    `forward(x, index_0, values_0, index_1, values_1, ...)` takes dense features `[N, q]` and for each operator where
    its entries are, `[2, E]`, and which they are, `[E]`. `torch.export.export(module, module.inputs)` makes a program
    of it.

    Args:
        models: models that read links alike, such as those of the splits of a run.
        x: features of a graph.
        adjacency: its links.
        activation: from logits to what is predicted.

    Attributes:
        inputs: what `forward` takes, for this graph.
        operators: what each operator is, in words.
    """

    def __init__(
        self,
        models: Sequence[NodeClassifier],
        x: Features,
        adjacency: Adjacency,
        activation: Callable[[Tensor], Tensor],
    ) -> None:
        super().__init__()
        self.activation = activation
        recorded = _RecordedLinks(adjacency)
        with torch.no_grad():
            for model in models:
                model.eval()(x, recorded)
        self.models = nn.ModuleList(_settled(model, x, adjacency) for model in models)
        self._wanted, self._direction = tuple(recorded.made), adjacency.direction
        entries = [_entries(operator) for operator in recorded.made.values()]
        dense = x.to_dense() if isinstance(x, SparseOperator) else x
        self.inputs: tuple[Tensor, ...] = (dense, *(tensor for pair in entries for tensor in pair))
        self.operators = tuple(_in_words(wanted) for wanted in self._wanted)

    @property
    def input_names(self) -> tuple[str, ...]:
        """The name of each input."""
        pairs = [(f"index_{number}", f"values_{number}") for number in range(len(self._wanted))]
        return ("x", *(name for pair in pairs for name in pair))

    def forward(self, x: Tensor, *operators: Tensor) -> Tensor:
        """Probabilities `[N, C]`."""
        nodes = x.shape[0]
        pairs = zip(operators[::2], operators[1::2], strict=True)
        made = {wanted: edge_operator(*pair, nodes) for wanted, pair in zip(self._wanted, pairs, strict=True)}
        links = _GivenLinks(nodes, self._direction, made)
        shares = [self.activation(model(x, links)) for model in self.models]
        return torch.stack(shares).mean(dim=0)


def export(module: ExportableModel, *, any_graph: bool) -> Any:
    """The `torch.export` program of `module`; for `any_graph` the numbers of nodes and links are free."""
    shapes: Any = None
    if any_graph:
        nodes = torch.export.Dim("nodes", min=2)
        links = [torch.export.Dim(f"links_{number}", min=2) for number in range(len(module.operators))]
        shapes = {"x": {0: nodes}}
        shapes |= {"operators": tuple(part for dim in links for part in ({1: dim}, {0: dim}))} if links else {}
    with torch.no_grad():
        program = torch.export.export(module.eval(), module.inputs, dynamic_shapes=shapes)
    program.example_inputs = None  # features and links of a graph do not belong into a file with weights
    return program


class _RecordedLinks(Adjacency):
    """Links that remember which operators they were asked for."""

    def __init__(self, adjacency: Adjacency) -> None:
        super().__init__(adjacency.matrix, adjacency.relations, direction=adjacency.direction)
        self.made: dict[WantedOperator, SparseOperator] = {}

    def _make(self, wanted: WantedOperator, dtype: torch.dtype) -> SparseOperator:
        self.made[wanted] = super()._make(wanted, dtype)
        return self.made[wanted]


class _GivenLinks(Adjacency):
    """Links of which nothing is there but the operators that were recorded."""

    def __init__(self, nodes: int, direction: Direction, made: dict[WantedOperator, SparseOperator]) -> None:
        self.nodes, self.direction, self.made = nodes, direction, made
        self._operators = {}

    @property
    def num_nodes(self) -> int:
        return self.nodes

    def _make(self, wanted: WantedOperator, dtype: torch.dtype) -> SparseOperator:
        return self.made[wanted]

    def __getattr__(self, name: str) -> Any:
        raise ConfigError(f"a model that reads links otherwise than by products ({name}) cannot be exported")


def _in_words(wanted: WantedOperator) -> str:
    normalization = wanted.normalization
    words = [f"{normalization} normalization" if normalization != "none" else "links as they are"]
    words += ["with self-loops" if wanted.self_loops else "without self-loops", f"read {wanted.direction}"]
    words += [f"of type {wanted.relation}"] if wanted.relation is not None else []
    words += ["two steps apart"] if wanted.hops == 2 else []
    return ", ".join(words)


def _settled(model: NodeClassifier, x: Features, adjacency: Adjacency) -> NodeClassifier:
    """A copy whose order of evaluation is the one for this graph: a program cannot choose one."""
    settled = copy.deepcopy(model).eval().requires_grad_(False)
    if isinstance(settled, BankModel):
        with torch.no_grad():
            bound = settled.bind(adjacency, None, x.shape[0])
            settled.order = settled.order_for(bound.operators, *settled.hidden(x, bound).shape)
    return settled


def _entries(operator: SparseOperator) -> tuple[Tensor, Tensor]:
    rows, columns, values = operator.csr.entries()
    return torch.stack([rows, columns.long()]), values.clone()
