"""All measures of one split, by what the runs of a folder predicted there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from gpcn.core.errors import ConfigError
from gpcn.graph import Graph
from gpcn.runs.run import Run
from gpcn.tasks.task import PartScores


def folder_scores_on_split(
    judged: Sequence[Run], split: int, graph: Callable[[], Graph], path: Path
) -> dict[str, PartScores]:
    """Measures of the `train`, `val` and `test` nodes of `split`, of a run or of the average of several.

    A run has kept its own; for an average the `graph` is loaded, which must be the one that `path` was trained on.
    """
    if len({run.path for run in judged}) == 1:
        outcome = judged[0].outcome(split)
        if outcome is None:
            finished = ", ".join(map(str, judged[0].finished()))
            raise ConfigError(f"split {split} of {judged[0].path} is not finished; finished: {finished}")
        return outcome.result.metrics
    current, likely = graph(), np.mean([run.predictions(split) for run in judged], axis=0)
    if current.fingerprint() != judged[0].graph.fingerprint:
        raise ConfigError(f"{current.name} has changed since {path} was trained, so it cannot judge; train again")
    parts = current.splits[split].scored()
    truth = current.target.values
    return {role: current.task.evaluate(likely[part], truth[part], current.metric) for role, part in parts.items()}
