"""`SelfFitting`: the seam for models that fit themselves, round by round, instead of by gradients.

What a trainer, a search, a checkpoint and a report need of such a model is small enough to be written down:

- The model is a `NodeClassifier` without parameters. All that it learns is in buffers with fixed names, whose shapes
  may grow: `load_state_dict` takes them as they were saved. A buffer with a row per node is called `seeds` (the
  training labels), so that prediction on a changed graph can move its rows.
- `begin` starts a `Fitting` on one graph and one set of training nodes. Rounds are counted from 0, which is the model
  before any of them, and are deterministic: the first `n` rounds are the same however many follow, however often the
  fitting was stopped and restored, and however many threads there are.
- A round is cheap enough that somebody may want to stop after any of them; it counts as an epoch.
- Nothing here looks at the labels of other nodes than the training ones, and nothing chooses between rounds: that is
  the trainer's.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from torch import Tensor

from gpcn.nn.base import Features, NodeClassifier
from gpcn.nn.engine.adjacency import AdjacencyLike


class Fitting(ABC):
    """A model while it is fitted to one graph. It belongs to one thread."""

    rounds: int = 0
    """The number of rounds so far."""

    @abstractmethod
    def advance(self) -> None:
        """One more round."""

    @abstractmethod
    def logits(self) -> Tensor:
        """Logits of all nodes after the rounds so far, `[N, C]`: what the model gives after `keep(rounds)`."""

    @abstractmethod
    def keep(self, rounds: int) -> None:
        """Make the model what it was after `rounds` rounds, no more than there were."""

    @abstractmethod
    def state(self) -> dict[str, Tensor]:
        """Return tensors that `restore` continues from."""

    @abstractmethod
    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Continue where `state` was taken, in a fitting begun with the same arguments.

        `ValueError` or `KeyError` where the tensors do not fit.
        """


class SelfFitting(NodeClassifier):
    """A model that fits itself; see the module for what it promises."""

    @abstractmethod
    def begin(
        self,
        x: Features,
        adjacency: AdjacencyLike,
        labels: Tensor,
        train: Tensor,
        *,
        class_weights: Tensor | None = None,
        seed: int = 0,
        most: int = 1000,
    ) -> Fitting:
        """Start to fit.

        Args:
            x: features of all nodes, `[N, q]`.
            adjacency: links, as for `forward`.
            labels: class numbers of all nodes, `[N]`; looked at in `train` only.
            train: numbers of the training nodes.
            class_weights: how much a node of each class counts, `[C]`; all the same where omitted.
            seed: decides every random draw.
            most: rounds there will be at most; work ahead needs to go no further.
        """

    @abstractmethod
    def for_others(self, count: int) -> SelfFitting:
        """Return the fitted model for a graph of `count` other nodes, none of whose labels are known."""

    @property
    def num_learned(self) -> int:
        """The count of learned numbers, where other models count their parameters."""
        return 0


def fit(
    model: SelfFitting, x: Features, adjacency: AdjacencyLike, labels: Tensor, train: Tensor, *, rounds: int = 100
) -> SelfFitting:
    """Fit `model` for a fixed number of rounds; early stopping is `training`'s."""
    fitting = model.begin(x, adjacency, labels, train)
    for _ in range(rounds):
        fitting.advance()
    fitting.keep(rounds)
    return model
