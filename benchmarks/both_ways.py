"""Committed rows of the family trained again with the code as it is: do the means stay within a third of a deviation?

    .venv/bin/python -W ignore benchmarks/both_ways.py [--datasets texas,cora] [--splits 10] [--out FOLDER] [--save]

For each model and dataset the recipe whose committed training was the shorter one, on its first splits. The committed
side is `results/splits.csv`, made by the commit that its rows name; nothing of it is changed. Evaluations are kept in
`--out`, and the same command goes on from there. `--save` writes benchmarks/both_ways.json
and the table of docs/performance.md.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.epoch import machine
from benchmarks.performance_page import PAGE, both_ways_table, put_between
from gpcn.nn.zoo import FAMILY
from gpcn.paper import rows
from gpcn.paper.evaluations import Evaluations
from gpcn.paper.measurements.reproduction import KEY, Cell, measure, recipe_cells

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent / "results"
DATASETS = (
    "texas", "cornell", "wisconsin", "cora", "citeseer", "chameleon", "squirrel", "film", "twitch-de", "deezer-europe",
)  # fmt: skip
ALLOWED = 1 / 3  # of the committed standard deviation


def shortest(datasets: Sequence[str]) -> list[Cell]:
    """The committed cell of each model and dataset that took the least time."""
    table = rows.read(RESULTS / "reproduction.csv", rows.REPRODUCTION)
    seconds = {tuple(row[key] for key in KEY): float(row["seconds"]) for row in table if row["mean"]}
    chosen = []
    for dataset in datasets:
        for method in FAMILY:
            committed = {
                seconds[key]: cell
                for cell in recipe_cells((dataset,), (method,))
                if (key := (dataset, method, cell.recipe.origin)) in seconds
            }
            if committed:
                chosen.append(committed[min(committed)])
    return chosen


def compare(cell: Cell, evaluations: Evaluations, count: int) -> dict[str, Any]:
    """Both means on the same splits, and their distance in committed deviations."""
    key = (cell.dataset, cell.method, cell.recipe.origin)
    committed = [
        row
        for row in rows.read(RESULTS / "splits.csv", rows.SPLITS)
        if tuple(row[name] for name in KEY) == key and int(row["split"]) < count
    ]
    before = [float(row["test"]) for row in sorted(committed, key=lambda row: int(row["split"]))]
    answers = measure([cell], evaluations, splits=range(len(before))).splits
    after = [float(answer["test"]) for answer in answers]
    deviation = statistics.pstdev(before)
    distance = statistics.mean(after) - statistics.mean(before)
    return {
        "dataset": cell.dataset, "model": cell.method, "recipe": cell.recipe.origin, "splits": len(before),
        "committed_mean": statistics.mean(before), "committed_std": deviation, "mean": statistics.mean(after),
        "in_deviations": distance / deviation, "same_splits": sum(a == b for a, b in zip(before, after, strict=True)),
        "committed_at": committed[0]["commit"],
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", default=",".join(DATASETS))
    parser.add_argument("--splits", type=int, default=10, help="how many of the first ones")
    parser.add_argument("--out", type=Path, default=Path("both-ways"), help="folder for what was trained")
    parser.add_argument("--jobs", type=int, default=None)
    parser.add_argument("--save", action="store_true", help="write benchmarks/both_ways.json and docs/performance.md")
    options = parser.parse_args()
    compared = []
    with Evaluations(options.out, options.jobs) as evaluations:
        for cell in shortest(options.datasets.split(",")):
            compared.append(compare(cell, evaluations, options.splits))
            print(line(compared[-1]), flush=True)
    outside = [row for row in compared if abs(row["in_deviations"]) > ALLOWED]
    print(f"{len(compared) - len(outside)} of {len(compared)} means within a third of a deviation")
    if options.save:
        document = {"machine": machine(), "rows": compared}
        (HERE / "both_ways.json").write_text(json.dumps(document, indent=1) + "\n")
        within = f"{len(compared) - len(outside)} of {len(compared)} means are within a third of a committed deviation."
        put_between(PAGE, "both-ways", both_ways_table(compared) + "\n\n" + within)


def line(row: dict[str, Any]) -> str:
    before, after = f"{row['committed_mean']:.2f} ± {row['committed_std']:.2f}", f"{row['mean']:.2f}"
    return (
        f"{row['dataset']} {row['model']} ({row['recipe']}): {before} → {after}, {row['in_deviations']:+.2f} deviations"
    )


if __name__ == "__main__":
    main()
