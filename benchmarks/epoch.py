"""One training epoch with validation, side by side in one process: ours, as published, message passing, PyG, the floor.

    .venv/bin/python benchmarks/epoch.py [--json] [--datasets squirrel,texas] [--save]

All contenders run interleaved, several rounds; the figure is the median over rounds. Peak memory is measured in a
process of its own per contender. `--save` writes benchmarks/results.json and the table of docs/performance.md.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

from gpcn import Graph, load, synthesize
from gpcn.nn import AGPCN, GPCN, AGPCNLink, GPCNLink, inputs_of
from gpcn.nn.direct import DirectPass, covers
from gpcn.nn.memory import reuse_freed_memory
from gpcn.training.adam import Adam, Group

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks import bank_contenders
from benchmarks.contenders import Floor, Passing, Published, dense_inputs, pyg_gcn, pyg_linkx

HERE = Path(__file__).resolve().parent
DATASETS = ("chameleon", "squirrel", "film", "texas", "twitch-de", "tolokers", "million")
MODELS = {"gpcn": GPCN, "gpcn-link": GPCNLink, "agpcn": AGPCN, "agpcn-link": AGPCNLink}
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
Settings = tuple[int, int, int, float, float]


def graph_of(name: str) -> Graph:
    if name == "million":
        return synthesize(nodes=1_000_000, degree=20, classes=4, features=16, splits=1)
    return load(name)


def one_epoch(
    model: torch.nn.Module, x: Any, links: Any, graph: Graph, *, fused: bool, reuse: bool
) -> Callable[[], None]:
    """A training step, and the validation accuracy of the model before it.

    With `reuse` (ours, without dropout) the training pass already is the evaluation.
    """
    labels, split = torch.tensor(graph.labels), graph.splits[0]
    train, val = torch.tensor(split.train), torch.tensor(split.val)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-3, fused=fused)

    def epoch() -> None:
        model.train()
        optimizer.zero_grad()
        logits = model(x, *links) if isinstance(links, tuple) else model(x, links)
        F.cross_entropy(logits[train], labels[train]).backward()
        optimizer.step()
        if not reuse:
            model.eval()
            with torch.no_grad():
                logits = model(x, *links) if isinstance(links, tuple) else model(x, links)
        with torch.no_grad():
            (logits[val].argmax(1) == labels[val]).float().mean().item()

    return epoch


def our_epoch(
    model: torch.nn.Module, x: Any, links: Any, graph: Graph, dropout: float, *, reuse: bool = True
) -> Callable[[], None]:
    """The same as `gpcn.training` does it: the pass written out where it covers the model, and its Adam."""
    if not covers(model, x, links):
        return one_epoch(model, x, links, graph, fused=True, reuse=reuse and dropout == 0)
    labels, split = torch.tensor(graph.labels), graph.splits[0]
    train, val = torch.tensor(split.train), torch.tensor(split.val)
    direct = DirectPass(model, x, links, train, labels[train])
    optimizer = Adam([Group(list(model.parameters()), 1e-3, 1e-3)])

    def epoch() -> None:
        optimizer.zero_grad()
        _, logits = direct(dropout > 0)
        optimizer.step()
        (logits[val].argmax(1) == labels[val]).float().mean().item()

    return epoch


class Tupled(torch.nn.Module):
    """Passes `links` on as one argument."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: Any, *links: Any) -> Any:
        return self.model(x, links)


def contender(kind: str, name: str, graph: Graph, settings: Settings) -> Callable[[], None] | None:
    """One epoch of one contender, or None where it cannot run on this machine."""
    make = bank_contender if name in bank_contenders.BANK_MODELS else family_contender
    return make(kind, name, graph, settings)


def family_contender(kind: str, name: str, graph: Graph, settings: Settings) -> Callable[[], None] | None:
    """A model of the paper's family."""
    hidden, layers, mlp_layers, gamma, dropout = settings
    link, adaptive = "link" in name, name.startswith("a")
    torch.manual_seed(0)
    if kind == "floor":
        return Floor(graph, hidden, layers, mlp_layers, dropout, link)
    if kind == "ours":
        options: dict[str, Any] = {"bias": True} | ({"num_nodes": graph.num_nodes} if link else {})
        model = MODELS[name](
            graph.num_features, hidden, graph.num_classes,
            layers=layers, mlp_layers=mlp_layers, gamma=gamma, dropout=dropout, **options,
        )  # fmt: skip
        x, links = inputs_of(graph)
        return our_epoch(model, x, links.operator(), graph, dropout)
    messages = graph.adjacency.nnz * hidden * 4 * 3
    if messages > 8e9 and kind != "published":
        return None  # three copies of every message alone would take more than 8 GB
    sizes = (graph.num_features, hidden, graph.num_classes, layers, mlp_layers, dropout, gamma, graph.num_nodes)
    dense, coo, edges = dense_inputs(graph)
    if kind == "published":
        return one_epoch(Published(*sizes, link=link, adaptive=adaptive), dense, coo, graph, fused=False, reuse=False)
    if kind == "message_passing":
        passing = Tupled(Passing(*sizes, link=link, adaptive=adaptive))
        return one_epoch(passing, dense, edges, graph, fused=False, reuse=False)
    make = pyg_gcn if kind == "pyg_gcn" else pyg_linkx
    edge_index = torch.tensor(graph.edge_index)
    return one_epoch(make(graph, hidden, dropout), dense, edge_index, graph, fused=False, reuse=False)


def bank_contender(kind: str, name: str, graph: Graph, settings: Settings) -> Callable[[], None] | None:
    """The same for a bank of operators; nobody published it, so message passing stands for what else there is."""
    hidden, layers, _, _, dropout = settings
    model = bank_contenders.ours(graph, name, hidden, layers, dropout)
    if kind == "ours":
        x, links = inputs_of(graph)
        return our_epoch(model, x, links, graph, dropout, reuse=model.blocks == 1)
    if kind == "floor":
        return bank_contenders.Floor(model, graph, dropout)
    if kind != "message_passing":
        return None
    dense, edges = bank_contenders.passing_inputs(model, graph)
    passing = Tupled(bank_contenders.Passing(model, graph, dropout))
    return one_epoch(passing, dense, edges, graph, fused=False, reuse=False)


KINDS = ("ours", "floor", "published", "message_passing", "pyg_gcn", "pyg_linkx")


def measure(graph: Graph, name: str, settings: Settings, budget: float) -> dict[str, float | None]:
    """Median milliseconds per contender; fast ones run more epochs per round so that all get similar attention."""
    torch.manual_seed(0)
    runs = {kind: contender(kind, name, graph, settings) for kind in KINDS}
    once = {kind: _timed(run, 1) for kind, run in runs.items() if run is not None and _timed(run, 1)}
    per_round = sum(max(first, 0.4) for first in once.values())
    rounds = int(min(15, max(1 if per_round > budget else 3, budget / max(per_round, 1e-3))))
    times: dict[str, list[float]] = {kind: [] for kind in once}
    for _ in range(rounds):
        for kind, first in once.items():
            if (
                first < 0.5
            ):  # epochs follow each other in training: the first one after another contender does not count
                _timed(runs[kind], 1)  # type: ignore[arg-type]
            times[kind].append(_timed(runs[kind], int(min(20, max(1, 0.3 / first)))))  # type: ignore[arg-type]
    found: dict[str, float | None] = {f"{kind}_ms": None for kind in KINDS}
    found |= {f"{kind}_ms": statistics.median(values) * 1e3 for kind, values in times.items()}
    return found | {f"{kind}_over_ours": _ratio(times.get(kind), times["ours"]) for kind in KINDS}


def _ratio(first: list[float] | None, second: list[float]) -> float | None:
    """The median over rounds: what ran in the same round had the same machine."""
    return None if first is None else statistics.median(a / b for a, b in zip(first, second, strict=True))


def _timed(run: Callable[[], None], repeats: int) -> float:
    start = time.perf_counter()
    for _ in range(repeats):
        run()
    return (time.perf_counter() - start) / repeats


def peak_memory(dataset: str, name: str, settings: Settings, kind: str) -> float:
    """Megabytes that three epochs take beyond the loaded graph, measured in a process of its own."""
    command = [sys.executable, __file__, "--peak", json.dumps([dataset, name, settings, kind])]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def _report_peak(dataset: str, name: str, settings: Settings, kind: str) -> None:
    reuse_freed_memory()
    graph = graph_of(dataset)
    torch.randn(64, 64) @ torch.randn(64, 64)
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    before = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    run = contender(kind, name, graph, settings)
    for _ in range(3):
        if run is not None:
            run()
    peak = next(
        int(line.split()[1]) * 1024 for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line
    )
    print((peak - before) / 1e6)


def row(dataset: str, graph: Graph, name: str, settings: Settings, budget: float, memory: bool) -> dict[str, Any]:
    """One line of the results."""
    hidden, layers, mlp_layers, gamma, dropout = settings
    times = measure(graph, name, settings, budget)
    ratios = {kind: times.pop(f"{kind}_over_ours") for kind in KINDS}
    beside = "message_passing" if name in bank_contenders.BANK_MODELS else "published"
    peaks = {kind: peak_memory(dataset, name, settings, kind) if memory else None for kind in ("ours", beside)}
    return {
        "dataset": dataset, "model": name, "hidden": hidden, "layers": layers, "mlp_layers": mlp_layers, "gamma": gamma,
        "dropout": dropout, **times,
        "speedup_published": ratios["published"],
        "speedup_message_passing": ratios["message_passing"],
        "over_floor": None if ratios["floor"] is None else 1 / ratios["floor"],
        "ours_peak_mb": peaks["ours"], "published_peak_mb": peaks[beside],
    }  # fmt: skip


def cases(datasets: list[str], models: list[str]) -> list[tuple[str, str, Settings]]:
    found: list[tuple[str, str, Settings]] = []
    for dataset in datasets:
        if dataset == "million":
            found += [(dataset, name, MILLION) for name in models if name in ("gpcn", "gpcn-link")]
            continue
        for name in models:
            points = [PAPER[dataset, name]] if (dataset, name) in PAPER else []
            points += EXTRA.get((dataset, name), []) + BANKS.get((dataset, name), [])
            found += [(dataset, name, settings) for settings in points]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON list and nothing else")
    parser.add_argument("--datasets", default=",".join(DATASETS))
    parser.add_argument("--models", default=",".join([*MODELS, *bank_contenders.BANK_MODELS]))
    parser.add_argument("--budget", type=float, default=20.0, help="seconds per row, roughly")
    parser.add_argument("--no-memory", action="store_true", help="skip the peak memory processes")
    parser.add_argument("--save", action="store_true", help="write benchmarks/results.json and docs/performance.md")
    parser.add_argument("--peak", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peak:
        dataset, name, settings, kind = json.loads(options.peak)
        _report_peak(dataset, name, tuple(settings), kind)
        return
    reuse_freed_memory()  # one process, so every contender has it
    rows: list[dict[str, Any]] = []
    graphs: dict[str, Graph] = {}
    for dataset, name, settings in cases(options.datasets.split(","), options.models.split(",")):
        if dataset not in graphs:
            graphs = {dataset: graph_of(dataset)}
        rows.append(row(dataset, graphs[dataset], name, settings, options.budget, not options.no_memory))
        if options.save:  # a long run: what is measured is kept at once
            (HERE / "partial.json").write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n")
        if not options.json:
            print(line(rows[-1]), flush=True)
    if options.json:
        print(json.dumps(rows, indent=1))
    if options.save:
        from benchmarks.performance_page import save

        depth = {
            layers: peak_memory("squirrel", "gpcn", (512, layers, 1, 0.25, 0.0), "ours") for layers in (1, 2, 4, 8, 16)
        }
        save({"machine": machine(), "rows": rows, "depth": depth}, HERE)
        (HERE / "partial.json").unlink()


def line(found: dict[str, Any]) -> str:
    def show(value: float | None) -> str:
        return "-" if value is None else f"{value:.1f}"

    numbers = " ".join(f"{kind} {show(found[f'{kind}_ms'])}" for kind in KINDS)
    ratios = f"x{show(found['speedup_published'])} published, {show(found['over_floor'])} over floor"
    memory = f"{show(found['ours_peak_mb'])} / {show(found['published_peak_mb'])} MB"
    what = f"{found['dataset']} {found['model']} h={found['hidden']} L={found['layers']} p={found['dropout']}"
    return f"{what}: {numbers} ms, {ratios}, {memory}"


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
