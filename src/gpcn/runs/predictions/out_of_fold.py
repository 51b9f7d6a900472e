"""Out-of-fold predictions: every labelled node by those models of a run for which it was a test node."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from gpcn.core.errors import CheckpointError, ConfigError, Option
from gpcn.graph import Graph
from gpcn.graph.split import missing_part
from gpcn.runs.predictions.prediction import Predictions
from gpcn.runs.run import Run


def predict_out_of_fold(runs: Sequence[Run], graph: Graph, *, splits: Sequence[int] | None = None) -> Predictions:
    """The probabilities that `runs` kept of the test nodes of each split; `graph` is the one they were trained on.

    A node that is a test node in several splits has the mean of theirs, one that never is is left out.
    """
    total = np.zeros((graph.num_nodes, runs[0].graph.classes))
    times_tested = np.zeros(graph.num_nodes, dtype=np.int64)
    for run in runs:
        if graph.fingerprint() != run.graph.fingerprint:
            raise ConfigError(
                f"{graph.name} has changed since {run.path} was trained, so its test nodes are not known; train again, "
                f"or predict without {Option('out_of_fold')}"
            )
        for number in _finished(run, splits):
            test = graph.splits[number].test
            total[test] += run.predictions(number)[test]
            times_tested[test] += 1
    nodes = np.flatnonzero(times_tested)
    if not nodes.size:
        raise missing_part(f"no finished split of {runs[0].path}", "test")
    ids = graph.node_ids or tuple(str(number) for number in range(graph.num_nodes))
    return Predictions(
        nodes=nodes,
        node_ids=tuple(ids[int(node)] for node in nodes),
        probabilities=total[nodes] / times_tested[nodes, None],
        task=runs[0].task(),
        new_nodes=0,
        touching_new=0,
        notes=tuple(_notes(graph, times_tested, len(runs))),
        labels=graph.target.values[nodes],
    )


def _finished(run: Run, splits: Sequence[int] | None) -> list[int]:
    finished = run.finished()
    if not finished:
        raise CheckpointError(f"{run.path} has no finished split; run the same gpcn train command to finish it")
    numbers = finished if splits is None else sorted(set(splits))
    for number in numbers:
        if number not in finished or run.outcome(number) is None:
            raise CheckpointError(
                f"split {number} of {run.path} is not finished; run the same gpcn train command to finish it"
            )
    return numbers


def _notes(graph: Graph, times_tested: npt.NDArray[np.int64], runs: int) -> list[str]:
    notes = []
    never = int(np.count_nonzero(times_tested[graph.labelled] == 0))
    several = int(np.count_nonzero(times_tested > runs))
    if never:
        notes.append(f"{never:,} labelled node(s) are a test node of no finished split and were left out")
    if several:
        notes.append(f"{several:,} node(s) are test nodes of several splits; their probabilities are averaged")
    return notes
