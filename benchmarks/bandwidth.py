"""Memory bandwidth of every kernel of a training step, against a STREAM-like copy in the same run; and node orders.

    .venv/bin/python benchmarks/bandwidth.py [--threads 1] [--datasets squirrel,twitch-de] [--quick] [--json] [--save]

Kernels take turns with the copy, and the best of all turns counts on both sides. What a kernel *must* move is counted:
every operand read once, every result written once. A sparse product also *gathers*: a row of the dense factor for every
entry, from the cache where it is there. Orders of nodes (by degree, reverse Cuthill-McKee) are timed on the same
products; a product in another order is the same up to rounding, and the package keeps the order that a graph has.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from scipy.sparse.csgraph import reverse_cuthill_mckee

from gpcn import Graph, load, synthesize
from gpcn.nn import SparseOperator, inputs_of
from gpcn.nn.engine.dropout import relu_dropout_
from gpcn.nn.engine.memory import reuse_freed_memory
from gpcn.training.adam import Adam, Group

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.epoch import machine
from benchmarks.performance_page import PAGE, bandwidth_table, order_table, put_between

HERE = Path(__file__).resolve().parent
DATASETS = ("chameleon", "squirrel", "twitch-de", "tolokers", "large")
WIDTHS = (2, 5, 16, 64, 128, 256, 512)
ORDER_WIDTHS = (5, 64)
STREAM = 1 << 25  # floats of each array of the copy, 128 MB: far more than any cache
BYTES = 4


@dataclass(frozen=True)
class Kernel:
    """Something to time, and the bytes it must move and gathers."""

    name: str
    run: Callable[[], object]
    moved: int
    gathered: int = 0


def graph_of(name: str) -> Graph:
    if name == "large":  # its dense factors do not fit the cache from width 16 on
        return synthesize(nodes=200_000, degree=20, classes=4, features=16, splits=1)
    return load(name)


def stream_kernels() -> list[Kernel]:
    """Copy and triad, as STREAM defines them."""
    first, second, third = (torch.rand(STREAM) for _ in range(3))
    return [
        Kernel("copy", lambda: third.copy_(first), 2 * STREAM * BYTES),
        Kernel("triad", lambda: torch.add(first, second, alpha=3.0, out=third), 3 * STREAM * BYTES),
    ]


def sparse_kernel(operator: SparseOperator, width: int) -> Kernel:
    """`A @ x` at one width."""
    nodes, entries = operator.shape[0], operator.nnz
    x = torch.randn(nodes, width)
    moved = entries * 2 * BYTES + nodes * BYTES + 2 * nodes * width * BYTES
    return Kernel(f"A x, {width} wide", lambda: operator.matrix.product(x), moved, entries * width * BYTES)


def dense_kernels(nodes: int, hidden: int, classes: int = 5) -> list[Kernel]:
    """What else an epoch of `[nodes, hidden]` does, one layer of it."""
    x, narrow, weight = torch.randn(nodes, hidden), torch.randn(nodes, classes), torch.randn(hidden, classes)
    error, lying = torch.randn(nodes, hidden), weight.T.contiguous()
    parameter = torch.nn.Parameter(torch.zeros(nodes, hidden))
    parameter.grad = torch.randn(nodes, hidden)
    adam = Adam([Group([parameter], 1e-3, 1e-3)])
    wide, small = nodes * hidden * BYTES, nodes * classes * BYTES
    threshold = torch.ops.aten.threshold_backward.grad_input

    def dropped() -> object:
        with torch.no_grad():
            return relu_dropout_(x, 0.3, True)

    return [
        Kernel("Vᵀ Xᵀ, lying down", lambda: lying @ x.T, wide + small),
        Kernel("X V, as written", lambda: x @ weight, wide + small),
        Kernel("Eᵀ X, gradient of V", lambda: narrow.T @ x, wide + small),
        Kernel("E Vᵀ, gradient of X", lambda: narrow @ lying, wide + small),
        Kernel("ReLU and dropout", dropped, 2 * wide),
        Kernel("gradient of ReLU", lambda: threshold(error, x, 0, grad_input=error), 3 * wide),
        Kernel("Adam", adam.step, 7 * wide),  # weight, both moments, read and written; the gradient read
    ]


def best_times(kernels: list[Kernel], seconds: float) -> list[float]:
    """The shortest of each, all taking turns for that long."""
    for kernel in kernels:
        kernel.run()
    best = [float("inf")] * len(kernels)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or min(best) == float("inf"):
        for number, kernel in enumerate(kernels):
            kernel.run()  # what ran before left its own data in the cache
            start = time.perf_counter()
            kernel.run()
            best[number] = min(best[number], time.perf_counter() - start)
    return best


def bandwidths(graph: Graph, name: str, seconds: float) -> list[dict[str, Any]]:
    """A row per kernel."""
    operator = inputs_of(graph)[1].operator()
    kernels = [sparse_kernel(operator, width) for width in WIDTHS if graph.num_nodes * width < 1 << 25]
    for hidden in (64, 512):
        if graph.num_nodes * hidden < 1 << 24:
            kernels += [
                Kernel(f"{kernel.name}, h={hidden}", kernel.run, kernel.moved)
                for kernel in dense_kernels(graph.num_nodes, hidden)
            ]
    copy = stream_kernels()[0]
    rows = []
    for kernel in kernels:
        taken, reference = best_times([kernel, copy], seconds)
        peak = copy.moved / reference / 1e9
        row = {"dataset": name, "kernel": kernel.name, "ms": taken * 1e3, "gb_s": kernel.moved / taken / 1e9}
        row |= {"copy_gb_s": peak, "of_copy": row["gb_s"] / peak}  # type: ignore[operator]
        row["gathered_gb_s"] = kernel.gathered / taken / 1e9 if kernel.gathered else None
        rows.append(row)
    return rows


def reordered(matrix: sp.csr_array, order: str) -> sp.csr_array:
    """The same graph with its nodes numbered in another order."""
    if order == "degree":
        numbers = np.argsort(-np.diff(matrix.indptr), kind="stable")
    elif order == "rcm":
        numbers = reverse_cuthill_mckee(sp.csr_matrix(matrix))
    else:
        return matrix
    return sp.csr_array(matrix[numbers][:, numbers])


def orders(graph: Graph, name: str, seconds: float) -> list[dict[str, Any]]:
    """Milliseconds of a product in each order of the nodes, taking turns."""
    matrix = inputs_of(graph)[1].operator().csr.to_scipy()
    operators = {order: SparseOperator.from_scipy(reordered(matrix, order)) for order in ("given", "degree", "rcm")}
    rows = []
    for width in ORDER_WIDTHS:
        taken = best_times([sparse_kernel(operator, width) for operator in operators.values()], seconds)
        rows.append(
            {"dataset": name, "width": width, **dict(zip(operators, (1e3 * seconds for seconds in taken), strict=True))}
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", default=",".join(DATASETS))
    parser.add_argument("--threads", type=int, default=1, help="1 as a split has it; 0 for all cores")
    parser.add_argument("--quick", action="store_true", help="a tenth of the time")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--save", action="store_true", help="write benchmarks/bandwidth.json and docs/performance.md")
    options = parser.parse_args()
    reuse_freed_memory()
    if options.threads:
        torch.set_num_threads(options.threads)
    seconds = 0.1 if options.quick else 1.0
    kernels: list[dict[str, Any]] = []
    by_order: list[dict[str, Any]] = []
    for name in options.datasets.split(","):
        graph = graph_of(name)
        kernels += bandwidths(graph, name, seconds)
        by_order += orders(graph, name, 3 * seconds)
    stream = stream_kernels()
    peaks = {
        kernel.name: kernel.moved / taken / 1e9
        for kernel, taken in zip(stream, best_times(stream, 5 * seconds), strict=True)
    }
    results = {"machine": machine(), "stream_gb_s": peaks, "kernels": kernels, "orders": by_order}
    if options.save:
        (HERE / "bandwidth.json").write_text(json.dumps(results, indent=1) + "\n")
        put_between(PAGE, "bandwidth", bandwidth_table(results))
        put_between(PAGE, "orders", order_table(by_order))
    print(json.dumps(results, indent=1) if options.json else bandwidth_table(results) + "\n\n" + order_table(by_order))


if __name__ == "__main__":
    main()
