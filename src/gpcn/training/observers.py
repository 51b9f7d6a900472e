"""Observers of a training: how far it is, a pulse for whoever runs it, an early end, checkpoints."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path

from gpcn.training import checkpoint
from gpcn.training.loop import Observer, TrainingLoop
from gpcn.training.progress import Listener, Progress


class ReportProgress(Observer):
    """Tell `listener` how far split `number` is, at most every `between` seconds, and of the last epoch."""

    def __init__(self, number: int, listener: Listener, between: float) -> None:
        self.number, self.listener, self.between = number, listener, between
        self.last = -math.inf

    def after_epoch(self, training: TrainingLoop) -> None:
        """Tell, if it is time."""
        now = time.monotonic()
        if now - self.last > self.between or training.finished:
            self.last = now
            _, _, loss, score = training.history[-1]
            epochs = int(training.config["epochs"])
            self.listener(Progress(self.number, training.epoch, epochs, loss, score))


class Pulse(Observer):
    """Call `pulse` after every epoch; it may raise to end the training."""

    def __init__(self, pulse: Callable[[], None]) -> None:
        self.pulse = pulse

    def after_epoch(self, training: TrainingLoop) -> None:
        """Call."""
        self.pulse()


class EndAt(Observer):
    """End after `epochs`, or when the clock (`time.monotonic`) passes `until`, but then not before `least` epochs."""

    def __init__(self, epochs: int, until: float = math.inf, least: int = 0) -> None:
        self.epochs, self.until, self.least = epochs, until, least

    def finished(self, training: TrainingLoop) -> bool:
        """Whether one of both is reached."""
        late = training.epoch >= self.least and time.monotonic() >= self.until
        return training.epoch >= self.epochs or late


class Checkpoints(Observer):
    """Save a training in `folder` every `save_every` seconds, and go on from what is there, bit by bit.

    Attributes:
        spent: seconds of training before this process.
    """

    def __init__(self, folder: Path | None, key: str, save_every: float) -> None:
        self.folder, self.key, self.save_every = folder, key, save_every
        self.spent, self.start = 0.0, time.perf_counter()

    @property
    def seconds(self) -> float:
        """Seconds of training until now."""
        return self.spent + time.perf_counter() - self.start

    def begin(self, training: TrainingLoop) -> None:
        """Go on from the checkpoint, if there is one."""
        self.spent = self.restore(training)
        self.start = self.saved = time.perf_counter()

    def after_epoch(self, training: TrainingLoop) -> None:
        """Save, if it is time."""
        if self.is_due(time.perf_counter() - self.saved >= self.save_every):
            self.save(training)
            self.saved = time.perf_counter()

    def is_due(self, time_is_over: bool) -> bool:
        """Whether to save, as the clock of this process says."""
        return time_is_over and self.folder is not None

    def restore(self, training: TrainingLoop) -> float:
        """Go on from the checkpoint; the seconds that were spent until then."""
        stored = None if self.folder is None else checkpoint.load(self.folder, "checkpoint", self.key)
        if stored is None:
            return 0.0
        tensors, metadata = stored
        training.restore(tensors, str(metadata.get("state")))
        seconds = metadata.get("seconds")
        return float(seconds) if isinstance(seconds, (int, float)) and math.isfinite(seconds) else 0.0

    def save(self, training: TrainingLoop) -> None:
        """Keep where the training is."""
        if self.folder is not None:
            tensors, state = training.state()
            checkpoint.save(self.folder, "checkpoint", tensors, {"state": state, "seconds": self.seconds}, self.key)
