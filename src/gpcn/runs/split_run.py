"""One split from start or checkpoint to its files: weights, predictions, history, and last of all its result."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace
from torch import Tensor

from gpcn.core.atomic import add_folder, replacing
from gpcn.core.errors import CheckpointError, TrainingError
from gpcn.graph import Graph
from gpcn.nn.engine.memory import memory_limits
from gpcn.records import layout
from gpcn.records.sealed import file_digest, read_record, write_sealed
from gpcn.runs.results import SplitRecord, SplitResult
from gpcn.tasks.task import PartScores, Task
from gpcn.training import checkpoint
from gpcn.training.config import TrainConfig
from gpcn.training.fit import fit
from gpcn.training.loop import HISTORY, Observer
from gpcn.training.observers import Checkpoints
from gpcn.training.problem import Problem, choose_device

KEPT = (layout.MODEL, layout.PREDICTIONS, layout.EPOCHS)
"""What a finished split has beside its `result.json`, which holds their checksums."""


def split_key(config: TrainConfig, identity: str, number: int) -> str:
    """What a split's files belong to: configuration, graph (its fingerprint, in runs also its names) and number."""
    return hashlib.sha256(f"{config.canonical()}|{identity}|{number}".encode()).hexdigest()


def run_split(
    graph: Graph,
    config: TrainConfig,
    number: int,
    folder: Path | None = None,
    *,
    device: str = "cpu",
    save_every: float = 10.0,
    observers: Sequence[Observer] = (),
    identity: str | None = None,
) -> SplitResult:
    """Train split `number`, or finish it, or do nothing where it is done; its result.

    With a `folder`, progress is saved every `save_every` seconds and continued bit by bit. `identity` is what the run
    calls its graph (`Run.identity`); without a run it is the fingerprint.
    """
    key = split_key(config, identity or graph.fingerprint(), number)
    if folder is not None:
        done = read_split_record(folder, key, graph.task)
        if done is not None:
            return done.result
        add_folder(folder)
    kept = Checkpoints(folder, key, save_every)
    with memory_limits(f"{config.model} on {graph.name}"):
        problem = Problem.of(graph, config, choose_device(device))
        trainer = fit(problem, config, graph.splits[number], number, [kept, *observers])
        probabilities = graph.task.activation(trainer.best_logits().double()).cpu().numpy()
    if not np.isfinite(probabilities).all():
        raise TrainingError(f"{config.model} gives numbers that are not finite on some nodes; lower lr or gamma")
    parts = part_scores(graph, number, probabilities)
    result = SplitResult.of(number, config.seed, parts, trainer.facts(kept.seconds))
    if folder is not None:
        write_split(folder, key, dict(trainer.model.state_dict()), trainer.history, probabilities, result)
        return result
    return replace(result, probabilities=probabilities)


def read_split_record(folder: Path, key: str, task: Task) -> SplitRecord | None:
    """Return the record of a finished split, checked to belong to `key`; `None` where there is none."""
    path = folder / layout.RESULT
    if not path.exists():
        return None
    advice = f"delete {folder} to run that split again"
    record = read_record(path, SplitRecord, advice)
    if record.owner != key:
        raise CheckpointError(f"{path} belongs to another run or graph; {advice}")
    try:
        metrics = {part: task.read_scores(scores) for part, scores in record.result.metrics.items()}
    except (ValueError, OverflowError) as error:
        raise CheckpointError(f"{path} is damaged: in its metrics {error}; {advice}") from error
    return replace(record, result=replace(record.result, metrics=metrics))


def part_scores(graph: Graph, number: int, probabilities: Any) -> dict[str, PartScores]:
    """Return all measures of the parts of split `number`."""
    parts = graph.splits[number].scored()
    return {
        role: graph.task.evaluate(probabilities[nodes], graph.target.values[nodes], graph.metric)
        for role, nodes in parts.items()
    }


def write_split(
    folder: Path,
    key: str,
    weights: dict[str, Tensor],
    history: Sequence[Sequence[float]],
    probabilities: Any,
    result: SplitResult,
) -> None:
    """The files of a finished split; `history` has a row per epoch, as `HISTORY` names its columns."""
    checkpoint.save(folder, "model", weights, {}, key)
    write_predictions(folder, probabilities)
    write_epoch_history(folder, history)
    files = {name: file_digest(folder / name) for name in KEPT}
    write_sealed(folder / layout.RESULT, SplitRecord(key, files, result))  # last: from here on the split is done
    checkpoint.remove(folder, "checkpoint")


def write_predictions(folder: Path, probabilities: Any) -> None:
    """Write `[N, C]` of all nodes."""
    packed = io.BytesIO()
    np.savez_compressed(packed, probabilities=probabilities.astype(np.float32))
    with replacing(folder / layout.PREDICTIONS, new_folders=False) as stream:
        stream.write(packed.getvalue())


def write_epoch_history(folder: Path, history: Sequence[Sequence[float]]) -> None:
    """A row per epoch, as `HISTORY` names its columns."""
    rows = "\n".join(
        ",".join(f"{value:g}" if i == 0 else repr(value) for i, value in enumerate(row)) for row in history
    )
    with replacing(folder / layout.EPOCHS, new_folders=False) as stream:
        stream.write((",".join(HISTORY) + "\n" + rows + "\n").encode())
