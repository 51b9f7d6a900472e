"""One training epoch with validation, side by side in one process: ours, as published, message passing, PyG, the floor.

    .venv/bin/python benchmarks/epoch.py [--json] [--datasets squirrel,texas] [--models gpcn] [--kinds ours,floor]
                                         [--quick] [--save]

All contenders run interleaved, several rounds; the figure is the median over rounds, and contenders that take seconds
an epoch run in the first rounds only. Peak memory is measured in a process of its own per contender. `--save` writes
benchmarks/results.json and the tables of docs/performance.md; rows are kept in benchmarks/partial.json as they come,
and the same command at the same commit goes on from there.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from gpcn import Graph
from gpcn.nn.engine.memory import reuse_freed_memory

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks import bank_contenders
from benchmarks.one_epoch import MODELS, Settings, contender, graph_of
from benchmarks.peak_memory import add_memory, peak_memories

HERE = Path(__file__).resolve().parent
PARTIAL = HERE / "partial.json"
DATASETS = ("chameleon", "squirrel", "film", "texas", "twitch-de", "tolokers", "million")
PAPER = {  # hidden, L, T, gamma, dropout: the paper's hyperparameter tables
    ("chameleon", "gpcn"): (512, 8, 1, 0.25, 0.3),
    ("chameleon", "gpcn-link"): (512, 4, 2, 2**-8, 0.6),
    ("chameleon", "agpcn"): (512, 1, 1, 1.0, 0.6),
    ("chameleon", "agpcn-link"): (64, 2, 1, 1.0, 0.3),
    ("squirrel", "gpcn"): (512, 8, 1, 0.0625, 0.3),
    ("squirrel", "gpcn-link"): (512, 8, 1, 4.0, 0.0),
    ("squirrel", "agpcn"): (64, 1, 1, 1.0, 0.3),
    ("squirrel", "agpcn-link"): (512, 8, 1, 1.0, 0.3),
    ("film", "gpcn"): (512, 2, 2, 0.0625, 0.0),
    ("film", "gpcn-link"): (64, 4, 3, 0.0625, 0.0),
    ("film", "agpcn"): (64, 2, 1, 1.0, 0.3),
    ("film", "agpcn-link"): (512, 8, 2, 1.0, 0.0),
    ("texas", "gpcn"): (512, 1, 3, 2**-6, 0.6),
    ("texas", "gpcn-link"): (512, 1, 4, 2**-8, 0.0),
    ("texas", "agpcn"): (512, 1, 2, 1.0, 0.3),
    ("texas", "agpcn-link"): (512, 1, 4, 1.0, 0.3),
    ("twitch-de", "gpcn"): (512, 2, 1, 16.0, 0.0),
    ("twitch-de", "gpcn-link"): (64, 2, 2, 64.0, 0.0),
    ("twitch-de", "agpcn"): (512, 2, 1, 1.0, 0.0),
    ("twitch-de", "agpcn-link"): (64, 4, 2, 1.0, 0.0),
}
EXTRA = {  # the issue's own points: both dropouts, and depth without dropout
    ("squirrel", "gpcn"): [(512, 8, 1, 0.0625, 0.0)],
    ("squirrel", "gpcn-link"): [(512, 8, 1, 4.0, 0.3)],
}
BANKS = {  # beyond the paper: two directions and links on raw A; four blocks
    ("chameleon", "multi-gpcn-link"): [(64, 2, 1, 1.0, 0.5), (512, 2, 1, 1.0, 0.5)],
    ("squirrel", "multi-gpcn-link"): [(64, 2, 1, 1.0, 0.5), (512, 2, 1, 1.0, 0.5)],
    ("tolokers", "deep-gpcn"): [(64, 1, 1, 1.0, 0.2)],
}
MILLION = (64, 8, 1, 0.25, 0.0)


KINDS = ("ours", "floor", "published", "message_passing", "pyg_gcn", "pyg_linkx")


SLOW = 0.5  # seconds an epoch from which on a contender runs in the first rounds only
FIRST_ROUNDS = 3


def measure(graph: Graph, name: str, settings: Settings, budget: float, kinds: Sequence[str]) -> dict[str, Any]:
    """Median milliseconds per contender; fast ones run more epochs per round so that all get similar attention."""
    torch.manual_seed(0)
    runs = {kind: run for kind in kinds if (run := contender(kind, name, graph, settings)) is not None}
    once = {kind: warm(run) for kind, run in runs.items()}
    quick = sum(0.4 for first in once.values() if first < SLOW)
    slow = FIRST_ROUNDS * sum(first for first in once.values() if first >= SLOW)
    rounds = int(min(15, max(FIRST_ROUNDS, (budget - slow) / max(quick, 1e-3))))
    times: dict[str, list[float]] = {kind: [] for kind in once}
    for number in range(rounds):
        for kind, first in once.items():
            if first < SLOW:  # epochs follow each other in training: the first after another contender is no example
                _timed(runs[kind], 1)
            elif number >= (1 if first > budget / 4 else FIRST_ROUNDS):
                continue
            times[kind].append(_timed(runs[kind], int(min(20, max(1, 0.3 / first)))))
    result: dict[str, Any] = {f"{kind}_ms": None for kind in KINDS}
    result |= {f"{kind}_ms": statistics.median(values) * 1e3 for kind, values in times.items()}
    return result | {f"{kind}_over_ours": _ratio(times.get(kind), times["ours"]) for kind in KINDS}


def warm(run: Callable[[], None]) -> float:
    """Seconds of the second epoch, or of the first where that one is long."""
    first = _timed(run, 1)
    return first if first > 5 else _timed(run, 1)


def _ratio(first: list[float] | None, second: list[float]) -> float | None:
    """The median over rounds: what ran in the same round had the same machine."""
    return None if first is None else statistics.median(a / b for a, b in zip(first, second, strict=False))


def _timed(run: Callable[[], None], repeats: int) -> float:
    start = time.perf_counter()
    for _ in range(repeats):
        run()
    return (time.perf_counter() - start) / repeats


def row(
    dataset: str, graph: Graph, name: str, settings: Settings, budget: float, kinds: Sequence[str]
) -> dict[str, Any]:
    """One line of the results; memory comes later."""
    hidden, layers, mlp_layers, gamma, dropout = settings
    times = measure(graph, name, settings, budget, kinds)
    ratios = {kind: times.pop(f"{kind}_over_ours") for kind in KINDS}
    return {
        "dataset": dataset, "model": name, "hidden": hidden, "layers": layers, "mlp_layers": mlp_layers, "gamma": gamma,
        "dropout": dropout, **times,
        "speedup_published": ratios["published"],
        "speedup_message_passing": ratios["message_passing"],
        "over_floor": None if ratios["floor"] is None else 1 / ratios["floor"],
        "ours_peak_mb": None, "published_peak_mb": None,
    }  # fmt: skip


def cases(datasets: list[str], models: list[str]) -> list[tuple[str, str, Settings]]:
    cases: list[tuple[str, str, Settings]] = []
    for dataset in datasets:
        if dataset == "million":
            cases += [(dataset, name, MILLION) for name in models if name in ("gpcn", "gpcn-link")]
            continue
        for name in models:
            points = [PAPER[dataset, name]] if (dataset, name) in PAPER else []
            points += EXTRA.get((dataset, name), []) + BANKS.get((dataset, name), [])
            cases += [(dataset, name, settings) for settings in points]
    return cases


def resumed(settings: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of a run with these settings at this commit that did not come to its end."""
    if not PARTIAL.exists():
        return []
    kept = json.loads(PARTIAL.read_text())
    return list(kept["rows"]) if kept["settings"] == settings and kept["machine"] == machine() else []


def keep(settings: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    """What a run that is cut off goes on from."""
    PARTIAL.write_text(json.dumps({"settings": settings, "machine": machine(), "rows": rows}, indent=1) + "\n")


def is_measured(rows: list[dict[str, Any]], dataset: str, name: str, point: Settings) -> bool:
    """Whether there is a row of this point."""
    keys = ("dataset", "model", "hidden", "layers", "mlp_layers", "gamma", "dropout")
    return any([row_[key] for key in keys] == [dataset, name, *point] for row_ in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON list and nothing else")
    parser.add_argument("--datasets", default=",".join(DATASETS))
    parser.add_argument("--models", default=",".join([*MODELS, *bank_contenders.BANK_MODELS]))
    parser.add_argument("--kinds", default=",".join(KINDS), help="which contenders; ours is always among them")
    parser.add_argument("--budget", type=float, default=12.0, help="seconds per row, roughly")
    parser.add_argument("--threads", type=int, default=0, help="of PyTorch (default: as many as cores)")
    parser.add_argument("--quick", action="store_true", help="a look: three seconds per row, no memory")
    parser.add_argument("--no-memory", action="store_true", help="skip the peak memory processes")
    parser.add_argument("--save", action="store_true", help="write benchmarks/results.json and docs/performance.md")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    reuse_freed_memory()  # one process, so every contender has it
    kinds = list(dict.fromkeys(["ours", *options.kinds.split(",")]))
    budget, memory = (3.0, False) if options.quick else (options.budget, not options.no_memory)
    settings = {"budget": budget, "kinds": kinds, "memory": memory}
    rows = resumed(settings) if options.save else []
    wanted = cases(options.datasets.split(","), options.models.split(","))
    for dataset in dict.fromkeys(dataset for dataset, _, _ in wanted):
        missing = [(name, point) for of, name, point in wanted if of == dataset]
        missing = [(name, point) for name, point in missing if not is_measured(rows, dataset, name, point)]
        graph = graph_of(dataset) if missing else None
        for name, point in missing:
            rows.append(row(dataset, graph, name, point, budget, kinds))  # type: ignore[arg-type]
            if options.save:  # a long run: what is measured is kept at once
                keep(settings, rows)
            if not options.json:
                print(line(rows[-1]), flush=True)
        graph = None
        ours = [row_ for row_ in rows if row_["dataset"] == dataset]
        if memory and any(row_["ours_peak_mb"] is None for row_ in ours):
            add_memory(dataset, ours)
            if options.save:
                keep(settings, rows)
    if options.json:
        print(json.dumps(rows, indent=1))
    if options.save:
        from benchmarks.performance_page import save

        depths = (1, 2, 4, 8, 16) if memory else ()
        peaks = peak_memories("squirrel", [("gpcn", (512, layers, 1, 0.25, 0.0), "ours") for layers in depths])
        save({"machine": machine(), "rows": rows, "depth": dict(zip(depths, peaks, strict=True))}, HERE)
        PARTIAL.unlink(missing_ok=True)


def line(row: dict[str, Any]) -> str:
    def show(value: float | None) -> str:
        return "-" if value is None else f"{value:.1f}"

    numbers = " ".join(f"{kind} {show(row[f'{kind}_ms'])}" for kind in KINDS)
    ratios = f"x{show(row['speedup_published'])} published, {show(row['over_floor'])} over floor"
    what = f"{row['dataset']} {row['model']} h={row['hidden']} L={row['layers']} p={row['dropout']}"
    return f"{what}: {numbers} ms, {ratios}"


def machine() -> dict[str, Any]:
    """What it ran on."""
    import torch_geometric

    cpu = next(
        (text.split(":")[1].strip() for text in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in text),
        "",
    )
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False, cwd=HERE
    ).stdout.strip()
    return {
        "cpu": cpu, "threads": torch.get_num_threads(), "python": platform.python_version(), "torch": torch.__version__,
        "torch_geometric": torch_geometric.__version__, "commit": commit,
    }  # fmt: skip


if __name__ == "__main__":
    main()
