"""`TrainConfig`: all that decides a result, frozen, checked at birth, the same words everywhere."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gpcn.core.errors import ConfigError, Option
from gpcn.core.input_files import read_toml
from gpcn.nn import zoo
from gpcn.nn.engine.adjacency import DIRECTIONS
from gpcn.nn.zoo.hyperparameters import Hyperparameter, Value, resolve_settings

SEED = Hyperparameter("seed", 0, "decides every random draw", low=0, high=2**63 - 1)
TRAINING = (
    Hyperparameter("lr", 0.01, "learning rate of Adam", space=(0.01, 0.05), low=0),
    Hyperparameter("weight_decay", 1e-3, "L2 penalty on all weights", space=(0.0, 1e-5, 1e-3), low=0),
    Hyperparameter("theta_decay", -1.0, "L2 penalty on coefficients (θ, GPRGNN's γ); -1: as weight_decay", low=-1),
    Hyperparameter("link_decay", -1.0, "L2 penalty on W_A; -1: as weight_decay", low=-1),
    Hyperparameter("mu_lr", -1.0, "learning rate of μ; -1: as lr", low=-1),
    Hyperparameter("epochs", 500, "most epochs", low=2, high=10**7),
    Hyperparameter("patience", 100, "epochs without improvement before stopping", low=1, high=10**9),
    Hyperparameter("select", "loss", "what the best epoch is best in, on validation nodes", choices=("loss", "metric")),
    Hyperparameter("class_weights", False, "weigh rare classes up in the loss"),
    Hyperparameter(
        "direction",
        "out",
        "which neighbours a node reads: out (those it points to), in (those that point to it) or both; "
        "operators that name a direction, such as out-row, keep theirs",
        choices=DIRECTIONS,
    ),
    Hyperparameter("normalize_features", False, "features of a node sum to one"),
)


def declared_settings(model: str) -> dict[str, Hyperparameter]:
    """Every setting of `model` and of its training, by name."""
    return {setting.name: setting for setting in (*zoo.specification_of(model).hyperparameters, *TRAINING)}


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """A model, its hyperparameters, how it is trained, and the seed; nothing about where or how fast.

    `TrainConfig.of("gpcn", hidden=512, lr=0.05)` sorts settings into model and training; unknown names are refused.
    """

    model: str = zoo.DEFAULT
    hyperparameters: Mapping[str, Value] = field(default_factory=dict)
    training: Mapping[str, Value] = field(default_factory=dict)
    seed: int = 0

    def __post_init__(self) -> None:
        settled = zoo.specification_of(self.model).settle(self.hyperparameters)
        object.__setattr__(self, "hyperparameters", settled)
        object.__setattr__(self, "training", resolve_settings(TRAINING, self.training, "training"))
        object.__setattr__(self, "seed", SEED.check(self.seed))

    @classmethod
    def of(cls, /, model: str = zoo.DEFAULT, *, seed: Any = 0, **settings: Any) -> TrainConfig:
        """From one flat list of settings, as on the command line."""
        if not isinstance(model, str):
            raise ConfigError(f"model is {model!r}; expected a name that gpcn models lists")
        model_settings = {setting.name for setting in zoo.specification_of(model).hyperparameters}
        declared = declared_settings(model)
        for name in settings:
            if name not in declared:
                resolve_settings(tuple(declared.values()), {name: 0}, model)
        config = cls(
            model=model,
            hyperparameters={name: value for name, value in settings.items() if name in model_settings},
            training={name: value for name, value in settings.items() if name not in model_settings},
            seed=seed,
        )
        object.__setattr__(config, "_named", frozenset(settings))
        return config

    @classmethod
    def from_toml(cls, path: Path, changes: Mapping[str, Any] | None = None) -> TrainConfig:
        """From a TOML file of flat settings (`model`, `seed`, and any hyperparameter), `changes` on top."""
        settings = read_toml(path, Option("config"))
        nested = next((name for name, value in settings.items() if isinstance(value, (dict, list))), None)
        if nested is not None:
            raise ConfigError(f"{path}: {nested} is a table or list; expected flat settings such as hidden = 64")
        return cls.of(**{**settings, **(changes or {})})

    @classmethod
    def from_json(cls, payload: Any) -> TrainConfig:
        """From what `to_json` gave."""
        try:
            return cls(**{name: payload[name] for name in ("model", "hyperparameters", "training", "seed")})
        except (KeyError, TypeError, AttributeError) as error:
            raise ConfigError("the stored configuration is incomplete") from error

    def to_json(self) -> dict[str, Any]:
        """Plain data, complete: every setting with its value."""
        return {
            "model": self.model,
            "hyperparameters": dict(self.hyperparameters),
            "training": dict(self.training),
            "seed": self.seed,
        }

    @property
    def named(self) -> frozenset[str]:
        """The settings that somebody chose; others are open until a graph settles them. Where nobody knows, all are.

        It is no field: what is written of a configuration is complete.
        """
        named: frozenset[str] = self.__dict__.get("_named", frozenset(self.hyperparameters) | frozenset(self.training))
        return named

    def with_open_settings(self, settings: Mapping[str, Any]) -> TrainConfig:
        """The same, complete, with those of `settings` that nobody named."""
        changes = {name: value for name, value in settings.items() if name not in self.named}
        hyperparameters = {name: changes.get(name, value) for name, value in self.hyperparameters.items()}
        training = {name: changes.get(name, value) for name, value in self.training.items()}
        return replace(self, hyperparameters=hyperparameters, training=training)

    def __getitem__(self, name: str) -> Any:
        """One setting by name."""
        return self.hyperparameters[name] if name in self.hyperparameters else self.training[name]

    def with_epoch_rule(self, rule: str) -> TrainConfig:
        """The same with the best epoch chosen by `rule`."""
        return replace(self, training={**self.training, "select": rule})

    def differences(self, other: TrainConfig) -> list[str]:
        """What is set differently in `other`, for people."""
        before, now = _flat(self), _flat(other)
        return [
            f"{name} was {before.get(name)}, now {now.get(name)}"
            for name in sorted(before.keys() | now.keys())
            if before.get(name) != now.get(name)
        ]

    def canonical(self) -> str:
        """Return one text per configuration, of which keys are made."""
        return json.dumps(self.to_json(), sort_keys=True)


def _flat(config: TrainConfig) -> dict[str, Any]:
    return {"model": config.model, "seed": config.seed, **config.hyperparameters, **config.training}
