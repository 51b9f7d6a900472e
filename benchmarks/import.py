"""Reading tables: six columns of mixed roles beside six plain numbers, 200,000 nodes and 2 million edges from CSV.

    .venv/bin/python benchmarks/import.py [--json] [--nodes 200000] [--edges 2000000] [--save]

Two pairs of tables of the same size: one with six columns of plain numbers, read as they are and without features of
the links (what gpcn did before columns had roles), the other with a number with gaps and a heavy tail, a boolean, a
category, a date, tags and a sentence, read with all defaults. `gpcn inspect --json` of each in a process of its own, in
turn, medians of `--rounds`: seconds and peak memory.
"""

# ruff: noqa: N999
from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.epoch import machine
from gpcn.paper.evaluations import code_commit

HERE = Path(__file__).resolve().parent
PLAIN = ("--scale", "none", "--structure", "none")
WORDS = np.array([f"word{number}" for number in range(2000)], dtype=object)
PEAK = """
import resource, runpy, sys
try:
    runpy.run_module("gpcn", run_name="__main__")
finally:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
"""


def write_tables(folder: Path, nodes: int, edges: int) -> None:
    """`edges.csv`, `plain.csv` and `mixed.csv`."""
    rng = np.random.default_rng(0)
    ids = pa.array([f"n{number}" for number in range(nodes)])
    ends = rng.integers(nodes, size=(2, edges))
    pacsv.write_csv(pa.table({"source": ids.take(ends[0]), "target": ids.take(ends[1])}), folder / "edges.csv")
    label = pa.array(rng.choice(["a", "b", "c"], nodes))
    numbers = {f"x{number}": rng.standard_normal(nodes).round(4) for number in range(6)}
    pacsv.write_csv(pa.table({"id": ids, "label": label, **numbers}), folder / "plain.csv")
    income = np.exp(rng.normal(10, 1, nodes)).round(2)
    days = rng.integers(0, 3000, nodes).astype("datetime64[D]") + np.datetime64("2015-01-01").astype(int)
    tags = [";".join(row) for row in rng.choice(WORDS[:50], size=(nodes, 3))]
    prose = [" ".join(row) for row in rng.choice(WORDS, size=(nodes, 8))]
    mixed = {
        "income": pa.array(income, mask=rng.random(nodes) < 0.08),
        "active": pa.array(rng.choice(["yes", "no"], nodes)),
        "country": pa.array(rng.choice([f"country {number}" for number in range(40)], nodes)),
        "opened": pa.array(days.astype("datetime64[D]")),
        "tags": pa.array(tags),
        "note": pa.array(prose),
    }
    pacsv.write_csv(pa.table({"id": ids, "label": label, **mixed}), folder / "mixed.csv")


def inspect(folder: Path, nodes: str, *options: str) -> tuple[float, float, dict[str, Any]]:
    """Seconds, peak MiB and what it says."""
    words = ["inspect", str(folder / "edges.csv"), "--nodes", str(folder / nodes), "--json", *options]
    start = time.perf_counter()
    answer = subprocess.run([sys.executable, "-c", PEAK, *words], capture_output=True, text=True, check=True)
    return time.perf_counter() - start, int(answer.stderr.split()[-1]) / 1024, json.loads(answer.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--nodes", type=int, default=200_000)
    parser.add_argument("--edges", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--save", action="store_true", help="write benchmarks/import.json")
    options = parser.parse_args()
    times: dict[str, list[tuple[float, float]]] = {"plain": [], "mixed": []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_tables(folder, options.nodes, options.edges)
        for _ in range(options.rounds):
            for kind, extra in (("plain", PLAIN), ("mixed", ())):
                seconds, memory, facts = inspect(folder, f"{kind}.csv", *extra)
                times[kind].append((seconds, memory))
        roles = {column["column"]: column["role"] for column in facts["columns"]}
    medians = {kind: [statistics.median(column) for column in zip(*rows, strict=True)] for kind, rows in times.items()}
    document = {
        "machine": machine(),
        "commit": code_commit(),
        "nodes": options.nodes,
        "edges": options.edges,
        **{f"{kind}_seconds": round(medians[kind][0], 2) for kind in medians},
        **{f"{kind}_mib": round(medians[kind][1]) for kind in medians},
        "time_ratio": round(medians["mixed"][0] / medians["plain"][0], 2),
        "memory_ratio": round(medians["mixed"][1] / medians["plain"][1], 2),
        "roles": roles,
        "features": facts["features"],
    }
    if options.save:
        (HERE / "import.json").write_text(json.dumps(document, indent=1) + "\n")
    print(json.dumps(document, indent=1) if options.json else "\n".join(f"{key}: {document[key]}" for key in document))


if __name__ == "__main__":
    main()
