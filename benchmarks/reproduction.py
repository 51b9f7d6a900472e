"""How long the paper's recipes take here, and would take as published, from epochs timed side by side.

    .venv/bin/python benchmarks/reproduction.py [--json] [--datasets chameleon,texas] [--save]

For every dataset at hand and every model of the family with the paper's recipe: one epoch with validation of ours and
of the published formulation in turn, medians of `--rounds`. Multiplied with the epochs that results/splits.csv counts,
this estimates what the same trainings take as published, on the same two cores. Ours is not an estimate: it is the time
those trainings took, divided by the cores they ran on side by side.
"""

from __future__ import annotations

import argparse
import csv
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.epoch import contender, machine
from benchmarks.performance_page import PAGE, put_between, reproduction_table
from gpcn import load
from gpcn.nn.zoo import FAMILY
from gpcn.paper.reference.recipes import recipe

HERE = Path(__file__).resolve().parent
SPLITS = HERE.parent / "results" / "splits.csv"
CORES = 2


def measure(dataset: str, method: str, rounds: int, splits: list[dict[str, str]]) -> dict[str, Any]:
    graph, settings = load(dataset), recipe(method, dataset, "paper")
    assert settings is not None
    config = settings.config()
    settings = tuple(config[name] for name in ("hidden", "layers", "mlp_layers", "gamma", "dropout"))
    times: dict[str, list[float]] = {"ours": [], "published": []}
    runs = {kind: contender(kind, method, graph, settings) for kind in times}  # type: ignore[arg-type]
    for turn in range(rounds + 1):
        for kind, run in runs.items():
            assert run is not None
            start = time.perf_counter()
            run()
            if turn:
                times[kind].append(time.perf_counter() - start)
    cells = [row for row in splits if (row["dataset"], row["method"], row["recipe"]) == (dataset, method, "paper")]
    epochs = sum(int(row["epochs"]) for row in cells)
    medians = {f"{kind}_ms": 1000 * statistics.median(seconds) for kind, seconds in times.items()}
    return {
        "dataset": dataset, "method": method, **medians, "epochs": epochs,
        "ours_s": sum(float(row["seconds"]) for row in cells) / CORES,
        "published_s": epochs * medians["published_ms"] / 1000,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--datasets")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--save", action="store_true", help="write benchmarks/reproduction.json")
    options = parser.parse_args()
    splits = [row for row in csv.DictReader(SPLITS.read_text().splitlines()) if row["epochs"]]
    there = list(dict.fromkeys(row["dataset"] for row in splits))
    names = options.datasets.split(",") if options.datasets else there
    rows = [measure(dataset, method, options.rounds, splits) for dataset in names for method in FAMILY]
    total = {key: sum(row[key] for row in rows) for key in ("ours_s", "published_s", "epochs")}
    document = {
        "machine": machine(),
        "total": {**total, "speedup": total["published_s"] / total["ours_s"]},
        "rows": rows,
    }
    if options.save:
        (HERE / "reproduction.json").write_text(json.dumps(document, indent=1) + "\n")
        put_between(PAGE, "reproduction", reproduction_table(rows, document["total"]))
    if options.json:
        print(json.dumps(document, indent=1))
        return
    for row in rows:
        times = f"{row['ours_ms']:.0f} ms against {row['published_ms']:.0f} ms an epoch"
        print(f"{row['dataset']} {row['method']}: {times}, {row['ours_s']:.0f} s against {row['published_s']:.0f} s")
    print(f"all: {total['ours_s'] / 60:.1f} minutes against {total['published_s'] / 60:.1f}, "
          f"{document['total']['speedup']:.1f}x")  # fmt: skip


if __name__ == "__main__":
    main()
