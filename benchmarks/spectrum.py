"""How long the spectrum of a large graph takes, and how much memory, beside the exact one where that is possible.

    .venv/bin/python benchmarks/spectrum.py [--json] [--nodes 2000,1000000] [--save]

Stochastic Lanczos quadrature of the normalized adjacency of synthetic graphs with ten links a node, powers 1 to 8.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.epoch import machine
from gpcn import synthesize
from gpcn.nn import Adjacency
from gpcn.theory.quantities import normalized
from gpcn.theory.spectrum import EXACT_UP_TO, power_sums

HERE = Path(__file__).resolve().parent
POWERS = 8


def measure(nodes: int) -> dict[str, Any]:
    graph = synthesize(nodes=nodes, classes=4, degree=10, features=4, splits=1, seed=0)
    matrix = normalized(Adjacency.of(graph))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    estimate = power_sums(matrix, POWERS, method="lanczos")
    seconds = time.perf_counter() - start
    row: dict[str, Any] = {
        "nodes": nodes, "links": int(graph.adjacency.nnz), "lanczos_s": seconds,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "peak_before_mb": before / 1024,
        "relative_errors": (estimate.errors[1:] / estimate.values[1:]).tolist(),
    }  # fmt: skip
    if nodes <= EXACT_UP_TO:
        start = time.perf_counter()
        exact = power_sums(matrix, POWERS, method="exact")
        row["exact_s"] = time.perf_counter() - start
        row["differences"] = (abs(estimate.values - exact.values) / exact.values)[1:].tolist()
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--nodes", default="2000,100000,1000000")
    parser.add_argument("--save", action="store_true", help="write benchmarks/spectrum.json")
    options = parser.parse_args()
    rows = [measure(int(text)) for text in options.nodes.split(",")]
    document = {"machine": machine(), "rows": rows}
    if options.save:
        (HERE / "spectrum.json").write_text(json.dumps(document, indent=1) + "\n")
    if options.json:
        print(json.dumps(document, indent=1))
        return
    for row in rows:
        exact = f", exact {row['exact_s']:.1f} s" if "exact_s" in row else ""
        worst = max(row["relative_errors"])
        print(f"{row['nodes']:,} nodes, {row['links']:,} links: {row['lanczos_s']:.1f} s{exact}, "
              f"peak {row['peak_mb']:,.0f} MB, error at most {worst:.1%}")  # fmt: skip


if __name__ == "__main__":
    main()
