"""Checkpoints of a training on several workers: two per part, so that one that all have is always there.

Every worker saves after the same epoch, in turn under two names. A kill in between leaves some workers with a newer one
than others; the one before is still with all of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gpcn.core.errors import CheckpointError
from gpcn.distributed.torch_worker_group import TorchWorkerGroup
from gpcn.training import checkpoint
from gpcn.training.loop import TrainingLoop
from gpcn.training.observers import Checkpoints

NAMES = ("checkpoint-even", "checkpoint-odd")
ABSENT = -1


class PartCheckpoints(Checkpoints):
    """The checkpoints of one worker in `folder`, which belong to `owner`, and are published.

    All workers save after the same epoch, by the clock of the first.
    """

    def __init__(
        self, folder: Path, owner: str, save_every: float, workers: TorchWorkerGroup, publish: Callable[[Path], None]
    ) -> None:
        super().__init__(folder, owner, save_every)
        self.part_folder, self.workers, self.publish = folder, workers, publish
        self._next = 0

    def is_due(self, time_is_over: bool) -> bool:
        """Whether the first worker's clock says so."""
        return bool(self.workers.total(float(self.workers.rank == 0 and time_is_over)))

    def save(self, training: TrainingLoop) -> None:
        """Keep where the training is."""
        tensors, state = training.state()
        metadata = {"state": state, "seconds": self.seconds}
        checkpoint.save(self.part_folder, NAMES[self._next], tensors, metadata, self.key)
        self._next = 1 - self._next
        self.publish(self.part_folder)

    def restore(self, training: TrainingLoop) -> float:
        """Go on from the newest that all workers have, if there is one; the seconds spent until then."""
        headers = [self._header(name) for name in NAMES]
        epochs = [ABSENT if header is None else _epoch(header) for header in headers]
        everybody = self.workers.gather_integers(epochs).tolist()
        common = set.intersection(*(set(of_worker) for of_worker in everybody)) - {ABSENT}
        if not common:
            return 0.0
        index = epochs.index(max(common))
        content = checkpoint.load(self.part_folder, NAMES[index], self.key)  # of two, only the one that is needed
        if content is None:
            raise CheckpointError(f"{self.part_folder / NAMES[index]}.json vanished; run the same command again")
        tensors, metadata = content
        training.restore(tensors, str(metadata["state"]))
        self._next = 1 - index
        return float(metadata["seconds"])

    def remove(self) -> None:
        """Take all away."""
        for name in NAMES:
            checkpoint.remove(self.part_folder, name)

    def _header(self, name: str) -> dict[str, Any] | None:
        """Return the metadata stored under `name`; a checkpoint that a kill has damaged counts as absent."""
        try:
            return checkpoint.load_metadata(self.part_folder, name, self.key)
        except CheckpointError:
            return None


def _epoch(metadata: dict[str, Any]) -> int:
    return int(json.loads(metadata["state"])["epoch"])
