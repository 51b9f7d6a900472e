"""`Entry`: what the zoo knows of a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpcn.nn.base import NodeClassifier
from gpcn.nn.self_fitting import SelfFitting
from gpcn.nn.zoo_entries.hyperparameters import Hyperparameter, Value, resolve_settings


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A model of the zoo.

    `family` is `gpcn` (the paper's), `bank` (ours on the same engine) or `baseline`. `per_node` models learn a vector
    per node; a model that `needs_features` cannot be trained without any; one that `keeps_labels` needs the training
    labels to predict.
    """

    name: str
    kind: type[NodeClassifier]
    formula: str
    paper: str
    hyperparameters: tuple[Hyperparameter, ...]
    family: str = "baseline"
    per_node: bool = False
    needs_features: bool = True
    keeps_labels: bool = False

    @property
    def fits_itself(self) -> bool:
        """Whether the model is fitted round by round instead of by gradients."""
        return issubclass(self.kind, SelfFitting)

    @property
    def inductive(self) -> bool:
        """Whether the model can predict a graph of which it saw no node and knows no label."""
        return not self.per_node and (self.fits_itself or not self.keeps_labels)

    def settle(self, given: Mapping[str, Any]) -> dict[str, Value]:
        """All hyperparameters, given ones checked, the rest by default."""
        return resolve_settings(self.hyperparameters, given, self.name)

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
