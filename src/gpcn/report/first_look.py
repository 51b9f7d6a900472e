"""The nodes to look at first: which, how probable, and why in one line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gpcn.core.types import UNKNOWN
from gpcn.explanation import can_be_explained
from gpcn.explanation.explained_model import ExplainedModel
from gpcn.explanation.one_prediction import brief_explanation
from gpcn.explanation.sentences import explanation_line
from gpcn.graph import Graph
from gpcn.report.importance import feature_entries
from gpcn.report.materials import RunMaterial
from gpcn.report.tables import Cell, Table
from gpcn.runs.run import Run

MOST_NODES = 50
MOST_ENTRIES = 1_000_000  # features of nodes, all of which may reach a node in a few hops


@dataclass(frozen=True)
class FirstLook:
    """The table, what it is called, and in a sentence how it was chosen."""

    title: str
    about: str
    table: Table


def first_look(material: RunMaterial) -> FirstLook | None:
    """Nodes without a label, or test nodes where all have one: likeliest of the rarer of two classes, else of any.

    A test node's probability is the mean over the models for which it was one; a node without a label has that of all.
    """
    if material.graph is None or not material.names_nodes:
        return None
    run, graph = material.run, material.graph
    unlabelled = np.flatnonzero(graph.labels == UNKNOWN)
    probabilities = _probabilities(run, graph, unlabelled)
    candidates = np.flatnonzero(np.isfinite(probabilities[:, 0]))
    if not candidates.size:
        return None
    positive, names = run.task().positive, run.label_names()
    chosen = probabilities.argmax(axis=1) if positive is None else np.full(graph.num_nodes, positive)
    likely = probabilities[np.arange(graph.num_nodes), chosen]
    order = candidates[np.argsort(-likely[candidates], kind="stable")][:MOST_NODES]
    explanations = _explanations(run, graph, order.tolist(), probabilities, positive)
    columns: dict[str, Callable[[int], Cell]] = {
        "node": lambda node: Cell(graph.node_ids[node] if graph.node_ids else str(node)),
        "class": lambda node: Cell(names[chosen[node]]),
        "probability": lambda node: Cell(f"{likely[node]:.1%}", float(likely[node])),
        "label": lambda node: Cell(names[graph.labels[node]]),
        "why": lambda node: Cell("" if explanations is None else explanations[node]),
    }
    left_out = {"class": positive is not None, "label": unlabelled.size > 0, "why": explanations is None}
    shown = [name for name in columns if not left_out.get(name)]
    rows = [[columns[name](node) for name in shown] for node in order.tolist()]
    whose = "nodes without a label" if unlabelled.size else "test nodes"
    first = "most probable first" if positive is None else f"those most probably {names[positive]} first"
    why = (
        "Why: the parts of the lead that count most for it, then nodes and features, by the model of the first split."
        if explanations is not None
        else f"Why is left to gpcn explain {run.path.name} --node ID: it would take too long for so many."
        if can_be_explained(run)
        else f"This model is no sum over hops; gpcn explain {run.path.name} --node ID says why, where it has gradients."
    )
    about = f"{len(order):,} of {len(candidates):,} {whose}, {first}. {why}"
    return FirstLook("The nodes to look at first", about, Table(shown, rows, numeric=frozenset({"probability"})))


def _probabilities(run: Run, graph: Graph, unlabelled: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """`[N, C]`; not a number for nodes that are no candidates."""
    total = np.zeros((graph.num_nodes, len(run.label_names())))
    count = np.zeros(graph.num_nodes)
    for number in run.finished():
        nodes = unlabelled if unlabelled.size else graph.splits[number].test
        total[nodes] += run.predictions(number)[nodes]
        count[nodes] += 1
    with np.errstate(invalid="ignore"):
        return np.asarray(total / count[:, None])


def _explanations(
    run: Run, graph: Graph, nodes: list[int], probabilities: npt.NDArray[np.float64], positive: int | None
) -> dict[int, str] | None:
    """A line on why each node is predicted as it is; `None` where that cannot be said, or would take too long."""
    if not can_be_explained(run) or feature_entries(graph) > MOST_ENTRIES:
        return None
    explained = ExplainedModel.of(run, graph, run.finished()[0])
    lines = {}
    for node in nodes:
        ranked = np.argsort(-probabilities[node], kind="stable")[:2].tolist()
        winner, runner_up = ranked if positive is None else (positive, 1 - positive)
        lines[node] = explanation_line(brief_explanation(explained, node, winner, runner_up))
    return lines
