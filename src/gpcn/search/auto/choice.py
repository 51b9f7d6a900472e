"""What `auto` chose, on disk: `auto.json`, and its members as runs like any other.

auto.json                 the choice, what to expect of it, what was tried, and why
members/0007-loss/        a run: candidate 7, its epoch chosen by loss
refitted/0007-loss/       the same trained on training and validation nodes together, where that was asked for
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from gpcn.core.atomic import add_folder
from gpcn.data.graph_record import GraphSource
from gpcn.graph import Graph
from gpcn.records import layout
from gpcn.records.sealed import read_record, write_sealed
from gpcn.runs.results import SplitResult
from gpcn.runs.run import Run
from gpcn.runs.run_creation import open_or_create_run
from gpcn.runs.score_statistics import summarize
from gpcn.runs.split_run import part_scores, write_split
from gpcn.search.auto.candidates import Candidate, Store
from gpcn.search.auto.choice_record import AutoChoice, AutoSplit, AverageScores, FinishedChoice


def auto_member_name(number: int, rule: str) -> str:
    """What the run of a candidate is called."""
    return f"{number:04d}-{rule}"


def write_auto_member(
    folder: Path,
    graph: Graph,
    store: Store,
    candidate: Candidate,
    rule: str,
    numbers: Iterable[int],
    source: GraphSource | None,
) -> Run:
    """The run of a candidate under `rule`, with those of the splits in which it was evaluated."""
    path = folder / layout.MEMBERS / auto_member_name(candidate.number, rule)
    add_folder(path.parent)
    add_folder(path)
    run = open_or_create_run(path, graph, candidate.config.with_epoch_rule(rule), source)
    for number in numbers:
        holdout = layout.split_name(number)
        if holdout not in candidate.judgements:
            continue
        probabilities, facts = store.predictions(candidate.number, holdout, rule)
        earlier = run.outcome(number)
        if earlier is not None and earlier.result.epochs == facts.epochs:
            continue
        weights, history = store.weights(candidate.number, holdout, rule)
        add_folder(run.folder(number))
        parts = part_scores(graph, number, probabilities)
        result = SplitResult.of(number, run.config.seed, parts, facts)
        write_split(run.folder(number), run.key(number), weights, history, probabilities, result)
    run.keep_result()
    return run


def scores_of_average(graph: Graph, runs: Sequence[Run], numbers: Sequence[int]) -> AverageScores:
    """Return the scores of the average of `runs` on every split, and their means."""
    splits = []
    for number in numbers:
        likely = np.mean([run.predictions(number) for run in runs], axis=0)
        parts = graph.splits[number].scored()
        scores = {
            role: graph.task.score(likely[nodes], graph.target.values[nodes], graph.metric)
            for role, nodes in parts.items()
        }
        splits.append(AutoSplit(split=number, **scores))
    test_mean, test_std = summarize([split.test for split in splits])
    val_mean, _ = summarize([split.val for split in splits])
    return AverageScores(
        graph=graph.name,
        metric=graph.metric,
        test_mean=test_mean,
        test_std=test_std,
        val_mean=val_mean,
        splits=tuple(splits),
    )


def write_choice(folder: Path, choice: AutoChoice) -> None:
    """Replace `auto.json`, then take away members that are none any more."""
    write_sealed(folder / layout.CHOICE, choice, indent=1)
    for kind in (layout.MEMBERS, layout.REFITTED):
        for path in (folder / kind).glob("*"):
            if path.name not in choice.members:
                shutil.rmtree(path, ignore_errors=True)


def read_choice(folder: Path) -> AutoChoice:
    """Return what `auto` chose in `folder`, and why; a `FinishedChoice` where the search came to its end."""
    advice = "run gpcn auto again"
    choice = read_record(folder / layout.CHOICE, AutoChoice, advice)
    return read_record(folder / layout.CHOICE, FinishedChoice, advice) if choice.complete else choice


def members(folder: Path) -> list[Run]:
    """The runs whose probabilities are averaged, of a folder that `auto` wrote; who counts twice is there twice."""
    return _opened(folder, read_choice(folder).members)


def refitted(folder: Path) -> list[Run]:
    """The same, trained on validation nodes too where that was asked for and done: what predictions are by."""
    choice = read_choice(folder)
    return _opened(folder, choice.members, choice.refitted_members if isinstance(choice, FinishedChoice) else ())


def _opened(folder: Path, names: Sequence[str], again: Sequence[str] = ()) -> list[Run]:
    opened = {
        name: Run.open(folder / (layout.REFITTED if name in again else layout.MEMBERS) / name)
        for name in dict.fromkeys(names)
    }
    return [opened[name] for name in names]
