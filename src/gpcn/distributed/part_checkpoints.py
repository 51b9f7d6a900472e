"""Checkpoints of a training on several workers: two per part, so that one that all have is always there.

Every worker saves after the same epoch, in turn under two names. A kill in between leaves some workers with a newer one
than others; the one before is still with all of them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gpcn.distributed.torch_worker_group import TorchWorkerGroup
from gpcn.errors import CheckpointError
from gpcn.training import checkpoint
from gpcn.training.loop import TrainingLoop

NAMES = ("checkpoint-even", "checkpoint-odd")
ABSENT = -1


class PartCheckpoints:
    """The checkpoints of one worker in `folder`, which belong to `owner`."""

    def __init__(self, folder: Path, owner: str, workers: TorchWorkerGroup) -> None:
        self.folder, self.owner, self.workers = folder, owner, workers
        self._next = 0

    def save(self, trainer: TrainingLoop, seconds: float) -> None:
        """Keep where `trainer` is, after `seconds` of training; all workers do so after the same epoch."""
        tensors, state = trainer.state()
        checkpoint.save(self.folder, NAMES[self._next], tensors, {"state": state, "seconds": seconds}, self.owner)
        self._next = 1 - self._next

    def restore(self, trainer: TrainingLoop) -> float:
        """Go on from the newest that all workers have, if there is one; the seconds spent until then."""
        headers = [self._header(name) for name in NAMES]
        epochs = [ABSENT if header is None else _epoch(header) for header in headers]
        everybody = self.workers.gather_integers(epochs).tolist()
        common = set.intersection(*(set(of_worker) for of_worker in everybody)) - {ABSENT}
        if not common:
            return 0.0
        index = epochs.index(max(common))
        content = checkpoint.load(self.folder, NAMES[index], self.owner)  # of two, only the one that is needed
        if content is None:
            raise CheckpointError(f"{self.folder / NAMES[index]}.json vanished; run the same command again")
        tensors, metadata = content
        trainer.restore(tensors, str(metadata["state"]))
        self._next = 1 - index
        return float(metadata["seconds"])

    def remove(self) -> None:
        """Take all away."""
        for name in NAMES:
            checkpoint.remove(self.folder, name)

    def _header(self, name: str) -> dict[str, Any] | None:
        """What is stored under `name`; what a kill has damaged counts as absent, the other one is there."""
        try:
            return checkpoint.load_metadata(self.folder, name, self.owner)
        except CheckpointError:
            return None


def _epoch(metadata: dict[str, Any]) -> int:
    return int(json.loads(metadata["state"])["epoch"])
