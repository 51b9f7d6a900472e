"""A run in parts as an ordinary one: weights per node put together, predictions of all nodes, so that one machine can
open it, predict and explain, if it fits.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import torch
from msgspec.structs import replace as with_fields
from torch import Tensor

from gpcn.core.errors import CheckpointError
from gpcn.core.locking import locked_folder
from gpcn.distributed.part_run import POSITION, is_run_in_parts, part_key, split_part_folder
from gpcn.nn import zoo
from gpcn.records import layout
from gpcn.records.sealed import check_file, file_digest, write_sealed
from gpcn.runs.results import SplitRecord
from gpcn.runs.run import Run
from gpcn.runs.run_creation import add_node_names
from gpcn.runs.split_run import KEPT, write_predictions
from gpcn.training import checkpoint


def assemble_run(path: Path) -> None:
    """Put the parts of the run in `path` together, where it has parts and that was not done yet."""
    if not (path / layout.RUN).is_file():
        return
    run = Run.open(path)
    if not is_run_in_parts(run.graph):
        return
    outcomes = {number: run.outcome(number) for number in run.finished()}
    waiting = {number: outcome for number, outcome in outcomes.items() if outcome and KEPT[0] not in outcome.files}
    if not waiting:
        return
    with locked_folder(path):
        for number, outcome in waiting.items():
            run = _assemble_split(run, number, outcome)


def _assemble_split(run: Run, number: int, outcome: SplitRecord) -> Run:
    folder = run.folder(number)
    advice = f"delete {folder} to run that split again"
    parts = range(run.graph.parts or 0)
    for name, digest in outcome.files.items():
        check_file(folder / name, digest, advice)
    states = [_weights(run, number, part) for part in parts]
    tables = [pq.read_table(split_part_folder(run, number, part) / layout.PART_PREDICTIONS) for part in parts]
    order = _order(tables)
    names = [name for table in tables for name in table.column("node").to_pylist()]
    names = names if order is None else [names[row] for row in order]
    if layout.NODE_IDS not in run.files and any(name != str(position) for position, name in enumerate(names)):
        run = add_node_names(run, names)
    columns = run.task().columns(np.empty((0, run.graph.classes)))
    probabilities = np.concatenate([np.stack([table.column(name) for name in columns], axis=1) for table in tables])
    probabilities = probabilities if order is None else probabilities[order]
    write_predictions(folder, probabilities)
    per_node = zoo.specification_of(run.config.model).per_node_tensors
    checkpoint.save(folder, "model", _joined(states, per_node, order), {}, run.key(number))
    files = outcome.files | {name: file_digest(folder / name) for name in KEPT}
    write_sealed(folder / layout.RESULT, with_fields(outcome, files=files))
    return run


def _weights(run: Run, number: int, part: int) -> dict[str, Tensor]:
    content = checkpoint.load(split_part_folder(run, number, part), "model", part_key(run, number, part))
    if content is None:
        raise CheckpointError(f"part {part} of split {number} of {run.path} has no model; run the same command again")
    return content[0]


def _order(tables: list[Any]) -> Any:
    """The row of each node of the graph among those of all parts; `None` where it is the same."""
    if POSITION not in tables[0].column_names:
        return None
    return np.argsort(np.concatenate([table.column(POSITION).to_numpy() for table in tables]))


def _joined(states: list[dict[str, Tensor]], per_node: set[str], order: Any) -> dict[str, Tensor]:
    """Weights with a row per node one below the other; all others are alike everywhere."""
    joined: dict[str, Any] = {}
    for name, weight in states[0].items():
        rows = torch.cat([state[name] for state in states]) if name in per_node else weight
        joined[name] = rows if order is None or name not in per_node else rows[torch.from_numpy(order)]
    return joined
