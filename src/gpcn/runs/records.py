"""Records of a run, as its JSON file holds them."""

from __future__ import annotations

from msgspec import Struct

from gpcn.data.graph_record import GraphRecord
from gpcn.nn.zoo.hyperparameters import Value
from gpcn.training.config import TrainConfig


class ConfigRecord(Struct, frozen=True):
    """A whole configuration: no field may be missing, which `TrainConfig` has defaults for."""

    model: str
    hyperparameters: dict[str, Value]
    training: dict[str, Value]
    seed: int

    @classmethod
    def of(cls, config: TrainConfig) -> ConfigRecord:
        """Return `config` as plain data."""
        return cls(config.model, dict(config.hyperparameters), dict(config.training), config.seed)

    def settled(self) -> TrainConfig:
        """Return the configuration, checked."""
        return TrainConfig(
            model=self.model, hyperparameters=self.hyperparameters, training=self.training, seed=self.seed
        )


class RunRecord(Struct, frozen=True):
    """`config.json`: configuration, graph, and the checksums of the files beside it."""

    config: ConfigRecord
    graph: GraphRecord
    files: dict[str, str]
