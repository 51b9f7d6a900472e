"""Who trains together: one process that has all nodes, or workers that have some each (`gpcn.distributed`).

The protocol of training is written once and asks the group for what no worker knows alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from torch import Tensor
from torch.nn import Parameter


class WorkerGroup(Protocol):
    """What a training needs of those that have the other nodes; all of them call the same in the same order."""

    rank: int
    size: int

    def total(self, amount: float) -> float:
        """The sum of what everybody has."""

    def gather(self, rows: Tensor) -> Tensor:
        """Everybody's rows, in the order of ranks."""

    def sum_gradients(self, parameters: Iterable[Parameter]) -> None:
        """Replace every gradient by its sum over all."""


class SingleProcess:
    """One process that has all nodes."""

    rank, size = 0, 1

    def total(self, amount: float) -> float:
        """What there is."""
        return amount

    def gather(self, rows: Tensor) -> Tensor:
        """The rows."""
        return rows

    def sum_gradients(self, parameters: Iterable[Parameter]) -> None:
        """They are the sums."""


SINGLE_PROCESS = SingleProcess()
