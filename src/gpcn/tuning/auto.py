"""No hyperparameters to choose: look which signal a graph carries, search where it pays, vote where that helps.

Four steps share a budget of seconds: cheap probes of features alone, links alone and convolution; a study of the GPCN
family that begins with settings which differ as much as graphs do; training of the best few; and a vote among them if
validation nodes say so. Each step writes down what it found, so that stopping at any moment leaves the best so far, and
the same call goes on.
"""

from __future__ import annotations

import json
import math
import re
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gpcn.atomic import replacing
from gpcn.errors import CheckpointError, ConfigError, TrainingError
from gpcn.graph import Graph
from gpcn.locking import locked
from gpcn.training.config import TrainConfig
from gpcn.training.evaluation import summarize
from gpcn.training.metrics import definition, gain, score
from gpcn.training.runs import Run, check_splits, train
from gpcn.tuning.executors import Executor
from gpcn.tuning.executors.local import LocalExecutor
from gpcn.tuning.executors.serial import SerialExecutor
from gpcn.tuning.portfolio import PORTFOLIO, SIGNALS
from gpcn.tuning.schedule import Plan
from gpcn.tuning.space import EPOCHS, FAMILY, PATIENCE, Space
from gpcn.tuning.study import Budget, best, tune
from gpcn.tuning.tasks import Task

SEARCH_SPLITS = 3  # more tell little that the first do not
VOTERS = (1, 3, 5)
SHARES = {"signals": 0.3, "search": 0.75}  # of the budget spent when each step ends
Say = Callable[[str], None]


@dataclass(frozen=True)
class Voter:
    """A trained configuration and its score in the search."""

    run: Run
    score: float


def auto(
    graph: Graph,
    executor: Executor,
    *,
    out: str | Path,
    seconds: float,
    splits: Sequence[int] | None = None,
    seed: int = 0,
    source: dict[str, Any] | None = None,
    say: Say = lambda text: None,
) -> dict[str, Any]:
    """Choose, train and keep the result in `out`; what `gpcn train` returns, with `why`, `signals` and `members`."""
    if not seconds > 0:
        raise ConfigError(f"the budget is {seconds} seconds; expected more than none")
    folder, numbers = Path(out), check_splits(graph, splits)
    if (folder / "config.json").exists():
        raise ConfigError(f"{folder} holds a run of another model; choose another --out")
    with locked(folder):
        return _auto(graph, executor, folder, seconds, numbers, seed, source, say)


def _auto(
    graph: Graph,
    executor: Executor,
    folder: Path,
    seconds: float,
    numbers: list[int],
    seed: int,
    source: dict[str, Any] | None,
    say: Say,
) -> dict[str, Any]:
    start = time.monotonic()
    signals, why = look(graph, executor, numbers[0], seed, start + SHARES["signals"] * seconds)
    for text in why:
        say(text)
    space = Space.of(FAMILY, fixed={"epochs": EPOCHS, "patience": PATIENCE}, directed=graph.directed)
    plan = Plan.of(numbers[:SEARCH_SPLITS], EPOCHS, size=len(PORTFOLIO))
    first = [space.point(model, settings) for model, settings in PORTFOLIO]
    left = SHARES["search"] * seconds - (time.monotonic() - start)
    ledger = tune(
        graph, space, plan, executor, out=folder / "study", budget=Budget(seconds=max(left, 1.0)), seed=seed,
        source=source, first=first,
    )  # fmt: skip
    shown = _formatter(graph)
    ranking, tried = best(ledger), sum(bool(trial.outcomes) for trial in ledger.trials)
    if ranking:
        why.append(f"{tried} configurations tried; the best, {ranking[0][0].config.model}, has {shown(ranking[0][1])}")
    else:
        why.append("there was no time to compare configurations; the first is trained as it is")
        ranking = [(trial, math.nan, "loss") for trial in ledger.trials[:1] if not trial.failed]
    say(why[-1])
    found, voters = _earlier(folder, graph, numbers), list[Voter]()
    for trial, crossed_score, rule in ranking:
        seen = max((each["seconds"] for each in trial.outcomes.values()), default=0.0)
        takes = seen * math.ceil(len(numbers) / executor.workers)
        if len(voters) == max(VOTERS) or (voters and time.monotonic() - start + takes > seconds):
            break
        told = trial.config.to_json()
        told["training"] = {**told["training"], "select": rule}
        path = folder / "members" / f"{trial.number:04d}-{rule}"
        try:
            train(graph, TrainConfig.from_json(told), out=path, splits=numbers, jobs=executor.workers, source=source)
        except TrainingError as error:
            why.append(f"configuration {trial.number} cannot vote: {error}")
            say(why[-1])
            continue
        voters.append(Voter(Run.open(path), crossed_score))
        new = _vote(graph, voters, numbers, signals, why)
        if found is None or gain(graph.metric, new["val_mean"]) >= gain(graph.metric, found["val_mean"]):
            found = new
            _keep(folder, found)
    if found is None:
        raise CheckpointError("no configuration could be trained on all splits; name a model and its settings instead")
    say(found["why"][-1])
    return found | {"seconds": round(time.monotonic() - start, 3), "configurations": tried}


def _earlier(folder: Path, graph: Graph, numbers: Sequence[int]) -> dict[str, Any] | None:
    """What an earlier call chose in `folder`, where it was for the same splits."""
    if not (folder / "auto.json").exists():
        return None
    told = read_choice(folder)
    try:
        same = [each["split"] for each in told["splits"]] == list(numbers) and told["graph"] == graph.name
        return told if same and math.isfinite(told["val_mean"]) else None
    except (KeyError, TypeError) as error:
        raise CheckpointError(f"{folder / 'auto.json'} is damaged; choose another --out") from error


def chosen_models(
    graph: Graph, *, seconds: float, jobs: int | None = 1, seed: int = 0
) -> tuple[list[tuple[Any, TrainConfig]], dict[str, Any]]:
    """The models that vote, trained on the first split of `graph`, with their configurations; and why."""
    from gpcn.training.fitted import Fitted

    executor: Executor = SerialExecutor(graph) if jobs in (None, 1) else LocalExecutor(graph, jobs)
    with tempfile.TemporaryDirectory(prefix="gpcn-auto-") as folder:
        try:
            found = auto(graph, executor, out=folder, seconds=seconds, splits=[0], seed=seed)
        finally:
            executor.close()
        runs = members(Path(folder))
        return [(Fitted.of(run, graph).model(0), run.config) for run in runs], found


def look(
    graph: Graph, executor: Executor, split: int, seed: int, until: float = math.inf
) -> tuple[dict[str, float], list[str]]:
    """The validation score of each signal alone, as far as time allows, and what that means in words."""
    asked = []
    for number, (_, model, settings) in enumerate(SIGNALS):
        asked.append(Task(number, TrainConfig.of(model, seed=seed, **settings), split))
    found: dict[str, float] = {}
    for task, outcome in executor.run(asked, until):
        if "refused" in outcome:
            raise ConfigError(outcome["refused"])
        name = SIGNALS[task.trial][0]
        if "failed" not in outcome:
            candidates = [outcome["loss"], outcome["metric"], *([found[name]] if name in found else [])]
            found[name] = max(candidates, key=lambda value: gain(graph.metric, value))
    if not found:
        return {}, ["there was no time to probe the signals one by one"]
    digits = definition(graph.metric).digits - 1
    told = ", ".join(f"{name} {value:.{digits}f}" for name, value in found.items())
    strongest = max(found, key=lambda name: gain(graph.metric, found[name]))
    return found, [f"signals on validation nodes of split {split}: {told}; {strongest} carries most"]


def _vote(
    graph: Graph, voters: Sequence[Voter], numbers: Sequence[int], signals: dict[str, float], why: Sequence[str]
) -> dict[str, Any]:
    """The best number of voters by validation score, and its result."""
    ways = {count: _result(graph, voters[:count], numbers) for count in VOTERS if count <= len(voters)}
    count = max(ways, key=lambda many: (gain(graph.metric, ways[many]["val_mean"]), many))
    shown = _formatter(graph)
    told = ", ".join(f"{many}: {shown(way['val_mean'])}" for many, way in ways.items())
    config = voters[0].run.config
    chosen = f"{config.model} alone" if count == 1 else f"a vote of the best {count}"
    return {
        **ways[count],
        "model": "auto",
        "chosen": chosen,
        "config": config.to_json(),
        "signals": signals,
        "why": [*why, f"chosen: {chosen} (validation score by number of voters: {told})"],
        "members": [voter.run.path.name for voter in voters[:count]],
    }


def _result(graph: Graph, voters: Sequence[Voter], numbers: Sequence[int]) -> dict[str, Any]:
    splits = []
    for number in numbers:
        likely = np.mean([predictions(voter.run, number) for voter in voters], axis=0)
        parts = graph.splits[number]
        scores = {
            role: score(likely[nodes], graph.labels[nodes], graph.metric, graph.positive)
            for role, nodes in (("train", parts.train), ("val", parts.val), ("test", parts.test))
        }
        splits.append({"split": number, **scores})
    test_mean, test_std = summarize([each["test"] for each in splits])
    val_mean, _ = summarize([each["val"] for each in splits])
    told = {"graph": graph.name, "metric": graph.metric, "test_mean": test_mean, "test_std": test_std}
    return {**told, "val_mean": val_mean, "splits": splits}


def _formatter(graph: Graph) -> Callable[[float | None], str]:
    """Scores in the digits of the graph's metric; a dash where undefined."""
    digits = definition(graph.metric).digits
    return lambda value: "–" if value is None else f"{value:.{digits}f}"


def predictions(run: Run, number: int) -> Any:
    """Probabilities of all nodes, as the run kept them."""
    from gpcn.data.archives import read_npz

    file = run.folder(number) / "predictions.npz"
    return read_npz(file, str(file))["probabilities"]


def read_choice(folder: Path) -> dict[str, Any]:
    """What `auto` chose in `folder`, and why."""
    file = folder / "auto.json"
    try:
        told = json.loads(file.read_bytes())
        return {**told, "members": [str(name) for name in told["members"]], "why": [str(text) for text in told["why"]]}
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise CheckpointError(f"{file} is damaged; run gpcn train --model auto again") from error


def members(folder: Path) -> list[Run]:
    """The runs that vote, of a folder that `auto` wrote."""
    names = read_choice(folder)["members"]
    if not names or any(not re.fullmatch(r"\d{4,}-(loss|metric)", name) for name in names):
        raise CheckpointError(f"{folder / 'auto.json'} names no members; run gpcn train --model auto again")
    return [Run.open(folder / "members" / name) for name in names]


def _keep(folder: Path, found: dict[str, Any]) -> None:
    with replacing(folder / "auto.json") as stream:
        stream.write(json.dumps(found, indent=1, allow_nan=False).encode())
