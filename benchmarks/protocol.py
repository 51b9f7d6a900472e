"""The whole ten-split protocol, wall-clock: `gpcn train` with its processes against a plain loop as published.

    .venv/bin/python benchmarks/protocol.py [--json] [--datasets chameleon,texas] [--save]

Both sides train the paper's GPCN for the same number of epochs on every split (no early stopping, so that the work is
the same), with validation after every epoch. Ours includes starting its worker processes. The published loop is timed
on its first split and multiplied, unless `--full` is given.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.epoch import PAPER, contender, machine
from benchmarks.performance_page import PAGE, protocol_table, put_between
from gpcn import TrainConfig, load
from gpcn.runs.training import train

HERE = Path(__file__).resolve().parent
LR = {"chameleon": 0.01, "texas": 0.01}


def measure(dataset: str, epochs: int, full: bool) -> dict[str, Any]:
    graph = load(dataset)
    hidden, layers, mlp_layers, gamma, dropout = settings = PAPER[dataset, "gpcn"]
    config = TrainConfig.of(
        "gpcn", hidden=hidden, layers=layers, mlp_layers=mlp_layers, gamma=gamma, dropout=dropout,
        lr=LR[dataset], weight_decay=1e-3, epochs=epochs, patience=epochs,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        result = train(graph, config, out=Path(folder) / "run", jobs=None)
        ours = time.perf_counter() - start
    count = len(graph.splits) if full else 1
    start = time.perf_counter()
    for _ in range(count):
        run = contender("published", "gpcn", graph, settings)
        for _ in range(epochs):
            run()
    published = (time.perf_counter() - start) * len(graph.splits) / count
    return {
        "dataset": dataset, "splits": len(graph.splits), "epochs": epochs, "ours_s": ours, "published_s": published,
        "speedup": published / ours, "published_splits_timed": count, "test_mean": result.test_mean,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--datasets", default="chameleon,texas")
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--full", action="store_true", help="time the published loop on every split")
    parser.add_argument("--save", action="store_true", help="write benchmarks/protocol.json")
    options = parser.parse_args()
    rows = [measure(name, options.epochs, options.full) for name in options.datasets.split(",")]
    if options.save:
        (HERE / "protocol.json").write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n")
        put_between(PAGE, "protocol", protocol_table(rows))
    if options.json:
        print(json.dumps(rows, indent=1))
        return
    for row in rows:
        times = f"ours {row['ours_s']:.1f} s, as published {row['published_s']:.1f} s"
        print(f"{row['dataset']}: {times}, {row['speedup']:.1f}x")


if __name__ == "__main__":
    main()
