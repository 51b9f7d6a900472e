"""Runs on disk: a folder that says what was trained on what, and holds a folder per split.

    config.json        configuration, graph (name, fingerprint, profile, where it came from), names of classes and
                       features, checksums of the files beside it
    environment.json   versions and machine
    node_ids.npz       the graph's own node names, where it has them: text and ends (data/packed_text.py)
    split-00/          checkpoint.json + tensors while running; then model.json + tensors, predictions.npz, epochs.csv,
                       result.json, which holds the checksums of the others and whom they belong to
    result.json        the summary over finished splits

Running the same configuration again finishes what is missing and repeats nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gpcn.core.errors import CheckpointError, GpcnError
from gpcn.data.archives import read_npz
from gpcn.data.graph_record import GraphRecord
from gpcn.data.packed_text import read_node_ids
from gpcn.records import layout
from gpcn.records.sealed import check_file, read_record, write_sealed
from gpcn.runs.records import RunRecord
from gpcn.runs.results import RunResult, SplitRecord
from gpcn.runs.split_run import read_split_record, split_key
from gpcn.tasks.task import Task, task_class
from gpcn.training.config import TrainConfig
from gpcn.training.problem import Structure


@dataclass(frozen=True)
class Run:
    """A run folder that exists and is readable."""

    path: Path
    config: TrainConfig
    graph: GraphRecord
    files: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def open(cls, path: str | Path) -> Run:
        """The run at `path`."""
        path = Path(path)
        file = path / layout.RUN
        if not file.is_file():
            raise CheckpointError(
                f"{path} is not a run: it has no {layout.RUN}; expected a folder written by gpcn train"
            )
        record = read_record(file, RunRecord, "it cannot be used")
        try:
            config = record.config.settled()
        except (GpcnError, ValueError, TypeError, OverflowError) as error:
            raise CheckpointError(f"{file} is damaged: {error}; it cannot be used") from error
        return cls(path, config, record.graph, record.files)

    @property
    def identity(self) -> str:
        """The graph that its files belong to: what models see of it and, where it was whole, all its names."""
        fingerprint, names = self.graph.fingerprint, self.graph.names
        return fingerprint if names is None else f"{fingerprint}|{names}"

    def folder(self, number: int) -> Path:
        """Where split `number` lives."""
        return self.path / layout.split_name(number)

    def key(self, number: int) -> str:
        """Whom the files of split `number` must belong to."""
        return split_key(self.config, self.identity, number)

    def finished(self) -> list[int]:
        """The splits with a result."""
        return list(layout.finished_splits(self.path))

    def result(self, only: Sequence[int] | None = None) -> RunResult:
        """Return the summary over all finished splits, or over some."""
        chosen = self.finished() if only is None else only
        outcomes = [self.outcome(number) for number in chosen]
        results = [outcome.result for outcome in outcomes if outcome is not None]
        return RunResult.of(self.config, self.graph.name, self.graph.metric, results)

    def outcome(self, number: int) -> SplitRecord | None:
        """Return what split `number` says of itself, checked; `None` where it is not finished."""
        outcome = read_split_record(self.folder(number), self.key(number), self.task())
        if outcome is None:
            return None
        if outcome.result.split != number:
            raise CheckpointError(
                f"{self.folder(number) / layout.RESULT} is damaged: it is about split {outcome.result.split}; delete "
                f"{self.folder(number)} to run that split again"
            )
        return outcome

    def keep_result(self) -> None:
        """Write the summary over all finished splits into the folder."""
        write_sealed(self.path / layout.RESULT, self.result(), indent=1)

    def split_file(self, number: int, name: str) -> Path:
        """A file of the finished split `number`, the one that was written with its result."""
        outcome, folder = self.outcome(number), self.folder(number)
        if outcome is None:
            raise CheckpointError(
                f"split {number} of {self.path} is not finished; run the same gpcn train command to finish it"
            )
        if name in outcome.files:
            check_file(folder / name, outcome.files[name], f"delete {folder} to run that split again")
        return folder / name

    def predictions(self, number: int) -> npt.NDArray[np.float64]:
        """The probabilities of all nodes that were kept of split `number`, `[N, C]`."""
        file = self.split_file(number, layout.PREDICTIONS)
        stored = read_npz(file, str(file)).get("probabilities")
        shape = (self.graph.nodes, self.graph.classes)
        if stored is None or stored.shape != shape or stored.dtype.kind != "f" or not np.isfinite(stored).all():
            raise CheckpointError(f"{file} is damaged; delete {file.parent} to run that split again")
        return np.asarray(stored, dtype=np.float64)

    def task(self) -> Task:
        """Return what was asked of the nodes."""
        return task_class(self.graph.task).of(self.graph.class_names, self.graph.positive)

    def node_ids(self) -> list[str] | None:
        """The names of the nodes trained on, where they had any."""
        file = self.path / layout.NODE_IDS
        if layout.NODE_IDS not in self.files:
            return None
        check_file(file, self.files[layout.NODE_IDS], "it cannot be used")
        names = read_node_ids(file)
        if len(names) != self.graph.nodes:
            raise CheckpointError(f"{file} is damaged: it does not name {self.graph.nodes} nodes; it cannot be used")
        return names

    def structure(self) -> Structure:
        """Return what kinds of links were trained on."""
        return Structure(self.graph.directed, self.graph.relations)

    def label_names(self) -> tuple[str, ...]:
        """The names of the classes; their numbers where they have none."""
        return self.graph.class_names
