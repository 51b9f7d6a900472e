"""Predictions of a run, for the graph it was trained on or one that has changed since.

New nodes and edges are allowed. Models that learn a vector per node know those they were trained with, by id: a new
node's row of the adjacency uses the vectors of the known nodes it links to, and links to unknown nodes add nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import scipy.sparse as sp
import torch
from torch import Tensor

from gpcn.atomic import replacing
from gpcn.errors import CheckpointError, ConfigError, DataError
from gpcn.graph import Graph
from gpcn.nn import NodeClassifier, zoo
from gpcn.training import checkpoint
from gpcn.training.problem import Problem
from gpcn.training.runs import Run
from gpcn.types import UNKNOWN


@dataclass(frozen=True)
class Predictions:
    """Probabilities `[n, C]` for `nodes`; `new_nodes` of them were not there in training, `notes` say what it means."""

    nodes: npt.NDArray[np.int64]
    node_ids: tuple[str, ...]
    probabilities: npt.NDArray[np.float64]
    label_names: tuple[str, ...]
    new_nodes: int
    touching_new: int
    notes: tuple[str, ...]

    @property
    def predicted(self) -> list[str]:
        """The most probable class of each node."""
        return [self.label_names[place] for place in self.probabilities.argmax(axis=1)]


def vote(
    runs: Sequence[Run], graph: Graph, *, splits: list[int] | None = None, only_unlabelled: bool = False
) -> Predictions:
    """Probabilities averaged over several runs on the same graph."""
    each = [predict(run, graph, splits=splits, only_unlabelled=only_unlabelled) for run in runs]
    notes = tuple(dict.fromkeys(note for found in each for note in found.notes))
    return replace(each[0], probabilities=np.mean([found.probabilities for found in each], axis=0), notes=notes)


def predict(run: Run, graph: Graph, *, splits: list[int] | None = None, only_unlabelled: bool = False) -> Predictions:
    """Probabilities of a run's models on `graph`, averaged over its finished `splits`."""
    numbers = sorted(set(splits)) if splits is not None else run.finished()
    if not numbers:
        raise CheckpointError(f"{run.path} has no finished split; run the same gpcn train command to finish it")
    graph, notes = match_features(run, graph)
    known = _known_rows(run, graph)
    problem = _problem(run, graph)
    total = np.zeros((graph.num_nodes, int(run.graph["classes"])))
    for number in numbers:
        total += _one_split(run, number, problem, known)
    names = tuple(run.graph["label_names"] or (str(number) for number in range(total.shape[1])))
    nodes = np.flatnonzero(graph.labels == UNKNOWN) if only_unlabelled else np.arange(graph.num_nodes)
    new = known == UNKNOWN
    touching = np.asarray((graph.adjacency @ new.astype(np.float32)) > 0)
    if new.any():
        notes.append(f"{int(new[nodes].sum()):,} prediction(s) are for nodes that were not there in training")
        if zoo.entry(run.config.model).per_node:
            notes.append(
                f"{int((touching | new)[nodes].sum()):,} prediction(s) rest on partial links: {run.config.model} knows "
                "a vector for each node of the training graph only, and links to others add nothing"
            )
    ids = graph.node_ids or tuple(str(number) for number in range(graph.num_nodes))
    return Predictions(
        nodes=nodes,
        node_ids=tuple(ids[int(node)] for node in nodes),
        probabilities=total[nodes] / len(numbers),
        label_names=names,
        new_nodes=int(new[nodes].sum()),
        touching_new=int((touching | new)[nodes].sum()),
        notes=tuple(notes),
    )


def match_features(run: Run, graph: Graph) -> tuple[Graph, list[str]]:
    """`graph` with the columns the run was trained on, matched by name where both have names."""
    trained, given = run.graph["feature_names"], graph.feature_names
    if trained is None or given is None:
        if graph.num_features != run.graph["features"]:
            raise DataError(
                f"{graph.name} has {graph.num_features} features; the run was trained on {run.graph['features']}, and "
                "there are no names to match them by"
            )
        return graph, []
    place = {name: number for number, name in enumerate(given)}
    stems = {name.partition("=")[0] for name in given if "=" in name}
    absent = [name for name in trained if name not in place and name.partition("=")[0] in stems]
    missing = [name for name in trained if name not in place and name not in absent]
    if missing:
        raise DataError(
            f"{graph.name} lacks {len(missing)} feature(s) that the run was trained on, the first is {missing[0]!r}; "
            f"it has {', '.join(given[:8])}{' …' if len(given) > 8 else ''}"
        )
    if list(given) == list(trained):
        return graph, []
    extra = len(set(given) - set(trained))
    notes = [f"{extra} feature(s) that the run does not know were left out"] if extra else []
    if absent:
        notes.append(f"{len(absent)} categor(ies) that no node has any more, such as {absent[0]!r}, are zero")
    there = [number for number, name in enumerate(trained) if name in place]
    chosen = sp.csr_array(
        (np.ones(len(there), np.float32), ([place[trained[number]] for number in there], there)),
        shape=(len(given), len(trained)),
    )
    return replace(graph, features=graph.features @ chosen, feature_names=tuple(trained)), notes


def write(predictions: Predictions, path: Path) -> None:
    """Write a CSV, Parquet or NPZ file: node, predicted label, one probability per class."""
    columns: dict[str, Any] = {"node": list(predictions.node_ids), "predicted": predictions.predicted}
    for number, name in enumerate(predictions.label_names):
        columns[f"p_{name}"] = predictions.probabilities[:, number]
    suffix = path.suffix.lower()
    if suffix not in (".csv", ".parquet", ".npz"):
        raise ConfigError(f"cannot write predictions to {path}; expected a name that ends in .csv, .parquet or .npz")
    with replacing(path) as stream:
        if suffix == ".csv":
            pacsv.write_csv(pa.table(columns), stream)
        elif suffix == ".parquet":
            pq.write_table(pa.table(columns), stream)
        else:
            np.savez_compressed(
                stream,
                node=np.array(predictions.node_ids, dtype=np.str_),
                predicted=np.array(predictions.predicted, dtype=np.str_),
                probabilities=predictions.probabilities,
                label_names=np.array(predictions.label_names, dtype=np.str_),
            )


def _problem(run: Run, graph: Graph) -> Problem:
    """The graph as tensors; what its own labels are does not matter here."""
    names = run.graph["label_names"] or [str(number) for number in range(int(run.graph["classes"]))]
    blank = replace(graph, labels=np.full(graph.num_nodes, UNKNOWN), splits=(), label_names=tuple(names))
    return Problem.prepared(blank, run.config)


def _known_rows(run: Run, graph: Graph) -> npt.NDArray[np.int64]:
    """For each node of `graph` its position in the training graph, or -1."""
    trained, count = run.node_ids(), int(run.graph["nodes"])
    if trained is not None or graph.node_ids is not None:  # where one side has no names, positions stand for them
        place = {name: number for number, name in enumerate(trained or map(str, range(count)))}
        own = graph.node_ids or map(str, range(graph.num_nodes))
        return np.array([place.get(name, UNKNOWN) for name in own], dtype=np.int64)
    if graph.num_nodes < count and (zoo.entry(run.config.model).per_node or run.config.model == "label-propagation"):
        raise DataError(
            f"{graph.name} has {graph.num_nodes} nodes and no ids; {run.config.model} was trained on {count} and "
            "cannot tell which ones are left; give the nodes ids"
        )
    numbers = np.arange(graph.num_nodes)
    return np.where(numbers < count, numbers, UNKNOWN)


def trained_model(run: Run, graph: Graph, number: int) -> tuple[NodeClassifier, Problem]:
    """The model of split `number` with its best weights, and the graph it was trained on as tensors."""
    if graph.num_nodes != run.graph["nodes"]:
        raise DataError(
            f"{graph.name} has {graph.num_nodes:,} nodes; {run.path} was trained on {run.graph['nodes']:,}, name those"
        )
    graph, _ = match_features(run, graph)
    problem = _problem(run, graph)
    return _restored(run, number, problem, _known_rows(run, graph)), problem


@torch.no_grad()
def _one_split(run: Run, number: int, problem: Problem, known: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    logits: Tensor = _restored(run, number, problem, known)(problem.x, problem.adjacency)
    return np.asarray(torch.softmax(logits.double(), dim=1).numpy())


def _restored(run: Run, number: int, problem: Problem, known: npt.NDArray[np.int64]) -> NodeClassifier:
    found = checkpoint.load(run.folder(number), "model", run.key(number))
    if found is None:
        raise CheckpointError(
            f"split {number} of {run.path} has no model; run the same gpcn train command to finish it"
        )
    state, _ = found
    model = problem.build(run.config)
    rows, moving = torch.tensor(known), _per_node_names(run)
    fitting = {name: _moved(value, rows) if name in moving else value for name, value in state.items()}
    try:
        model.load_state_dict(fitting)
    except RuntimeError as error:
        raise CheckpointError(f"the model of split {number} in {run.path} does not fit its configuration") from error
    return model.eval()


def _per_node_names(run: Run) -> set[str]:
    """The tensors with a row per node: those that grow when a node is added, and the labels that are spread."""
    sizes: dict[str, Any] = {"in_channels": int(run.graph["features"]), "out_channels": int(run.graph["classes"])}
    sizes |= run.config.hyperparameters
    few, more = (zoo.build(run.config.model, num_nodes=count, **sizes).state_dict() for count in (2, 3))
    return {name for name in few if few[name].shape != more[name].shape} | {"seeds"}


def _moved(stored: Tensor, rows: Tensor) -> Tensor:
    """A row per node of the new graph: known ones moved to their place, new ones zero."""
    moved = stored.new_zeros(rows.numel(), *stored.shape[1:])
    there = rows != UNKNOWN
    moved[there] = stored[rows[there]]
    return moved
