"""One split from start or checkpoint to its files: weights, predictions, history, and last of all its result."""

from __future__ import annotations

import hashlib
import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from gpcn.errors import CheckpointError, TrainingError
from gpcn.files.atomic import add_folder, replacing
from gpcn.files.sealed import FORMAT, file_digest, read_sealed, write_sealed
from gpcn.graph import Graph
from gpcn.nn.engine.memory import memory_limits
from gpcn.training import checkpoint
from gpcn.training.config import TrainConfig
from gpcn.training.fit import fit
from gpcn.training.loop import HISTORY, Observer, TrainingLoop
from gpcn.training.observers import Checkpoints
from gpcn.training.problem import Problem, choose_device
from gpcn.training.runs.split_record import check_result_record
from gpcn.utils.types import ROLES

KEPT = ("model.json", "predictions.npz", "epochs.csv")
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
) -> dict[str, Any]:
    """Train split `number`, or finish it, or do nothing where it is done; its result.

    With a `folder`, progress is saved every `save_every` seconds and continued bit by bit. `identity` is what the run
    calls its graph (`Run.identity`); without a run it is the fingerprint.
    """
    key = split_key(config, identity or graph.fingerprint(), number)
    if folder is not None:
        done = read_split_result(folder, key)
        if done is not None:
            return done
        add_folder(folder)
    kept = Checkpoints(folder, key, save_every)
    with memory_limits(f"{config.model} on {graph.name}"):
        problem = Problem.of(graph, config, choose_device(device))
        trainer = fit(problem, config, graph.splits[number], number, [kept, *observers])
        probabilities = graph.task.activation(trainer.best_logits().double()).cpu().numpy()
    if not np.isfinite(probabilities).all():
        raise TrainingError(f"{config.model} gives numbers that are not finite on some nodes; lower lr or gamma")
    result = _result(graph, config, number, trainer, probabilities, kept.seconds)
    if folder is not None:
        write_split(folder, key, dict(trainer.model.state_dict()), trainer.history, probabilities, result)
    else:
        result["probabilities"] = probabilities
    return result


def read_split_result(folder: Path, key: str) -> dict[str, Any] | None:
    """The result of a finished split, checked to belong to `key`."""
    payload = read_split_outcome(folder, key)
    return None if payload is None else dict(payload["result"])


def read_split_outcome(folder: Path, key: str) -> dict[str, Any] | None:
    """All that `result.json` says: the result, and the checksums of the files beside it."""
    path = folder / "result.json"
    if not path.exists():
        return None
    advice = f"delete {folder} to run that split again"
    payload = read_sealed(path, check_result_record, advice)
    if payload["owner"] != key:
        raise CheckpointError(f"{path} belongs to another run or graph; {advice}")
    return payload


def _result(
    graph: Graph, config: TrainConfig, number: int, trainer: TrainingLoop, probabilities: Any, seconds: float
) -> dict[str, Any]:
    coefficients, mix = trainer.model.coefficients(), trainer.model.mix()
    training_facts = {
        "epochs": trainer.epoch,
        "best_epoch": trainer.best_epoch,
        "seconds": round(seconds, 3),
        "parameters": trainer.num_parameters,
        "coefficients": None
        if coefficients is None
        else [x if math.isfinite(x) else None for x in coefficients.tolist()],
        "mix": mix,
    }
    return split_result(graph, config, number, probabilities, training_facts)


def split_result(
    graph: Graph, config: TrainConfig, number: int, probabilities: Any, training_facts: dict[str, Any]
) -> dict[str, Any]:
    """The result of split `number`, as it is kept: its scores, and `training_facts`."""
    split = graph.splits[number]
    parts = {
        role: graph.task.evaluate(probabilities[nodes], graph.labels[nodes], graph.metric)
        for role, nodes in ((role, getattr(split, role)) for role in ROLES)
    }
    return {
        "split": number,
        "seed": config.seed,
        "test": parts["test"]["score"],
        "val": parts["val"]["score"],
        "train": parts["train"]["score"],
        **training_facts,
        "metrics": parts,
    }


def write_split(
    folder: Path,
    key: str,
    weights: dict[str, Tensor],
    history: Sequence[Sequence[float]],
    probabilities: Any,
    result: dict[str, Any],
) -> None:
    """The files of a finished split; `history` has a row per epoch, as `HISTORY` names its columns."""
    checkpoint.save(folder, "model", weights, {}, key)
    packed = io.BytesIO()
    np.savez_compressed(packed, probabilities=probabilities.astype(np.float32))
    with replacing(folder / "predictions.npz", new_folders=False) as stream:
        stream.write(packed.getvalue())
    write_epoch_history(folder, history)
    files = {name: file_digest(folder / name) for name in KEPT}
    payload = {"format": FORMAT, "owner": key, "files": files, "result": result}
    write_sealed(folder / "result.json", payload)  # last: from here on the split is done
    checkpoint.remove(folder, "checkpoint")


def write_epoch_history(folder: Path, history: Sequence[Sequence[float]]) -> None:
    """A row per epoch, as `HISTORY` names its columns."""
    rows = "\n".join(
        ",".join(f"{value:g}" if i == 0 else repr(value) for i, value in enumerate(row)) for row in history
    )
    with replacing(folder / "epochs.csv", new_folders=False) as stream:
        stream.write((",".join(HISTORY) + "\n" + rows + "\n").encode())
