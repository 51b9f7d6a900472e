"""Members once more, on training and validation nodes together: for the predictions that will be used.

Nothing is left to stop by, so every training takes as many epochs as the member's best one had, and the last is kept.
The scores that `auto` reports are those from before; of these models nothing honest can be said on validation nodes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from gpcn.core.atomic import add_folder
from gpcn.core.errors import Option, TrainingError
from gpcn.data.graph_record import GraphSource
from gpcn.exec.executor import thread_count
from gpcn.graph import Graph, Split
from gpcn.records import layout
from gpcn.runs.results import SplitResult
from gpcn.runs.run import Run
from gpcn.runs.run_creation import open_or_create_run
from gpcn.runs.split_run import part_scores, write_split
from gpcn.training.fit import fit
from gpcn.training.loop import LAST
from gpcn.training.observers import EndAt
from gpcn.training.problem import Problem


def refit_members(
    folder: Path,
    graph: Graph,
    runs: Sequence[Run],
    numbers: Sequence[int],
    source: GraphSource | None,
    log: Callable[[str], None],
    until: float = math.inf,
) -> list[str]:
    """The members' runs again, each split's training and validation nodes together, in `refitted`; their names.

    A training that would, by what it took before, pass `until` is left out, and its member with it; the next call goes
    on with these.
    """
    names = []
    for run in {run.path: run for run in runs}.values():
        path = folder / layout.REFITTED / run.path.name
        add_folder(path.parent)
        add_folder(path)
        again = open_or_create_run(path, graph, run.config, source)
        complete = True
        for number in numbers:
            trained, done = run.outcome(number), again.outcome(number)
            if trained is None:
                continue
            before = trained.result
            if done is not None and done.result.best_epoch == before.best_epoch:
                continue
            if time.monotonic() + before.seconds > until:
                complete = False
                break
            _refit(graph, again, number, before)
        if not complete:
            continue
        again.keep_result()
        log(f"refitted: {run.path.name} ({run.config.model}) on training and validation nodes together")
        names.append(run.path.name)
    return names


def _refit(graph: Graph, run: Run, number: int, before: SplitResult) -> None:
    start = time.monotonic()
    outer = graph.splits[number]
    with thread_count(1):
        problem = Problem.of(graph, run.config)
        together = Split(train=np.concatenate([outer.train, outer.val]))
        end = EndAt(before.best_epoch + 1)  # the last that is judged is the best one of before
        loop = fit(problem, run.config, together, number, [end], rules=(LAST,))
        probabilities = graph.task.activation(loop.best_logits().double()).float().cpu().numpy()
    if not np.isfinite(probabilities).all():
        raise TrainingError(
            f"{run.config.model} gives numbers that are not finite when refitted; leave {Option('refit')} out"
        )
    add_folder(run.folder(number))
    again = loop.facts(time.monotonic() - start)
    facts = replace(again, parameters=before.parameters, coefficients=before.coefficients, mix=before.mix)
    result = SplitResult.of(number, run.config.seed, part_scores(graph, number, probabilities), facts)
    weights = dict(loop.model.state_dict())
    write_split(run.folder(number), run.key(number), weights, loop.history, probabilities, result)
