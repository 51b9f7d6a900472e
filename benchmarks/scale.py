"""Graphs in parts: what cutting and training cost, measured against the formulas of docs/scale.md; resumable.

    .venv/bin/python benchmarks/scale.py [--nodes 1000000,2000000] [--workers 1,2,4] [--work DIR] [--save]

A random undirected graph of 20 links per node is written as Parquet tables, cut into four parts with `gpcn shard`'s
DuckDB, and trained on for a few epochs by 1, 2 and 4 workers, all on this machine; for 1 and 2 workers neighbouring
parts are put together. Memory and bytes do not depend on what else runs; seconds do, so that seconds of computing
(`core_seconds`, of all threads) are kept beside those of the clock, and the load of the machine when a row began. A
training whose workers together need more than `--limit` is ended, and its row says so. With `--save` each row is kept
in `benchmarks/scale.json` as soon as it is there, rows that are there are not measured again, and the tables of
`docs/scale.md` are made of it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks import scale_steps as steps
from benchmarks.epoch import machine
from benchmarks.performance_page import put_between
from gpcn.paper.evaluations import code_commit

HERE = Path(__file__).resolve().parent
KEPT, PAGE = HERE / "scale.json", HERE.parent / "docs" / "scale.md"
SIZES, WORKERS, PARTS = (1_000_000, 2_000_000, 4_000_000, 8_000_000), (1, 2, 4), 4
MEMORY = "2GB"  # of the database that cuts tables
SETTINGS = {
    "model": steps.MODEL,
    "features": steps.FEATURES,
    "classes": steps.CLASSES,
    "hidden": steps.HIDDEN,
    "layers": steps.LAYERS,
    "links_per_node": steps.DEGREE,
}


def start(*words: object) -> subprocess.Popen[str]:
    """A step in a process of its own."""
    return subprocess.Popen([sys.executable, steps.__file__, *map(str, words)], stdout=subprocess.PIPE, text=True)


def answers(processes: Sequence[subprocess.Popen[str]], limit: float) -> list[dict[str, Any]] | None:
    """What all processes print; `None` if together they needed more memory than `limit`, and were ended."""
    try:
        while any(process.poll() is None for process in processes):
            if sum(_resident(process.pid) for process in processes) > limit:
                return None
            if any(process.poll() for process in processes):
                raise SystemExit("a process of the measurement failed; its error is above")
            time.sleep(0.2)
    finally:
        for process in processes:
            process.kill()
            process.wait()
    if any(process.returncode for process in processes):
        raise SystemExit("a process of the measurement failed; its error is above")
    return [json.loads((process.stdout or sys.stdin).read().splitlines()[-1]) for process in processes]


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (FileNotFoundError, ProcessLookupError):
        return 0


def cut(folder: Path, limit: float) -> dict[str, Any]:
    """The tables of a size in four parts."""
    rows = answers([start("shard", folder / "tables", folder / f"parts-{PARTS}", PARTS, MEMORY)], limit)
    return {"memory": MEMORY, **(rows[0] if rows else {"exceeded": True})}


def train(folder: Path, workers: int, limit: float) -> dict[str, Any]:
    """A few epochs by so many workers."""
    shards = folder / f"parts-{workers}"
    if not (shards / "manifest.json").exists():
        answers([start("merge", folder / f"parts-{PARTS}", shards, workers)], limit)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    rows = answers([start("train", shards, rank, workers, port) for rank in range(workers)], limit)
    if rows is None:
        return {**SETTINGS, "exceeded": True, "limit_bytes": round(limit)}
    slowest = {name: max(row[name] for row in rows) for name in ("seconds_per_epoch", "seconds_until_second_epoch")}
    lists = {name: [row[name] for row in rows] for name in rows[0] if name not in slowest and name != "loss"}
    return {**SETTINGS, **slowest, **lists, "loss": rows[0]["loss"]}


def measure(size: int, workers: Sequence[int], options: argparse.Namespace, rows: list[dict[str, Any]]) -> None:
    """Add the rows of one size that are not there."""
    there = {(row["nodes"], row["step"], row["workers"]) for row in rows}
    wanted = [("shard", PARTS), *(("train", count) for count in workers)]
    missing = [(step, count) for step, count in wanted if (size, step, count) not in there]
    if not missing:
        return
    folder: Path = options.work / str(size)
    steps.write_tables(folder / "tables", size)
    if ("shard", PARTS) in missing:
        shutil.rmtree(folder / f"parts-{PARTS}", ignore_errors=True)  # a part that is there would not be measured
    elif not (folder / f"parts-{PARTS}" / "manifest.json").exists():
        cut(folder, options.limit)
    for step, count in missing:
        load = os.getloadavg()[0]
        row = cut(folder, options.limit) if step == "shard" else train(folder, count, options.limit)
        row = {
            "nodes": size,
            "step": step,
            "workers": count,
            **row,
            "load_before": round(load, 1),
            "commit": code_commit(),
        }
        rows.append(row)
        print(json.dumps(row), flush=True)
        if options.save:
            KEPT.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n")
            write_page(rows)
    if not options.keep:
        shutil.rmtree(folder)


def sharding_table(rows: list[dict[str, Any]]) -> str:
    """What cutting costs, by size."""
    lines = [
        "| nodes | links | seconds | of computing | links per second of computing | peak memory | parts on disk |",
        "| ---: |" + " ---: |" * 6,
    ]
    for row in sorted((row for row in rows if row["step"] == "shard"), key=lambda row: row["nodes"]):
        cells = [f"{row['nodes']:,}", f"{row['links']:,}", f"{row['seconds']:,.0f}", f"{row['core_seconds']:,.0f}"]
        cells.append(f"{row['links_per_core_second']:,}")
        lines.append(f"| {' | '.join(cells)} | {_gb(row['peak_bytes'])} | {_gb(row['bytes_on_disk'])} |")
    return "\n".join(lines)


def training_table(rows: list[dict[str, Any]]) -> str:
    """What training costs, by size and workers; of several workers the one with most."""
    lines = [
        "| nodes | workers | peak memory of a worker | by the formula | seconds an epoch | of computing, all workers "
        "| sent per worker and epoch | by the formula | at width `h` |",
        "| ---: |" + " ---: |" * 8,
    ]
    trained = [row for row in rows if row["step"] == "train"]
    for row in sorted(trained, key=lambda row: (row["nodes"], row["workers"])):
        begin = f"| {row['nodes']:,} | {row['workers']} | "
        if row.get("exceeded"):
            lines.append(begin + f"more than {_gb(row['limit_bytes'])} in all | – | – | – | – | – | – |")
            continue
        sent, formula, hidden = (
            max(row[f"{name}"]) for name in ("bytes_per_epoch", "formula_bytes", "hidden_width_bytes")
        )
        sizes = zip(row["nodes_here"], row["links_here"], row["rows_arriving"], strict=True)
        memory = f"{_gb(max(row['peak_bytes']))} | {_gb(max(steps.memory_by_formula(*size) for size in sizes))}"
        distance = f" ({100 * (sent / formula - 1):+.1f} %)" if formula else ""
        traffic = f"{_mb(sent)} | {_mb(formula)}{distance} | {_mb(hidden)}"
        seconds = f"{row['seconds_per_epoch']:.1f} | {sum(row['core_seconds_per_epoch']):.1f}"
        lines.append(begin + f"{memory} | {seconds} | {traffic} |")
    return "\n".join(lines)


def _gb(size: float) -> str:
    return f"{size / 1e9:.2f} GB"


def _mb(size: float) -> str:
    return f"{size / 1e6:,.1f} MB"


def write_page(rows: list[dict[str, Any]]) -> None:
    """The tables of docs/scale.md."""
    put_between(PAGE, "sharding", sharding_table(rows))
    put_between(PAGE, "training", training_table(rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", default=",".join(map(str, SIZES)))
    parser.add_argument("--workers", default=",".join(map(str, WORKERS)))
    parser.add_argument("--work", type=Path, default=Path("/tmp/gpcn-scale"), help="folder for tables and parts")
    parser.add_argument("--limit", type=float, default=14e9, help="bytes that all workers together may need")
    parser.add_argument("--keep", action="store_true", help="leave tables and parts there")
    parser.add_argument("--save", action="store_true", help="keep rows in benchmarks/scale.json, and make the page's")
    options = parser.parse_args()
    rows = json.loads(KEPT.read_text())["rows"] if options.save and KEPT.exists() else []
    for size in map(int, options.nodes.split(",")):
        measure(size, [int(count) for count in options.workers.split(",")], options, rows)
    if not options.save:
        print(sharding_table(rows), training_table(rows), sep="\n\n")


if __name__ == "__main__":
    main()
