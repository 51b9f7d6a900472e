"""`auto` on graphs that its portfolio has not seen, each split by itself, into results/auto.csv; stop and go on at any
time.

    .venv/bin/python benchmarks/auto.py [--datasets texas,cora] [--splits 0,1] [--budget 5m] [--jobs 1] [--results DIR]
    .venv/bin/python benchmarks/auto.py --defaults       # the models of `gpcn compare` with default settings, beside it

One row per dataset and split: test and validation score, the expected interval, what was chosen, how much was tried.
A row that is there is not made again. Where results/portfolio.csv has evaluations (`benchmarks/portfolio.py evaluate`),
each graph is measured with a portfolio built without it; without any, `--seen` must say that the package's own
portfolio, which may have been made with this graph, is meant. The machine should have nothing else to do: the budget
is time. On two cores two calls with `--jobs 1` and a results folder each measure twice as much, with half of the
computer for each row.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.portfolio import COLUMNS as EVALUATED
from benchmarks.portfolio import DATASETS, build, graph_called
from benchmarks.tables import SETTLED
from gpcn import save
from gpcn.core.errors import ConfigError
from gpcn.nn import zoo
from gpcn.paper import rows
from gpcn.paper.evaluations import code_commit
from gpcn.paper.results_page.automatic import COLUMNS, DEFAULTS, DEFAULTS_KEY, DEFAULTS_TABLE, KEY, TABLE
from gpcn.runs.training import train
from gpcn.search.auto.portfolio import portfolio_text
from gpcn.training.config import TrainConfig
from gpcn.training.settle import settle

ROOT = Path(__file__).resolve().parents[1]


def measure(dataset: str, split: int, budget: str, jobs: int | None, portfolio: Path | None) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        graph = dataset
        if dataset in SETTLED:
            graph = str(Path(folder) / f"{dataset}.npz")
            save(graph_called(dataset), Path(graph))
        words = [
            "auto",
            graph,
            "--budget",
            budget,
            "--splits",
            str(split),
            "--out",
            str(Path(folder) / "out"),
            "--json",
        ]
        words += [] if portfolio is None else ["--portfolio", str(portfolio)]
        words += [] if jobs is None else ["--jobs", str(jobs)]
        command = [sys.executable, "-m", "gpcn", *words]
        result = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
    return {
        "dataset": dataset, "split": split, "budget": budget, "test": round(result["test_mean"], 3),
        "val": round(result["judged"], 3), "expected_low": round(result["expected"]["low"], 3),
        "expected_high": round(result["expected"]["high"], 3), "chosen": result["chosen"],
        "tried": result["configurations"], "seconds": round(result["seconds"], 1), "commit": code_commit(),
    }  # fmt: skip


def measure_defaults(dataset: str, split: int, folder: Path) -> None:
    """The models of `gpcn compare` with default settings on the same split."""
    file = folder / DEFAULTS_TABLE
    measured = {tuple(row[name] for name in DEFAULTS_KEY) for row in rows.read(file, DEFAULTS)}
    graph = graph_called(dataset)
    for model in zoo.USUAL:
        lacks_features = graph.num_features == 0 and zoo.specification_of(model).needs_features
        if lacks_features or (dataset, model, str(split)) in measured:
            continue
        result = train(graph, settle(TrainConfig.of(model), graph), splits=[split], jobs=None)
        row: dict[str, Any] = {"dataset": dataset, "model": model, "split": split}
        row |= {name: getattr(result, f"{name}_mean") for name in ("test", "val")}
        row |= {"seconds": result.seconds, "commit": code_commit()}
        rows.write(file, DEFAULTS, [row], DEFAULTS_KEY)
        print(dataset, model, split, row["test"], flush=True)


def portfolio_without(dataset: str, folder: Path, target: Path, *, seen: bool) -> Path | None:
    """A file with the portfolio that has not seen `dataset`; nothing where the package's own is meant."""
    table = rows.read(folder / "portfolio.csv", EVALUATED)
    if not table:
        if not seen:
            raise ConfigError(
                f"{folder / 'portfolio.csv'} has no evaluations, so no graph can be left out; run "
                "benchmarks/portfolio.py evaluate first, or add --seen to measure with the package's own portfolio"
            )
        return None
    target.write_text(portfolio_text(build(table, dataset)))
    return target


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", default=DATASETS)
    parser.add_argument("--splits", default="0,1")
    parser.add_argument("--budget", default="5m")
    parser.add_argument("--jobs", type=int, default=None, help="processes of each call (default: one per core)")
    parser.add_argument("--results", type=Path, default=ROOT / "results")
    parser.add_argument("--defaults", action="store_true")
    parser.add_argument("--seen", action="store_true")
    options = parser.parse_args()
    splits, table = [int(text) for text in options.splits.split(",")], options.results / TABLE
    for split in splits:
        for dataset in options.datasets.split(","):
            if options.defaults:
                measure_defaults(dataset, split, options.results)
                continue
            existing = rows.read(table, COLUMNS)
            if any((row["dataset"], row["split"]) == (dataset, str(split)) for row in existing):
                continue
            with tempfile.TemporaryDirectory() as folder:
                target = Path(folder) / "portfolio.json"
                portfolio = portfolio_without(dataset, options.results, target, seen=options.seen)
                row = measure(dataset, split, options.budget, options.jobs, portfolio)
            rows.write(table, COLUMNS, [row], KEY)
            print(", ".join(f"{name} {value}" for name, value in row.items()), flush=True)


if __name__ == "__main__":
    main()
