"""`auto` on the benchmarks, each split by itself, into results/auto.csv; stop it and go on at any time.

    .venv/bin/python benchmarks/auto.py [--datasets texas,cora] [--splits 0,1,2] [--budget 5m]

One row per dataset and split: test and validation score, what was chosen, seconds. A row that is there is not made again.
The machine should have nothing else to do: the budget is time.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path

RESULTS = Path(__file__).resolve().parents[1] / "results" / "auto.csv"
DATASETS = "texas,cornell,wisconsin,chameleon,squirrel,film,cora,citeseer,twitch-de"
COLUMNS = ("dataset", "split", "test", "val", "chosen", "model", "configurations", "seconds", "budget", "commit")


def known() -> list[dict[str, str]]:
    return list(csv.DictReader(RESULTS.read_text().splitlines())) if RESULTS.exists() else []


def measure(dataset: str, split: int, budget: str) -> dict[str, object]:
    from gpcn.paper.evaluations import commit

    with tempfile.TemporaryDirectory() as folder:
        words = ["train", dataset, "--model", "auto", "--budget", budget, "--splits", str(split), "--out", folder]
        command = [sys.executable, "-m", "gpcn", *words, "--json"]
        told = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return {
        "dataset": dataset, "split": split, "test": round(told["test_mean"], 3), "val": round(told["val_mean"], 3),
        "chosen": told["chosen"], "model": told["config"]["model"], "configurations": told["configurations"],
        "seconds": round(told["seconds"], 1), "budget": budget, "commit": commit(),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", default=DATASETS)
    parser.add_argument("--splits", default="0,1,2")
    parser.add_argument("--budget", default="5m")
    options = parser.parse_args()
    for split in (int(text) for text in options.splits.split(",")):
        for dataset in options.datasets.split(","):
            rows = known()
            if any((row["dataset"], row["split"]) == (dataset, str(split)) for row in rows):
                continue
            row = measure(dataset, split, options.budget)
            with RESULTS.open("w", newline="") as stream:
                writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
                writer.writeheader()
                writer.writerows([*rows, row])
            print(", ".join(f"{name} {value}" for name, value in row.items()), flush=True)


if __name__ == "__main__":
    main()
