"""`Problem`: a graph as tensors on a device, prepared as a configuration asks, shared by all splits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from gpcn.core import machine_memory
from gpcn.core.errors import ConfigError, DataError, Option
from gpcn.graph import Graph
from gpcn.nn import Adjacency, NodeClassifier, inputs_of, zoo
from gpcn.nn.base import Features
from gpcn.nn.engine.randomness import drawing_from
from gpcn.training import memory_estimate
from gpcn.training.config import TrainConfig
from gpcn.training.worker_group import SINGLE_PROCESS, WorkerGroup


@dataclass(frozen=True)
class Structure:
    """What kinds of links a graph has, which a bank of operators is made for."""

    directed: bool
    relations: tuple[str, ...]

    @classmethod
    def of(cls, graph: Graph) -> Structure:
        """As the graph is; directed where the links of any type are."""
        directed = graph.directed or any((links != links.T).nnz for links in graph.relations.values())
        return cls(bool(directed), tuple(graph.relations))


class View(NamedTuple):
    """Features `[N, q]` and links that a model is given; of the links a direction of reading is chosen."""

    x: Features
    adjacency: Adjacency


@dataclass(frozen=True)
class Problem:
    """What training needs of a graph; models are built for links of its `structure`.

    Weights are learned from what training sees, and judged by what evaluation sees: the same view of one graph, unless
    somebody hides nodes or links from training. `graph` has its links as they are stored.
    """

    graph: Graph
    training: View
    evaluation: View
    truth: Tensor
    device: torch.device
    structure: Structure
    workers: WorkerGroup = SINGLE_PROCESS

    @classmethod
    def of(cls, graph: Graph, config: TrainConfig, device: torch.device | str = "cpu") -> Problem:
        """Prepare `graph`: its links read in the direction of `config`, its features normalized where it says so."""
        specification = zoo.specification_of(config.model)
        if not specification.learns_task(graph.task_name):
            able = [model.name for model in zoo.specifications() if model.learns_task(graph.task_name)]
            raise ConfigError(
                f"{config.model} cannot learn {graph.task_name}, which {graph.name} asks for; use another model, such "
                f"as {', '.join(able[:5])}"
            )
        graph.task.check_can_learn(graph.target.values[graph.labelled], graph.name)
        if graph.num_features == 0 and specification.needs_features:
            able = [model.name for model in zoo.specifications() if not model.needs_features]
            raise DataError(f"{graph.name} has no features, and {config.model} reads them; use {' or '.join(able)}")
        return cls.prepared(graph, config, device)

    @classmethod
    def prepared(
        cls,
        graph: Graph,
        config: TrainConfig,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
        structure: Structure | None = None,
    ) -> Problem:
        """The same without asking whether there is anything to learn, for prediction by models of a `structure`."""
        if not graph.has_sparse_features:
            size = graph.num_nodes * graph.num_features * (torch.finfo(dtype).bits // 8)
            machine_memory.require_memory(
                size * (2 if config["normalize_features"] else 1),
                f"a copy of the {graph.num_features:,} features of {graph.num_nodes:,} nodes",
                f"leave columns out with {Option('drop')} or {Option('features')}",
            )
        prepared = graph.with_row_normalized_features() if config["normalize_features"] else graph
        view = View(*inputs_of(prepared, direction=config["direction"], device=device, dtype=dtype))
        truth = torch.tensor(graph.target.values, device=device)
        return cls(prepared, view, view, truth, torch.device(device), structure or Structure.of(graph))

    @property
    def x(self) -> Features:
        """The features that evaluation sees."""
        return self.evaluation.x

    @property
    def adjacency(self) -> Adjacency:
        """The links that evaluation sees."""
        return self.evaluation.adjacency

    @property
    def has_one_view(self) -> bool:
        """Whether evaluation sees what training sees."""
        return self.training is self.evaluation

    @property
    def in_parts(self) -> bool:
        """Whether other nodes of the graph may be elsewhere."""
        return False

    @property
    def dtype(self) -> torch.dtype:
        """The type of the features."""
        return self.x.dtype

    def build(self, config: TrainConfig, generator: torch.Generator | None = None) -> NodeClassifier:
        """The model of `config` for this graph, its weights drawn from `generator`, never from the global one."""
        memory_estimate.check_training_memory(self.graph, config, self._sizes(config))
        return self._draw(config, generator)

    def _draw(self, config: TrainConfig, generator: torch.Generator | None) -> NodeClassifier:
        with drawing_from(generator or torch.Generator()):
            model = zoo.build(config.model, num_nodes=self.graph.num_nodes, **self._sizes(config))
        return model.to(self.device)

    def _sizes(self, config: TrainConfig) -> dict[str, Any]:
        sizes = {"in_channels": self.graph.num_features, "out_channels": self.graph.task.num_outputs}
        return sizes | {
            "directed": self.structure.directed,
            "relations": self.structure.relations,
            **config.hyperparameters,
        }


def choose_device(name: str) -> torch.device:
    """`auto` is the accelerator where there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name == "cuda" and not torch.cuda.is_available():
        raise ConfigError(f"there is no CUDA device here; use {Option('device', 'cpu')} or auto")
    if name not in ("cpu", "cuda"):
        raise ConfigError(f"device is {name!r}; expected auto, cpu or cuda")
    return torch.device(name)
