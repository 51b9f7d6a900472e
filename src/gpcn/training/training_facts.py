"""`TrainingFacts`: what results say of a training."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TrainingFacts:
    """What a training was, besides its model: what results say of it.

    Attributes:
        epochs: how many there were.
        best_epoch: the one whose model is kept.
        seconds: how long it took.
        parameters: how many numbers were learned.
        coefficients: of the powers of the adjacency, where the model has such; `None` for one that is not finite.
        mix: the weight of the convolution against the links, where the model has both.
    """

    epochs: int
    best_epoch: int
    seconds: float
    parameters: int
    coefficients: tuple[float | None, ...] | None
    mix: float | None
