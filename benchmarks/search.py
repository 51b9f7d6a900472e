"""Evaluations per minute of a search: `local` against the obvious loop over configurations and splits as published.

    .venv/bin/python benchmarks/search.py [--json] [--datasets chameleon,texas] [--save]

The same configurations of GPCN, drawn from the space that `gpcn tune` has by default and from the paper's grid (γ at
most 1, so that none diverges), the same splits and the same number of epochs for all (no early stopping: the work is
the same). Ours is timed as it runs, with one and with
two processes, workers started before. Of the loop, `--sample` epochs of each configuration are timed, on all cores,
and multiplied.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.epoch import contender, machine
from gpcn import Graph, load
from gpcn.tuning.executors.local import LocalExecutor
from gpcn.tuning.space import Space
from gpcn.tuning.tasks import Task

HERE = Path(__file__).resolve().parent
CONFIGURATIONS = 12
SPLITS = (0, 1)


def draw(kind: str, epochs: int) -> list[Task]:
    fixed = {"epochs": epochs, "patience": epochs}
    space = Space.of(["gpcn"], kind, fixed=fixed, tried={"gamma": [1, 0.25, 0.0625]})
    rng = np.random.default_rng(0)
    tasks = []
    for number in range(CONFIGURATIONS):
        point = {name: values[rng.integers(len(values))] for name, values in space.dimensions().items()}
        tasks += [Task(number, space.config(point), split) for split in SPLITS]
    return tasks


def ours(graph: Graph, tasks: list[Task], jobs: int) -> float:
    executor = LocalExecutor(graph, jobs)
    try:
        list(executor.run(tasks[:jobs]))
        start = time.perf_counter()
        list(executor.run(tasks))
        return time.perf_counter() - start
    finally:
        executor.close()


def published(graph: Graph, tasks: list[Task], sample: int) -> float:
    total = 0.0
    for task in tasks:
        if task.split != SPLITS[0]:
            continue
        settings = tuple(task.config[name] for name in ("hidden", "layers", "mlp_layers", "gamma", "dropout"))
        run = contender("published", "gpcn", graph, settings)  # type: ignore[arg-type]
        assert run is not None
        run()
        start = time.perf_counter()
        for _ in range(sample):
            run()
        total += (time.perf_counter() - start) / sample * task.config["epochs"] * len(SPLITS)
    return total


def measure(dataset: str, kind: str, epochs: int, sample: int) -> dict[str, Any]:
    graph, tasks = load(dataset), draw(kind, epochs)
    seconds = {f"jobs_{jobs}_s": ours(graph, tasks, jobs) for jobs in (1, 2)}
    loop = published(graph, tasks, sample)
    row: dict[str, Any] = {"dataset": dataset, "space": kind, "evaluations": len(tasks), "epochs": epochs, **seconds}
    row["published_s"] = loop
    row["per_minute"] = 60 * len(tasks) / seconds["jobs_2_s"]
    row["published_per_minute"] = 60 * len(tasks) / loop
    return row | {"speedup": loop / seconds["jobs_2_s"], "two_jobs": seconds["jobs_1_s"] / seconds["jobs_2_s"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--datasets", default="chameleon,texas")
    parser.add_argument("--spaces", default="default,paper")
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--sample", type=int, default=5)
    parser.add_argument("--save", action="store_true", help="write benchmarks/search.json")
    options = parser.parse_args()
    rows = [
        measure(name, kind, options.epochs, options.sample)
        for name in options.datasets.split(",")
        for kind in options.spaces.split(",")
    ]
    if options.save:
        (HERE / "search.json").write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n")
    if options.json:
        print(json.dumps(rows, indent=1))
        return
    for row in rows:
        rates = f"{row['per_minute']:.0f} evaluations a minute against {row['published_per_minute']:.1f}"
        print(f"{row['dataset']}, {row['space']} space: {rates}, {row['speedup']:.1f}x")
        print(f"  two jobs are {row['two_jobs']:.2f}x as fast as one")


if __name__ == "__main__":
    main()
