"""Predictions of a run, for the graph it was trained on or one that has changed since."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import torch
from msgspec import Struct
from torch import Tensor

from gpcn.core.atomic import replacing
from gpcn.core.errors import CheckpointError, ConfigError, Option
from gpcn.core.types import UNKNOWN
from gpcn.graph import Graph
from gpcn.nn import zoo
from gpcn.runs.predictions.drift import Drift
from gpcn.runs.predictions.fitted import Fitted
from gpcn.runs.predictions.spreadsheets import count_formulas, without_formulas
from gpcn.runs.run import Run
from gpcn.tasks.task import Task

LARGEST_TEXTS = 1 << 30  # bytes; more than that, read_npz takes for a zip bomb


class Decision(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a threshold did.

    Args:
        rule: the kind of threshold.
        positive: the class that it is about.
        threshold: the least probability of those predicted to be of it, where there are any.
        predicted_positive: how many they are.
        validation_f1: of a threshold that was chosen by it.
    """

    rule: str
    positive: str
    threshold: float | None
    predicted_positive: int
    validation_f1: float | None = None


@dataclass(frozen=True, repr=False)
class Predictions:
    """Probabilities `[n, C]` for `nodes`; `new_nodes` of them were not there in training, `notes` say what it means.

    `task` says what was asked, and what it shows in place of probabilities where that was not a class.
    `labels` holds the known answers, where predictions are written beside them.
    `chosen` holds the class of each node where a threshold decided (`threshold`); without it the task says what is
    predicted; `decision` says what the threshold did. `vanished_nodes` of those trained on are not in this graph, and
    `drift` says how far it is from the one trained on, where it is another.
    """

    nodes: npt.NDArray[np.int64]
    node_ids: tuple[str, ...]
    probabilities: npt.NDArray[np.float64]
    task: Task
    new_nodes: int
    touching_new: int
    notes: tuple[str, ...]
    labels: npt.NDArray[Any] | None = None
    chosen: npt.NDArray[np.int64] | None = None
    decision: Decision | None = None
    vanished_nodes: int = 0
    drift: Drift | None = None

    def __repr__(self) -> str:
        return (
            f"Predictions({len(self.nodes):,} nodes, {len(self.label_names)} classes, {self.new_nodes:,} new since "
            f"training, {len(self.notes)} note(s))"
        )

    @property
    def label_names(self) -> tuple[str, ...]:
        """The names of the classes."""
        return self.task.names

    @property
    def predicted(self) -> list[Any]:
        """The answer for each node: by the threshold where there is one, else what the task makes of it."""
        return self.task.answers(self.probabilities) if self.chosen is None else self.task.in_words(self.chosen)

    def sorted(self) -> Predictions:
        """Return the same in the task's order: by probability of the positive or else the likeliest class."""
        order = np.argsort(-self.task.rank(self.probabilities), kind="stable")
        return replace(
            self,
            nodes=self.nodes[order],
            node_ids=tuple(self.node_ids[row] for row in order),
            probabilities=self.probabilities[order],
            chosen=None if self.chosen is None else self.chosen[order],
            labels=None if self.labels is None else self.labels[order],
        )

    def save(self, path: str | Path, *, safe_csv: bool = False) -> None:
        """Write a .csv, .parquet or .npz file (`write`)."""
        write(self, Path(path), safe_csv=safe_csv)


def vote(
    runs: Sequence[Run],
    graph: Graph,
    *,
    splits: list[int] | None = None,
    only_unlabelled: bool = False,
    only_new: bool = False,
) -> Predictions:
    """Probabilities averaged over several runs on the same graph; one that is named twice counts twice."""
    counts = Counter(run.path for run in runs)
    distinct = {run.path: run for run in runs}.values()
    parts = [predict(run, graph, splits=splits, only_unlabelled=only_unlabelled, only_new=only_new) for run in distinct]
    notes = tuple(dict.fromkeys(note for part in parts for note in part.notes))
    weights = [counts[run.path] for run in distinct]
    mean = np.average([part.probabilities for part in parts], axis=0, weights=weights)
    return replace(parts[0], probabilities=mean, notes=notes)


def predict(
    run: Run,
    graph: Graph,
    *,
    splits: list[int] | None = None,
    only_unlabelled: bool = False,
    only_new: bool = False,
) -> Predictions:
    """Probabilities of a run's models on `graph`, averaged over its finished `splits`.

    `only_unlabelled` and `only_new` choose the nodes: without a label, not there in training; with both, both.
    """
    numbers = sorted(set(splits)) if splits is not None else run.finished()
    if not numbers:
        raise CheckpointError(f"{run.path} has no finished split; run the same gpcn train command to finish it")
    fitted = Fitted.of(run, graph)
    graph, training_rows, notes = fitted.graph, fitted.training_rows, list(fitted.notes)
    total = np.zeros((graph.num_nodes, run.graph.classes))
    for number in numbers:
        total += _probabilities(fitted, number)
    new = training_rows == UNKNOWN
    wanted = np.ones(graph.num_nodes, dtype=bool)
    wanted &= ~graph.target.mask | (not only_unlabelled)
    wanted &= new | (not only_new)
    nodes = np.flatnonzero(wanted)
    vanished = run.graph.nodes - np.unique(training_rows[~new]).size
    touching = np.asarray((fitted.problem.adjacency.links @ new.astype(np.float32)) > 0)
    if vanished:
        notes.append(f"{vanished:,} node(s) trained on are not in this graph any more")
    if new.any():
        notes.append(f"{int(new[nodes].sum()):,} prediction(s) are for nodes that were not there in training")
        if zoo.specification_of(run.config.model).per_node:
            notes.append(
                f"{int((touching | new)[nodes].sum()):,} prediction(s) rest on partial links: {run.config.model} knows "
                "a vector for each node of the training graph only, and links to others add nothing"
            )
    ids = graph.node_ids or tuple(str(number) for number in range(graph.num_nodes))
    return Predictions(
        nodes=nodes,
        node_ids=tuple(ids[int(node)] for node in nodes),
        probabilities=total[nodes] / len(numbers),
        task=run.task(),
        new_nodes=int(new[nodes].sum()),
        touching_new=int((touching | new)[nodes].sum()),
        notes=tuple(notes),
        vanished_nodes=vanished,
    )


def spreadsheet_formula_note(predictions: Predictions, path: Path) -> str | None:
    """A note where a spreadsheet that opens the CSV at `path` would run some of its cells."""
    texts = [*predictions.node_ids, *map(str, predictions.predicted)] if path.suffix.lower() == ".csv" else []
    count = count_formulas(texts)
    if not count:
        return None
    return f"{count:,} cell(s) of {path.name} begin like a formula (= + - @), which a spreadsheet would run"


def write(predictions: Predictions, path: Path, *, safe_csv: bool = False) -> None:
    """Write a CSV, Parquet or NPZ file: node, true label (with `labels`), predicted label, a probability per class.

    With `safe_csv`, an apostrophe stands before cells of a CSV that a spreadsheet would run as formulas.
    """
    columns: dict[str, Any] = {"node": list(predictions.node_ids)}
    if predictions.labels is not None:
        columns["label"] = predictions.task.in_words(predictions.labels)
    columns["predicted"] = predictions.predicted
    columns |= predictions.task.columns(predictions.probabilities)
    suffix = path.suffix.lower()
    if safe_csv and suffix != ".csv":
        raise ConfigError(f"{Option('safe_csv')} is about .csv files, and {path} is none; leave it out")
    if safe_csv:
        columns |= {name: without_formulas(columns[name]) for name in ("node", "label", "predicted") if name in columns}
    if suffix not in (".csv", ".parquet", ".npz"):
        raise ConfigError(f"cannot write predictions to {path}; expected a name that ends in .csv, .parquet or .npz")
    if suffix == ".npz":
        _check_width(predictions.node_ids, path)
    with replacing(path) as stream:
        if suffix == ".csv":
            pacsv.write_csv(pa.table(columns), stream)
        elif suffix == ".parquet":
            pq.write_table(pa.table(columns), stream)
        else:
            true: dict[str, Any] = {"label": np.array(columns["label"], dtype=np.str_)} if "label" in columns else {}
            np.savez_compressed(
                stream,
                **true,
                node=np.array(predictions.node_ids, dtype=np.str_),
                predicted=np.array(predictions.predicted, dtype=np.str_),
                probabilities=predictions.probabilities,
                label_names=np.array(predictions.label_names, dtype=np.str_),
            )


def _check_width(names: Sequence[str], path: Path) -> None:
    """Texts in a `.npz` all take the room of the longest."""
    room = 4 * len(names) * max(map(len, names), default=0)
    if room > LARGEST_TEXTS:
        raise ConfigError(
            f"{path} would hold {len(names):,} node ids in {room:,} bytes, because the longest has "
            f"{max(map(len, names)):,} characters; write a .parquet or .csv instead"
        )


@torch.no_grad()
def _probabilities(fitted: Fitted, number: int) -> npt.NDArray[np.float64]:
    logits: Tensor = fitted.model(number)(fitted.problem.x, fitted.problem.adjacency)
    return np.asarray(fitted.run.task().activation(logits.double()).numpy())
