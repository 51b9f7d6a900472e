"""`TreeFitting`: boosted trees while they grow, a round at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from gpcn.nn.baselines.boosting import Boosting
from gpcn.nn.baselines.forest import Forest
from gpcn.nn.self_fitting import Fitting

if TYPE_CHECKING:
    from gpcn.nn.baselines.trees import Trees

Array = npt.NDArray[Any]


class TreeFitting(Fitting):
    """`Trees` while they grow; a round is an iteration of boosting."""

    def __init__(
        self,
        model: Trees,
        table: Array,
        nodes: Array,
        targets: Array,
        weights: Array | None,
        seed: int,
        most: int,
    ) -> None:
        self.model, self.table, self.rounds = model, table, 0
        self.boosting: Boosting | None = None  # nothing to learn where all training nodes are of one class
        self.baseline = np.zeros(1)
        if model.classes.numel() > 1:
            settings = model.settings(len(nodes)) | {"random_state": seed}
            self.boosting = Boosting(table[nodes], targets, weights, most=most, settings=settings)
            self.baseline = self.boosting.baseline
        model.keep(self.baseline, Forest.empty())
        self._raw, self._evaluated = model.raw_baseline(len(table)), 0

    def advance(self) -> None:
        """One more iteration; it is fitted when somebody looks."""
        self.rounds += 1

    def logits(self) -> Tensor:
        """Logits of all nodes, `[N, C]`."""
        if self.boosting is not None and self.rounds > self._evaluated:
            self.boosting.trees(self._evaluated, self.rounds).add_to(self._raw, self.table)
        self._evaluated = self.rounds
        return self.model.logits_of(self._raw)

    def keep(self, rounds: int) -> None:
        """The first `rounds` iterations."""
        self.model.keep(self.baseline, Forest.empty() if self.boosting is None else self.boosting.trees(0, rounds))

    def state(self) -> dict[str, Tensor]:
        """All trees grown so far, also those that nobody has looked at yet."""
        arrays = {} if self.boosting is None else self.boosting.state()
        plain = {name: array.astype(np.int64) if array.dtype.kind == "u" else array for name, array in arrays.items()}
        return {"rounds": torch.tensor(self.rounds), **{name: torch.tensor(array) for name, array in plain.items()}}

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Go on."""
        if self.boosting is not None:
            self.boosting.restore({name: value.cpu().numpy() for name, value in tensors.items() if name != "rounds"})
        self.rounds, self._evaluated = int(tensors["rounds"]), 0
        self._raw = self.model.raw_baseline(len(self.table))
