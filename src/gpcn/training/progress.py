"""`Progress`: how far a training is, for whoever watches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """How far the training of a split is; loss and score are of its validation nodes."""

    split: int
    epoch: int
    epochs: int
    loss: float
    score: float


Listener = Callable[[Progress], None]
