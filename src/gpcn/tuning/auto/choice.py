"""What `auto` chose, on disk: `auto.json`, and its members as runs like any other.

auto.json                 the choice, what to expect of it, what was tried, and why
members/0007-loss/        a run: candidate 7, its epoch chosen by loss
refitted/0007-loss/       the same trained on training and validation nodes together, where that was asked for
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gpcn.data.graph_record import GraphSource
from gpcn.files.atomic import add_folder
from gpcn.files.sealed import FORMAT, read_sealed, write_sealed
from gpcn.graph import Graph
from gpcn.training.runs.run import Run
from gpcn.training.runs.run_creation import open_or_create_run
from gpcn.training.runs.split_run import read_split_result, split_result, write_split
from gpcn.training.scores.evaluation import summarize
from gpcn.tuning.auto.candidates import Candidate, Store
from gpcn.tuning.auto.choice_record import check_choice_record

FILE, MEMBERS, REFITTED = "auto.json", "members", "refitted"


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
    path = folder / MEMBERS / auto_member_name(candidate.number, rule)
    add_folder(path.parent)
    add_folder(path)
    run = open_or_create_run(path, graph, candidate.config.with_epoch_rule(rule), source)
    for number in numbers:
        holdout = f"split-{number:02d}"
        if holdout not in candidate.judgements:
            continue
        probabilities, metadata = store.predictions(candidate.number, holdout, rule)
        earlier = read_split_result(run.folder(number), run.key(number))
        if earlier is not None and earlier["epochs"] == metadata["epochs"]:
            continue
        weights, history = store.weights(candidate.number, holdout, rule)
        facts = {
            "epochs": metadata["epochs"],
            "best_epoch": metadata["best_epochs"][rule][0],
            "seconds": metadata["seconds"],
            **metadata["about"][rule],
        }
        add_folder(run.folder(number))
        result = split_result(graph, run.config, number, probabilities, facts)
        write_split(run.folder(number), run.key(number), weights, history, probabilities, result)
    write_sealed(path / "result.json", {"format": FORMAT, **run.result()}, indent=1)
    return run


def scores_of_average(graph: Graph, runs: Sequence[Run], numbers: Sequence[int]) -> dict[str, Any]:
    """Scores of the average of `runs` on every split, and their means, as `gpcn train` gives them."""
    splits = []
    for number in numbers:
        likely = np.mean([predictions(run, number) for run in runs], axis=0)
        parts = graph.splits[number]
        scores = {
            role: graph.task.score(likely[nodes], graph.labels[nodes], graph.metric)
            for role, nodes in (("train", parts.train), ("val", parts.val), ("test", parts.test))
        }
        splits.append({"split": number, **scores})
    test_mean, test_std = summarize([split["test"] for split in splits])
    val_mean, _ = summarize([split["val"] for split in splits])
    means = {"graph": graph.name, "metric": graph.metric, "test_mean": test_mean, "test_std": test_std}
    return {**means, "val_mean": val_mean, "splits": splits}


def write_choice(folder: Path, choice: dict[str, Any]) -> None:
    """Replace `auto.json`, then take away members that are none any more."""
    write_sealed(folder / FILE, {"format": FORMAT, **choice}, indent=1)
    for kind in (MEMBERS, REFITTED):
        for path in (folder / kind).glob("*"):
            if path.name not in choice["members"]:
                shutil.rmtree(path, ignore_errors=True)


def read_choice(folder: Path) -> dict[str, Any]:
    """What `auto` chose in `folder`, and why."""
    choice = read_sealed(folder / FILE, check_choice_record, "run gpcn auto again")
    return {key: value for key, value in choice.items() if key != "format"}


def members(folder: Path) -> list[Run]:
    """The runs whose probabilities are averaged, of a folder that `auto` wrote; who counts twice is there twice."""
    return _opened(folder, read_choice(folder)["members"])


def refitted(folder: Path) -> list[Run]:
    """The same, trained on validation nodes too where that was asked for and done: what predictions are by."""
    choice = read_choice(folder)
    again = choice.get("refitted_members", choice["members"]) if choice.get("refitted") else []
    return _opened(folder, choice["members"], again)


def _opened(folder: Path, names: Sequence[str], again: Sequence[str] = ()) -> list[Run]:
    opened = {name: Run.open(folder / (REFITTED if name in again else MEMBERS) / name) for name in dict.fromkeys(names)}
    return [opened[name] for name in names]


def predictions(run: Run, number: int) -> npt.NDArray[np.float64]:
    """Probabilities of all nodes, as the run kept them."""
    return run.predictions(number)
