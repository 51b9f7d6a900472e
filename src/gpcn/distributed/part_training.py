"""The work of one worker: load its part, train with the others, keep what belongs to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from gpcn.core.atomic import add_folder
from gpcn.core.errors import TrainingError
from gpcn.data.parts.files import write_part_table
from gpcn.data.parts.manifest import Manifest
from gpcn.data.parts.tables import PartData
from gpcn.distributed.gathered_digests import gather_worker_digests
from gpcn.distributed.part_checkpoints import PartCheckpoints
from gpcn.distributed.part_loading import load_part
from gpcn.distributed.part_problem import PartProblem
from gpcn.distributed.part_run import POSITION, part_key, split_part_folder
from gpcn.distributed.torch_worker_group import TorchWorkerGroup
from gpcn.graph import Split
from gpcn.nn.engine.memory import reuse_freed_memory
from gpcn.records import layout
from gpcn.records.sealed import file_digest, write_sealed
from gpcn.runs.results import SplitRecord, SplitResult
from gpcn.runs.run import Run
from gpcn.runs.split_run import write_epoch_history
from gpcn.tasks.task import PartScores
from gpcn.training import checkpoint
from gpcn.training.fit import fit
from gpcn.training.loop import Observer, TrainingLoop

Watch = Callable[[int], Observer]
Publish = Callable[[Path], None]
"""Called with a file or folder that was written, so that it is stored where all workers see it."""


def train_part(
    shards: Path,
    out: Path,
    splits: Sequence[int],
    workers: TorchWorkerGroup,
    *,
    save_every: float = 10.0,
    watch: Watch | None = None,
    publish: Publish = lambda written: None,
) -> None:
    """Train the run in `out` on the graph in `shards`; all workers do this together.

    Args:
        shards: a graph in as many parts as there are workers.
        out: a run that was created for it, in a folder that all workers see, or in a copy of which they `publish`.
        splits: numbers of splits; those that are finished are left as they are.
        workers: the others.
        save_every: seconds between checkpoints, by the clock of the first worker.
        watch: gives an observer of the training of a split.
        publish: called with what was written.
    """
    run, manifest = Run.open(out), Manifest.read(shards)
    missing = [number for number in splits if run.outcome(number) is None]
    if not workers.agree(missing):
        raise TrainingError(f"the workers see different files in {out}; it must lie where all of them see it")
    if not missing:
        return
    reuse_freed_memory()
    problem, data = load_part(shards, manifest, run.config, workers)
    for number in missing:
        _train_split(run, number, problem, data, workers, save_every, watch, publish)


def _train_split(
    run: Run,
    number: int,
    problem: PartProblem,
    data: PartData,
    workers: TorchWorkerGroup,
    save_every: float,
    watch: Watch | None,
    publish: Publish,
) -> None:
    folder = split_part_folder(run, number, workers.rank)
    add_folder(folder.parent)
    add_folder(folder)
    owner = part_key(run, number, workers.rank)
    kept = PartCheckpoints(folder, owner, save_every, workers, publish)
    watching = [] if watch is None else [watch(number)]
    trainer = fit(problem, run.config, data.splits[number], number, [kept, *watching])
    probabilities = trainer.task.activation(trainer.best_logits().double())
    if workers.total(float(not torch.isfinite(probabilities).all())):
        raise TrainingError(f"{run.config.model} gives numbers that are not finite on some nodes; lower lr or gamma")
    metrics = _metrics(problem, data.splits[number], probabilities)
    facts = replace(trainer.facts(kept.seconds), parameters=_count_parameters(trainer, workers))
    checkpoint.save(folder, "model", dict(trainer.model.state_dict()), {}, owner)
    write_part_table(folder / layout.PART_PREDICTIONS, part_prediction_table(run, data, probabilities.numpy()))
    publish(folder)
    digests = gather_worker_digests(workers, folder, (layout.MODEL, layout.PART_PREDICTIONS))
    if workers.rank == 0:
        write_epoch_history(run.folder(number), trainer.history)
        _write_result(run, SplitResult.of(number, run.config.seed, metrics, facts), digests)
        publish(run.folder(number) / layout.EPOCHS)
        publish(run.folder(number) / layout.RESULT)
    workers.wait_for_all()
    kept.remove()
    publish(folder)


def part_prediction_table(run: Run, data: PartData, probabilities: Any) -> pa.Table:
    """Return node, predicted label, a probability per class."""
    task = run.task()
    numbers: Any = range(data.start, data.start + len(probabilities)) if data.positions is None else data.positions
    columns: dict[str, Any] = {"node": list(data.node_ids) if data.node_ids is not None else [str(i) for i in numbers]}
    columns["predicted"] = task.answers(probabilities)
    columns |= task.columns(probabilities.astype(np.float32))
    if data.positions is not None:
        columns[POSITION] = data.positions
    return pa.table(columns)


def _metrics(problem: PartProblem, split: Split, probabilities: Tensor) -> dict[str, PartScores]:
    """Return by part how good predictions are for the nodes of all workers."""
    graph, workers = problem.graph, problem.workers
    metrics = {}
    for part, nodes in split.scored().items():
        chosen = torch.tensor(nodes)
        rows, labels = workers.gather(probabilities[chosen]), workers.gather(problem.truth[chosen])
        metrics[part] = graph.task.evaluate(rows.numpy(), labels.numpy(), graph.metric)
    return metrics


def _count_parameters(trainer: TrainingLoop, workers: TorchWorkerGroup) -> int:
    per_node = trainer.model.per_node_weights
    shared = sum(weight.numel() for name, weight in trainer.model.named_parameters() if name not in per_node)
    return shared + round(workers.total(trainer.num_parameters - shared))


def _write_result(run: Run, result: SplitResult, digests: Sequence[Mapping[str, str]]) -> None:
    """Write the result of a split, when all parts of it are there; `digests` are the checksums of their files."""
    number, folder = result.split, run.folder(result.split)
    files = {layout.EPOCHS: file_digest(folder / layout.EPOCHS)}
    for part, of_part in enumerate(digests):
        files |= {f"{split_part_folder(run, number, part).name}/{file}": digest for file, digest in of_part.items()}
    write_sealed(folder / layout.RESULT, SplitRecord(run.key(number), files, result))
