"""`Fitted`: the models of a run on the graph it was trained on, or on one that has changed since.

New nodes and edges are allowed. Models that learn a vector per node know those they were trained with, by id: a new
node's row of the adjacency uses the vectors of the known nodes it links to, and links to unknown nodes add nothing.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor

from gpcn.core.errors import CheckpointError, DataError
from gpcn.core.types import UNKNOWN
from gpcn.graph import Graph
from gpcn.nn import NodeClassifier, zoo
from gpcn.runs.run import Run
from gpcn.training import checkpoint
from gpcn.training.problem import Problem


@dataclass(frozen=True)
class Fitted:
    """A run and a graph as its models see it; `training_rows`: each node's position in the training graph, or -1."""

    run: Run
    graph: Graph
    problem: Problem
    training_rows: npt.NDArray[np.int64]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, run: Run, graph: Graph, dtype: torch.dtype = torch.float32) -> Fitted:
        """Match the features of `graph` with those trained on; what its own labels are does not matter."""
        graph, notes = match_trained_features(run, graph)
        blank = replace(
            graph,
            labels=run.task().unknown(graph.num_nodes),
            label_names=run.label_names(),
            splits=(),
            task_name=run.graph.task,
            metric=run.graph.metric,
        )
        structure = run.structure()
        blank, more = match_trained_relations(blank, structure.relations, noted=_reads_types(run))
        problem = Problem.prepared(blank, run.config, dtype=dtype, structure=structure)
        notes = [*notes, *more]
        return cls(run, graph, problem, _training_rows(run, graph), tuple(notes))

    def model(self, number: int) -> NodeClassifier:
        """The model of split `number`, ready to evaluate."""
        stored = checkpoint.load(self.run.folder(number), "model", self.run.key(number))
        if stored is None:
            raise CheckpointError(
                f"split {number} of {self.run.path} has no model; run the same gpcn train command to finish it"
            )
        state, _ = stored
        model = self.problem.build(self.run.config)
        rows, moving = torch.tensor(self.training_rows), zoo.specification_of(self.run.config.model).per_node_tensors
        fitting = {name: _moved(value, rows) if name in moving else value for name, value in state.items()}
        try:
            model.load_state_dict(fitting)
        except RuntimeError as error:
            raise CheckpointError(
                f"the model of split {number} in {self.run.path} does not fit its configuration"
            ) from error
        return model.to(self.problem.dtype).eval()


def match_trained_features(run: Run, graph: Graph) -> tuple[Graph, list[str]]:
    """`graph` with the columns the run was trained on, matched by name where both have names."""
    trained, given = run.graph.feature_names, graph.feature_names
    other = _prepared_otherwise(run, graph)
    if trained is None or given is None:
        if graph.num_features != run.graph.features:
            raise DataError(
                f"{graph.name} has {graph.num_features} features; the run was trained on {run.graph.features}, and "
                "there are no names to match them by"
            )
        return graph, other
    column_of = {name: number for number, name in enumerate(given)}
    stems = {name.partition("=")[0] for name in given if "=" in name}
    absent = [name for name in trained if name not in column_of and name.partition("=")[0] in stems]
    missing = [name for name in trained if name not in column_of and name not in absent]
    if missing:
        raise DataError(
            f"{graph.name} lacks {len(missing)} feature(s) that the run was trained on, the first is {missing[0]!r}; "
            f"it has {', '.join(given[:8])}{' …' if len(given) > 8 else ''}"
        )
    if list(given) == list(trained):
        return graph, other
    extra = len(set(given) - set(trained))
    notes = [*other, *([f"{extra} feature(s) that the run does not know were left out"] if extra else [])]
    if absent:
        notes.append(f"{len(absent)} categor(ies) that no node has any more, such as {absent[0]!r}, are zero")
    there = [number for number, name in enumerate(trained) if name in column_of]
    chosen = sp.csr_array(
        (np.ones(len(there), np.float32), ([column_of[trained[number]] for number in there], there)),
        shape=(len(given), len(trained)),
    )
    return replace(graph, features=graph.features @ chosen, feature_names=tuple(trained)), notes


def _reads_types(run: Run) -> bool:
    """Whether any operator of the run's model is of one type of links."""
    settings = run.config.hyperparameters
    return any(":" in str(settings.get(name, "")) for name in ("operators", "link_operators"))


def match_trained_relations(graph: Graph, trained: tuple[str, ...], *, noted: bool = True) -> tuple[Graph, list[str]]:
    """`graph` with the types of links trained on; one that no link has any more is empty. Notes say what differs."""
    if not trained:
        return graph, []
    absent = [name for name in trained if name not in graph.relations]
    new = [name for name in graph.relations if name not in trained]
    empty = sp.csr_array(graph.adjacency.shape, dtype=np.float32)
    notes = [f"no link is of type {name!r}, which the run was trained with" for name in absent]
    notes += [f"links of type {name!r} are new; only operators that read all types see them" for name in new]
    matched = replace(graph, relations={name: graph.relations.get(name, empty) for name in trained})
    return matched, notes if noted else []


def _prepared_otherwise(run: Run, graph: Graph) -> list[str]:
    """A note where the graph's columns were encoded by another fit than the run's, so that scales may differ."""
    if run.graph.preparation is None or graph.preparation is None:
        return []
    prepared = (json.loads(json.dumps(each.to_json())) for each in (run.graph.preparation, graph.preparation))
    states = [{column["name"]: (column["role"], column["state"]) for column in each["columns"]} for each in prepared]
    if states[0] == states[1]:
        return []
    return ["the columns were prepared apart from those trained on, so scales may differ; give the tables instead"]


def _training_rows(run: Run, graph: Graph) -> npt.NDArray[np.int64]:
    """For each node of `graph` its position in the training graph, or -1."""
    trained, count = run.node_ids(), run.graph.nodes
    if trained is not None or graph.node_ids is not None:  # where one side has no names, positions stand for them
        row_of = {name: number for number, name in enumerate(trained or map(str, range(count)))}
        node_ids = graph.node_ids or map(str, range(graph.num_nodes))
        return np.array([row_of.get(name, UNKNOWN) for name in node_ids], dtype=np.int64)
    specification = zoo.specification_of(run.config.model)
    if graph.num_nodes < count and (specification.per_node or specification.keeps_labels):
        raise DataError(
            f"{graph.name} has {graph.num_nodes} nodes and no ids; {run.config.model} was trained on {count} and "
            "cannot tell which ones are left; give the nodes ids"
        )
    numbers = np.arange(graph.num_nodes)
    return np.where(numbers < count, numbers, UNKNOWN)


def _moved(stored: Tensor, rows: Tensor) -> Tensor:
    """A row per node of the new graph: those trained on moved to their position, new ones zero."""
    moved = stored.new_zeros(rows.numel(), *stored.shape[1:])
    there = rows != UNKNOWN
    moved[there] = stored[rows[there]]
    return moved
