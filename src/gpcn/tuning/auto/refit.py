"""Members once more, on training and validation nodes together: for the predictions that will be used.

Nothing is left to stop by, so every training takes as many epochs as the member's best one had, and the last is kept.
The scores that `auto` reports are those from before; of these models nothing honest can be said on validation nodes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gpcn.data.graph_record import GraphSource
from gpcn.errors import Option, TrainingError
from gpcn.exec.executor import thread_count
from gpcn.files.atomic import add_folder
from gpcn.files.sealed import FORMAT, write_sealed
from gpcn.graph import Graph, Split
from gpcn.training.fit import fit
from gpcn.training.loop import LAST
from gpcn.training.observers import EndAt
from gpcn.training.problem import Problem
from gpcn.training.runs.run import Run
from gpcn.training.runs.run_creation import open_or_create_run
from gpcn.training.runs.split_run import read_split_result, split_result, write_split
from gpcn.tuning.auto.choice import REFITTED


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
        path = folder / REFITTED / run.path.name
        add_folder(path.parent)
        add_folder(path)
        again = open_or_create_run(path, graph, run.config, source)
        complete = True
        for number in numbers:
            before = read_split_result(run.folder(number), run.key(number))
            if before is None:
                continue
            done = read_split_result(again.folder(number), again.key(number))
            if done is not None and done["best_epoch"] == before["best_epoch"]:
                continue
            if time.monotonic() + float(before["seconds"]) > until:
                complete = False
                break
            _refit(graph, again, number, before)
        if not complete:
            continue
        write_sealed(path / "result.json", {"format": FORMAT, **again.result()}, indent=1)
        log(f"refitted: {run.path.name} ({run.config.model}) on training and validation nodes together")
        names.append(run.path.name)
    return names


def _refit(graph: Graph, run: Run, number: int, before: dict[str, Any]) -> None:
    start = time.monotonic()
    outer = graph.splits[number]
    with thread_count(1):
        problem = Problem.of(graph, run.config)
        together = Split(train=np.concatenate([outer.train, outer.val]))
        end = EndAt(int(before["best_epoch"]) + 1)  # the last that is judged is the best one of before
        loop = fit(problem, run.config, together, number, [end], rules=(LAST,))
        probabilities = graph.task.activation(loop.best_logits().double()).float().cpu().numpy()
    if not np.isfinite(probabilities).all():
        raise TrainingError(
            f"{run.config.model} gives numbers that are not finite when refitted; leave {Option('refit')} out"
        )
    training_facts = {
        **{name: before[name] for name in ("best_epoch", "parameters", "coefficients", "mix")},
        "epochs": loop.epoch,
        "seconds": round(time.monotonic() - start, 3),
    }
    add_folder(run.folder(number))
    result = split_result(graph, run.config, number, probabilities, training_facts)
    weights = dict(loop.model.state_dict())
    write_split(run.folder(number), run.key(number), weights, loop.history, probabilities, result)
