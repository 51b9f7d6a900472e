"""What a search may try: choices by model, from the zoo."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpcn.core.errors import ConfigError, near_matches
from gpcn.nn import zoo
from gpcn.nn.zoo.hyperparameters import Hyperparameter, Value
from gpcn.training.config import TrainConfig, declared_settings
from gpcn.training.round_trainer import OF_THE_OPTIMIZER

Choices = dict[str, tuple[Value, ...]]
EPOCHS, PATIENCE = 300, 60  # of a search, where nobody says anything else
SPACES = ("default", "paper")
MOST_SHUFFLED = 1_000_000  # points; of a larger space the first that was not tried will do
BEYOND_THE_PAPER: Choices = {
    "lr": (0.005, 0.01, 0.03, 0.05),
    "weight_decay": (1e-5, 1e-4, 5e-4, 1e-3, 5e-3),
    "dropout": (0.0, 0.3, 0.5, 0.7, 0.8),
    "hidden": (64, 256),
    "mlp_layers": (1, 2, 3),
    "gamma": (2.0**-6, 2.0**-4, 2.0**-2, 1.0),
    "adaptive": ("theta", "relative"),
    "mu": (0.1, 0.5, 0.9, 0.99),
    "link_decay": (-1.0, 1e-2, 5e-2),
    "bias": (False, True),
    "direction": ("out", "both"),
    "normalize_features": (False, True),
}
"""What pays on the benchmarks: features scaled or not, edges both ways or not, and ranges that rarely diverge."""
DIRECTED: Choices = {"direction": ("out", "both", "in")}
"""What is tried besides on a directed graph."""


@dataclass(frozen=True)
class Space:
    """Choices for each of `models`, and `fixed` settings for all of them.

    A setting that several models have is one dimension where their choices agree, so that what is learned about it is
    shared; `model:setting` where they do not.
    """

    models: tuple[str, ...]
    choices: Mapping[str, Choices]
    fixed: Mapping[str, Value]

    @classmethod
    def of(
        cls,
        models: Sequence[str],
        kind: str = "default",
        *,
        fixed: Mapping[str, Any] | None = None,
        tried: Mapping[str, Sequence[Any]] | None = None,
        directed: bool = False,
    ) -> Space:
        """The space called `kind`, with settings `fixed` and other values `tried`, both checked.

        On a `directed` graph the default space reads links against their direction too.
        """
        if kind not in SPACES:
            raise ConfigError(f"there is no space called {kind!r}; expected default or paper")
        fixed, tried = fixed or {}, tried or {}
        choices: dict[str, Choices] = {}
        settled: dict[str, Value] = {}
        for model in models:
            declared = declared_settings(model)
            model_choices = _declared(declared, kind, directed)
            if zoo.specification_of(model).fits_itself:
                model_choices = {name: values for name, values in model_choices.items() if name not in OF_THE_OPTIMIZER}
            for name, values in tried.items():
                if name in declared:
                    model_choices[name] = tuple(dict.fromkeys(declared[name].check(value) for value in values))
            for name, value in fixed.items():
                if name in declared:
                    settled[name] = declared[name].check(value)
                    model_choices.pop(name, None)
            choices[model] = model_choices
        _refuse_unknown(models, [*fixed, *tried])
        return cls(tuple(models), choices, settled)

    def dimensions(self) -> Choices:
        """Every dimension with its values; `model` first where there are several."""
        dimensions: Choices = {"model": self.models} if len(self.models) > 1 else {}
        for model in self.models:
            for name, values in self.choices[model].items():
                dimensions[self._dimension(model, name)] = values
        return dimensions

    def size(self) -> int:
        """How many different configurations there are."""
        return sum(math.prod(len(values) for values in self.choices[model].values()) for model in self.models)

    def shuffled(self, seed: int) -> Iterator[dict[str, Any]]:
        """Every point once, in an order that the seed decides."""
        order = np.random.default_rng(seed).permutation(self.size()) if self.size() <= MOST_SHUFFLED else None
        for index in range(self.size()) if order is None else order:
            offset = int(index)
            for model in self.models:
                sizes = [len(values) for values in self.choices[model].values()]
                if offset < math.prod(sizes):
                    numbers = np.unravel_index(offset, sizes) if sizes else ()
                    named = zip(self.choices[model].items(), numbers, strict=True)
                    yield self.point(model, {name: values[number] for (name, values), number in named})
                    break
                offset -= math.prod(sizes)

    def config(self, point: Mapping[str, Any], *, seed: int = 0) -> TrainConfig:
        """The configuration at `point`; dimensions of other models are passed over."""
        model = str(point.get("model", self.models[0]))
        settings: dict[str, Any] = {name: point[self._dimension(model, name)] for name in self.choices[model]}
        names = declared_settings(model)
        settings |= {name: value for name, value in self.fixed.items() if name in names}
        return TrainConfig.of(model, seed=seed, **settings)

    def point(self, model: str, settings: Mapping[str, Value]) -> dict[str, Value]:
        """The point at which `model` has these settings; what is not said is the first choice."""
        point: dict[str, Value] = {"model": model} if len(self.models) > 1 else {}
        for name, values in self.dimensions().items():
            if name != "model":
                short = name.removeprefix(f"{model}:")
                point[name] = settings[short] if settings.get(short) in values else values[0]
        return point

    def _dimension(self, model: str, name: str) -> str:
        ranges = {self.choices[other][name] for other in self.models if name in self.choices[other]}
        return name if len(ranges) == 1 else f"{model}:{name}"


def models_of(name: str) -> tuple[str, ...]:
    """`family`, `all`, or one model."""
    if name == "family":
        return zoo.FAMILY
    if name == "all":
        return tuple(model.name for model in zoo.specifications() if model.learns)
    zoo.specification_of(name)
    return (name,)


def _declared(declared: Mapping[str, Hyperparameter], kind: str, directed: bool) -> Choices:
    choices = {name: setting.space for name, setting in declared.items() if setting.space}
    if kind == "default":
        wider = BEYOND_THE_PAPER | (DIRECTED if directed else {})
        choices |= {name: values for name, values in wider.items() if name in declared}
        if "mu" not in declared:
            choices.pop("link_decay", None)  # there is no W_A to decay
    return choices


def _refuse_unknown(models: Sequence[str], names: Sequence[str]) -> None:
    settings = {name for model in models for name in declared_settings(model)}
    for name in names:
        if name not in settings:
            raise ConfigError(
                f"{' and '.join(models)} have no setting {name!r}; {near_matches(name, sorted(settings))}"
            )
