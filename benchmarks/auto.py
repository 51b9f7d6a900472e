"""`auto` on the benchmarks, each split by itself, into results/auto.csv; stop it and go on at any time.

    .venv/bin/python benchmarks/auto.py [--datasets texas,cora] [--splits 0,1,2] [--budget 5m]

One row per dataset and split: test and validation score, what was chosen, seconds. A row that is there is
not made again. The machine should have nothing else to do: the budget is time.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from gpcn.paper import rows
from gpcn.paper.automatic import COLUMNS, KEY
from gpcn.paper.evaluations import commit

RESULTS = Path(__file__).resolve().parents[1] / "results" / "auto.csv"
DATASETS = "texas,cornell,wisconsin,chameleon,squirrel,film,cora,citeseer,twitch-de"


def measure(dataset: str, split: int, budget: str) -> dict[str, object]:
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
            known = rows.read(RESULTS, COLUMNS)
            if any((row["dataset"], row["split"]) == (dataset, str(split)) for row in known):
                continue
            row = measure(dataset, split, options.budget)
            rows.write(RESULTS, COLUMNS, [row], KEY)
            print(", ".join(f"{name} {value}" for name, value in row.items()), flush=True)


if __name__ == "__main__":
    main()
