"""Peak memory of contenders, each in a process of its own, forked from one that has loaded the graph.

.venv/bin/python benchmarks/peak_memory.py '["texas", [["gpcn", [512, 1, 3, 0.015625, 0.6], "ours"]]]'
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks import bank_contenders
from benchmarks.one_epoch import Settings, contender, graph_of
from gpcn import Graph
from gpcn.nn.engine.memory import reuse_freed_memory

Point = tuple[str, Settings, str]  # model, settings, contender


def peak_memories(dataset: str, points: Sequence[Point]) -> list[float | None]:
    """Megabytes that three epochs take beyond the loaded graph, each measured in a process of its own."""
    command = [sys.executable, __file__, json.dumps([dataset, points])]
    return list(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))


def report_peaks(dataset: str, points: Sequence[Point]) -> None:
    """One forked process per point, from one that has loaded the graph and computed nothing."""
    reuse_freed_memory()
    graph = graph_of(dataset)
    peaks: list[float | None] = []
    for name, settings, kind in points:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(writer, json.dumps(_peak(graph, name, settings, kind)).encode())
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as stream:
            peaks.append(json.loads(stream.read() or "null"))
        os.waitpid(child, 0)
    print(json.dumps(peaks))


def _peak(graph: Graph, name: str, settings: Settings, kind: str) -> float | None:
    torch.randn(64, 64) @ torch.randn(64, 64)
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    before = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    run = contender(kind, name, graph, settings)
    if run is None:
        return None
    for _ in range(3):
        run()
    peak = next(
        int(line.split()[1]) * 1024 for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line
    )
    return (peak - before) / 1e6


def add_memory(dataset: str, rows: list[dict[str, Any]]) -> None:
    """Peaks of ours and of what stands beside it, into rows of one dataset."""
    points: list[Point] = []
    for entry in rows:
        settings: Any = tuple(entry[key] for key in ("hidden", "layers", "mlp_layers", "gamma", "dropout"))
        beside = "message_passing" if entry["model"] in bank_contenders.BANK_MODELS else "published"
        points += [(entry["model"], settings, "ours"), (entry["model"], settings, beside)]
    peaks = peak_memories(dataset, points)
    for number, entry in enumerate(rows):
        entry["ours_peak_mb"], entry["published_peak_mb"] = peaks[2 * number : 2 * number + 2]


if __name__ == "__main__":
    report_peaks(*json.loads(sys.argv[1]))
