"""How large a graph may be: seconds and peak memory of whole commands, by size; a row at a time, resumable.

    .venv/bin/python benchmarks/limits.py [--sizes 10000,100000,1000000] [--save]

A directed graph of 10 edges and 20 features per node (`gpcn synth`) is written as two CSV tables. Each command then
runs in a process of its own: `inspect` on the tables, `convert` of them to `.npz`, three trainings of one split on
that, and `predict`. Peak memory is the process's own (`VmHWM`; `ru_maxrss` would begin with that of the parent), so it
does not depend on what else runs; seconds do, and each row has the load of the machine when it began. Trainings have 20
epochs (trees: 20 rounds), and `epoch_seconds` is one of them. With `--save` each row is kept in
`benchmarks/limits.json` as soon as it is there, rows that are there are not measured again, and the table of
`docs/limits.md` is made of it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.epoch import machine
from benchmarks.performance_page import put_between
from gpcn.paper.evaluations import code_commit

HERE = Path(__file__).resolve().parent
KEPT, PAGE = HERE / "limits.json", HERE.parent / "docs" / "limits.md"
SIZES = (10_000, 100_000, 1_000_000)
DEGREE, FEATURES, EPOCHS = 10, 20, 20
MODELS = ("gpcn", "multi-gpcn-link", "trees")
STEPS = ("inspect", "convert", *(f"train {model}" for model in MODELS), "predict")
PEAK = """
import pathlib, runpy, sys
try:
    runpy.run_module("gpcn", run_name="__main__")
finally:
    status = pathlib.Path("/proc/self/status").read_text()
    print(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")), file=sys.stderr)
"""


def words_of(step: str, folder: Path) -> list[str]:
    """The command of a step, with its files in `folder`."""
    tables = [str(folder / "tables" / "edges.csv"), "--nodes", str(folder / "tables" / "nodes.csv")]
    graph, runs = str(folder / "graph.npz"), folder / "runs"
    if step == "inspect":
        return ["inspect", *tables, "--json"]
    if step == "convert":
        return ["convert", *tables, "--out", graph, "--json"]
    if step == "predict":
        return ["predict", str(runs / "gpcn"), "--out", str(folder / "predictions.csv"), "--json"]
    model = step.split()[1]
    settings = ["--set", f"epochs={EPOCHS}", "--splits", "0", "--jobs", "1"]
    return ["train", graph, "--model", model, *settings, "--out", str(runs / model), "--json"]


def run(words: list[str]) -> dict[str, Any]:
    """Seconds, peak megabytes, and of a training the seconds of an epoch."""
    load, start = os.getloadavg()[0], time.perf_counter()
    answer = subprocess.run([sys.executable, "-c", PEAK, *words], capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - start
    if answer.returncode:
        raise SystemExit(f"gpcn {' '.join(words)} failed:\n{answer.stderr}")
    row = {
        "seconds": round(seconds, 1),
        "peak_mb": round(int(answer.stderr.split()[-1]) * 1024 / 1e6),
        "load_before": round(load, 1),
    }
    if words[0] == "train":
        (split,) = json.loads(answer.stdout)["splits"]
        row["epoch_seconds"] = round(split["seconds"] / split["epochs"], 4)
    return row


def measure(size: int, rows: list[dict[str, Any]], save: bool) -> None:
    """Add the rows of one size that are not there."""
    missing = [step for step in STEPS if (size, step) not in {(row["nodes"], row["step"]) for row in rows}]
    if not missing:
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shape = ["--nodes", str(size), "--directed", "--degree", str(DEGREE), "--features", str(FEATURES)]
        run(["synth", *shape, "--splits", "1", "--unlabelled", "0.1", "--out", str(folder / "tables")])
        needed = {"convert"} | ({"train gpcn"} if "predict" in missing else set())  # others read what they write
        for step in (step for step in STEPS if step in {*missing, *needed}):
            row = {"nodes": size, "edges": size * DEGREE, "step": step, **run(words_of(step, folder))}
            if step in missing:
                rows.append({**row, "commit": code_commit()})
                print(json.dumps(rows[-1]), flush=True)
                if save:
                    KEPT.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n")


def table(rows: list[dict[str, Any]]) -> str:
    """The rows as docs/limits.md shows them: memory and seconds by size."""
    sizes = sorted({row["nodes"] for row in rows})
    by_step = {(row["nodes"], row["step"]): row for row in rows}
    lines = ["| command | " + " | ".join(f"{size:,} nodes" for size in sizes) + " |"]
    lines.append("| --- |" + " ---: |" * len(sizes))
    for step in STEPS:
        cells = [_cell(by_step.get((size, step))) for size in sizes]
        lines.append(f"| `{step}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(row: dict[str, Any] | None) -> str:
    if row is None:
        return "not measured"
    memory = f"{row['peak_mb'] / 1000:.1f} GB" if row["peak_mb"] >= 1000 else f"{row['peak_mb']:,} MB"
    if row["seconds"] is None:  # taken out by hand, where the process was paused; `remark` says so
        return memory
    epoch = f" ({row['epoch_seconds'] * 1000:,.0f} ms an epoch)" if "epoch_seconds" in row else ""
    return f"{memory}, {row['seconds']:,.0f} s{epoch}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--save", action="store_true", help="keep rows in benchmarks/limits.json, and make the page's")
    options = parser.parse_args()
    rows = json.loads(KEPT.read_text())["rows"] if options.save and KEPT.exists() else []
    for size in map(int, options.sizes.split(",")):
        measure(size, rows, options.save)
    if options.save:
        put_between(PAGE, "limits", table(rows))
    else:
        print(table(rows))


if __name__ == "__main__":
    main()
