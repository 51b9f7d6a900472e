"""How fast a search is: `local` against the obvious loop over configurations and splits as published.

    .venv/bin/python benchmarks/search.py [--json] [--datasets chameleon,texas] [--save]

Twelve configurations of GPCN, drawn from the space that `gpcn tune` has by default and from the paper's grid (γ at
most 1, so that none diverges). Nobody stops early, so that the loop's work is known. Two questions:

- *Evaluations a minute at equal work*: the same configurations, splits and epochs on both sides. Ours is timed as it
  runs, with one and with two processes in turn, workers started before; the median of three.
- *The job*: to find the best of the twelve over all splits. The loop trains them all; a study drops those that fall
  behind on their first splits and epochs. To see what that costs, all are then trained in full by us, too, and the
  study's choice is given its place among them.

Of the loop, `--sample` epochs of each configuration are timed, on all cores, and multiplied.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.epoch import contender, machine
from benchmarks.performance_page import PAGE, put_between, search_table
from gpcn import Graph, load
from gpcn.paper.evaluations import code_commit
from gpcn.search.budget import Budget
from gpcn.search.executors import SearchExecutor, local_executor
from gpcn.search.schedule import Plan
from gpcn.search.space import Space
from gpcn.search.study import best, tune
from gpcn.search.tasks import TrialTask
from gpcn.training.loop import RULES

HERE = Path(__file__).resolve().parent
CONFIGURATIONS = 12
EQUAL_WORK = (0, 1)  # splits
REPEAT = 3


def space_of(kind: str, epochs: int) -> Space:
    fixed = {"epochs": epochs, "patience": epochs}
    return Space.of(["gpcn"], kind, fixed=fixed, tried={"gamma": [1, 0.25, 0.0625]})


def draw(space: Space) -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    return [
        {name: values[rng.integers(len(values))] for name, values in space.dimensions().items()}
        for _ in range(CONFIGURATIONS)
    ]


def ours(executor: SearchExecutor, tasks: list[TrialTask]) -> tuple[float, dict[int, list[Any]]]:
    """Seconds, and the outcomes by configuration."""
    outcomes: dict[int, list[Any]] = {}
    list(executor.run(tasks[: executor.workers]))
    start = time.perf_counter()
    for task, outcome in executor.run(tasks):
        outcomes.setdefault(task.trial, []).append(outcome)
    return time.perf_counter() - start, outcomes


def published(graph: Graph, tasks: list[TrialTask], sample: int) -> float:
    """Seconds of all epochs of one evaluation of each configuration."""
    total = 0.0
    for task in tasks:
        settings = tuple(task.config[name] for name in ("hidden", "layers", "mlp_layers", "gamma", "dropout"))
        run = contender("published", "gpcn", graph, settings)  # type: ignore[arg-type]
        assert run is not None
        run()
        start = time.perf_counter()
        for _ in range(sample):
            run()
        total += (time.perf_counter() - start) / sample * task.config["epochs"]
    return total


def job(graph: Graph, space: Space, points: list[dict[str, Any]], epochs: int, two: SearchExecutor) -> dict[str, Any]:
    """Seconds of a study of `points`, and the place of its choice among all of them, trained in full."""
    splits = list(range(len(graph.splits)))
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        plan, budget = Plan.of(splits, epochs, size=len(points)), Budget(configurations=len(points))
        ledger = tune(graph, space, plan, two, out=folder, budget=budget, first=points)
        seconds = time.perf_counter() - start
        chosen = best(ledger)[0][0].number
    tasks = [TrialTask(number, space.config(point), split) for number, point in enumerate(points) for split in splits]
    full, outcomes = ours(two, tasks)
    means = {
        number: max(float(np.mean([outcome[rule] for outcome in trial_outcomes])) for rule in RULES)
        for number, trial_outcomes in outcomes.items()
    }
    rank = 1 + sum(mean > means[chosen] for mean in means.values())
    return {"study_s": seconds, "in_full_s": full, "place": rank, "behind": max(means.values()) - means[chosen]}


def measure(dataset: str, kind: str, epochs: int, sample: int) -> dict[str, Any]:
    graph, space = load(dataset), space_of(kind, epochs)
    points = draw(space)
    tasks = [
        TrialTask(number, space.config(point), split) for number, point in enumerate(points) for split in EQUAL_WORK
    ]
    executors = {jobs: local_executor(graph, jobs) for jobs in (1, 2)}
    try:
        timed = [[ours(executors[jobs], tasks)[0] for jobs in (1, 2)] for _ in range(REPEAT)]
        one_s, two_s = (float(np.median([pair[index] for pair in timed])) for index in (0, 1))
        study_row = job(graph, space, points, epochs, executors[2])
    finally:
        for executor in executors.values():
            executor.close()
    seconds_per_split = published(graph, [task for task in tasks if task.split == EQUAL_WORK[0]], sample)
    loop = seconds_per_split * len(EQUAL_WORK)
    return {
        "dataset": dataset, "space": kind, "configurations": len(points), "epochs": epochs, "commit": code_commit(),
        "jobs_1_s": one_s, "jobs_2_s": two_s, "two_jobs": one_s / two_s, "published_s": loop,
        "per_minute": 60 * len(tasks) / two_s, "published_per_minute": 60 * len(tasks) / loop, "speedup": loop / two_s,
        "splits": len(graph.splits), **study_row, "job_published_s": seconds_per_split * len(graph.splits),
        "job_speedup": seconds_per_split * len(graph.splits) / study_row["study_s"],
    }  # fmt: skip


def keep(row: dict[str, Any]) -> None:
    """Replace the row of this dataset and space in search.json and on the page."""
    file = HERE / "search.json"
    others = [other for other in json.loads(file.read_text())["rows"] if key(other) != key(row)]
    rows = sorted([*others, row], key=key)
    file.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n")
    put_between(PAGE, "search", search_table(rows))


def key(row: dict[str, Any]) -> tuple[str, str]:
    return row["dataset"], row["space"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--datasets", default="chameleon,texas")
    parser.add_argument("--spaces", default="default,paper")
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--sample", type=int, default=5)
    parser.add_argument("--save", action="store_true", help="write benchmarks/search.json and docs/performance.md")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for name in options.datasets.split(","):
        for kind in options.spaces.split(","):
            rows.append(measure(name, kind, options.epochs, options.sample))
            if options.save:  # each as it comes, for a row takes up to half an hour
                keep(rows[-1])
    if options.json:
        print(json.dumps(rows, indent=1))
        return
    for row in rows:
        rates = f"{row['per_minute']:.0f} evaluations a minute against {row['published_per_minute']:.1f}"
        print(f"{row['dataset']}, {row['space']} space: {rates}, {row['speedup']:.1f}x at equal work")
        print(f"  two jobs are {row['two_jobs']:.2f}x as fast as one")
        goal = f"the best of {row['configurations']} over {row['splits']} splits"
        print(
            f"  {goal}: {row['study_s']:.0f} s against {row['job_published_s']:.0f} s, {row['job_speedup']:.0f}x;",
            end=" ",
        )
        print(f"its choice is number {row['place']} of all, {row['behind']:.2f} points behind the first")


if __name__ == "__main__":
    main()
