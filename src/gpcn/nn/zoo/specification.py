"""`ModelSpecification`: all that others must know of a model of the zoo."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal, TypeAlias

from gpcn.nn.base import NodeClassifier
from gpcn.nn.self_fitting import SelfFitting
from gpcn.nn.zoo.hyperparameters import Hyperparameter, Value, resolve_settings

Source: TypeAlias = Literal["features", "links", "labels"]
Settings: TypeAlias = Mapping[str, Value]
ParameterGroup: TypeAlias = Literal["coefficients", "links", "mix"]
BANK_SIZES = {"rich": 5, "sums": 4, "directions": 2, "links": 2}


@dataclass(frozen=True)
class GraphSize:
    """What decides how much a model computes: `entries` are features other than zero, `outputs` the width of logits."""

    nodes: int
    links: int
    features: int
    entries: int
    outputs: int
    directed: bool
    relations: int


@dataclass(frozen=True)
class ModelSpecification:
    """A model of the zoo.

    Args:
        name: what it is called everywhere.
        kind: its class.
        formula: its logits.
        paper: where it comes from.
        hyperparameters: what can be set, besides how it is trained.
        family: `gpcn` (the paper's), `bank` (ours on the same engine) or `baseline`.
        reads: what its logits depend on; training `labels` here means that it keeps them to predict.
        optional: of these, what a graph may lack.
        tasks: the kinds of task it can learn, where these are not all.
        on_tables: what suits graphs from tables better than the defaults.
        per_node: whether it learns a vector per node.
        learns: whether epochs change it.
        parameter_groups: by name, weights with a decay or rate of their own: `coefficients` (`theta_decay`), `links`
            (`link_decay`), and `mix`, which is never decayed (`mu_lr`).
        states_per_layer: activations of the hidden width that a training step keeps of each of its `layers`.
        activation_width: numbers per node that a training step keeps, by settings and outputs, where that is no
            multiple of the hidden width.
        exportable: whether it is a chain of products with the links.
        exact_on_parts: whether several workers, each with a part of the graph, compute exactly what one does.
        not_on_parts: settings that must be 0 for that.
    """

    name: str
    kind: type[NodeClassifier]
    formula: str
    paper: str
    hyperparameters: tuple[Hyperparameter, ...]
    _: KW_ONLY
    family: str = "baseline"
    reads: tuple[Source, ...] = ("features", "links")
    optional: tuple[Source, ...] = ()
    tasks: tuple[str, ...] | None = None
    on_tables: Settings = field(default_factory=dict)
    per_node: bool = False
    learns: bool = True
    parameter_groups: Mapping[str, ParameterGroup] = field(default_factory=dict)
    states_per_layer: int = 0
    activation_width: Callable[[Settings, int], int] | None = None
    exportable: bool = True
    exact_on_parts: bool = False
    not_on_parts: tuple[str, ...] = ()

    @property
    def needs_features(self) -> bool:
        """Whether the model cannot be trained without any."""
        return "features" in self.reads and "features" not in self.optional

    def learns_task(self, name: str) -> bool:
        """Whether the model can learn tasks of that kind."""
        return self.tasks is None or name in self.tasks

    @property
    def keeps_labels(self) -> bool:
        """Whether the model needs the training labels to predict."""
        return "labels" in self.reads

    @property
    def fits_itself(self) -> bool:
        """Whether the model is fitted round by round instead of by gradients."""
        return issubclass(self.kind, SelfFitting)

    @property
    def inductive(self) -> bool:
        """Whether the model can predict a graph of which it saw no node and knows no label."""
        return not self.per_node and (self.fits_itself or not self.keeps_labels)

    @property
    def per_node_tensors(self) -> set[str]:
        """Names of the tensors with a row per node: weights, and the training labels that a model keeps."""
        return {*self.kind.per_node_weights, "seeds"}

    def settle(self, given: Mapping[str, Any]) -> dict[str, Value]:
        """Return all hyperparameters, given ones checked, the rest by default."""
        return resolve_settings(self.hyperparameters, given, self.name)

    def epoch_work(self, size: GraphSize, settings: Settings) -> float:
        """Return the multiply-adds of an epoch, roughly."""
        if self.fits_itself:
            return float(size.nodes * min(3 * size.features + 10, 800) * max(1, size.outputs - 1))
        hidden, layers = int(settings.get("hidden", size.outputs)), int(settings.get("layers", 1))
        bank = str(settings.get("operators", ""))
        operators = 2 * max(1, size.relations) if bank == "typed" else BANK_SIZES.get(bank, 1)
        wide = int(settings.get("blocks", 1)) - 1
        if self.states_per_layer:
            wide, layers = layers, 0
        inside = size.nodes * hidden * hidden * (operators + 1) + size.links * hidden * operators
        outside = (size.links + size.nodes * hidden) * size.outputs * max(1, layers) * operators
        per_node = size.links * hidden if self.per_node else 0
        first = size.entries * hidden + size.nodes * hidden * hidden * (int(settings.get("mlp_layers", 1)) - 1)
        return 3.0 * (first + wide * inside + outside + per_node)

    def pass_work(self, size: GraphSize, settings: Settings) -> int:
        """Return the multiply-adds of one pass, by width alone: it decides how many threads serve best."""
        hidden = int(settings.get("hidden", 16))
        return size.nodes * hidden * max(hidden, size.outputs) + size.links * hidden

    def activations(self, size: GraphSize, settings: Settings) -> int:
        """Return how many numbers a training step holds at one moment, at least."""
        if self.fits_itself:
            means = int(settings.get("hops", 0)) * (2 if size.directed else 1)
            return size.nodes * size.features * (3 + means)
        if self.activation_width is not None:
            width = self.activation_width(settings, size.outputs)
        else:
            states = int(settings.get("mlp_layers", 1)) + self.states_per_layer * int(settings.get("layers", 1))
            width = int(settings.get("hidden", 0)) * states
        return size.nodes * (width + size.outputs)

    def describe(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "name": self.name,
            "family": self.family,
            "formula": self.formula,
            "paper": self.paper,
            "learns_a_vector_per_node": self.per_node,
            "hyperparameters": [setting.describe() for setting in self.hyperparameters],
        }
