"""Would it pay to train several configurations of one shape as one? `torch.func.vmap` against one after the other.

    .venv/bin/python benchmarks/packing.py [--json] [--save]

`--copies` GPCNs of equal shape and different weights, no dropout, one thread: an epoch of all of them, as the search
trains them now (one after the other) and stacked into one (their products side by side). Both take a step of the same
fused Adam and validate.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.epoch import machine
from gpcn import TrainConfig, load
from gpcn.nn.engine.memory import reuse_freed_memory
from gpcn.training.problem import Problem
from gpcn.training.trainer import Trainer

HERE = Path(__file__).resolve().parent
SHAPES = ((64, 2, 1), (64, 8, 1), (64, 4, 2), (256, 4, 2))  # hidden, layers, mlp_layers
EPOCHS = 40


def seconds(step: Callable[[], object]) -> float:
    for _ in range(5):
        step()
    start = time.perf_counter()
    for _ in range(EPOCHS):
        step()
    return (time.perf_counter() - start) / EPOCHS


def stacked(problem: Problem, trainers: list[Trainer]) -> Callable[[], object]:
    """A step of all trainers' models as one."""
    models = [trainer.model for trainer in trainers]
    weights, buffers = torch.func.stack_module_state(models)
    optimizer = torch.optim.Adam(list(weights.values()), lr=0.01, fused=True)
    first = trainers[0]

    def logits_of(parameters: Any, extra: Any) -> Any:
        return torch.func.functional_call(models[0], (parameters, extra), (problem.x, problem.adjacency))

    def step() -> object:
        logits = torch.func.vmap(logits_of)(weights, buffers)
        many = len(models)
        truth = first.train_truth.repeat(many)
        loss = F.cross_entropy(logits[:, first.train].flatten(0, 1), truth, reduction="sum") / len(first.train)
        seen = logits.detach()[:, first.val]
        F.cross_entropy(seen.flatten(0, 1), first.val_truth.repeat(many), reduction="none").tolist()
        (seen.argmax(2) == first.val_truth).float().mean(1).tolist()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step


def measure(dataset: str, shape: tuple[int, int, int], copies: int) -> dict[str, Any]:
    graph = load(dataset)
    hidden, layers, depth = shape
    settings = {"hidden": hidden, "layers": layers, "mlp_layers": depth, "dropout": 0.0, "epochs": 10**6}

    def trainers() -> list[Trainer]:
        configs = [TrainConfig.of("gpcn", seed=seed, patience=10**6, **settings) for seed in range(copies)]
        return [Trainer(problem, config, graph.splits[0], 0) for config in configs]

    problem = Problem.of(graph, TrainConfig.of("gpcn", **settings))
    one_by_one = trainers()
    apart = seconds(lambda: [trainer.step() for trainer in one_by_one])
    together = seconds(stacked(problem, trainers()))
    row = {"dataset": dataset, "hidden": hidden, "layers": layers, "mlp_layers": depth, "copies": copies}
    return row | {"apart_ms": 1000 * apart, "stacked_ms": 1000 * together, "gain": apart / together}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--datasets", default="texas,chameleon")
    parser.add_argument("--copies", default="2,4,8")
    parser.add_argument("--save", action="store_true", help="write benchmarks/packing.json")
    options = parser.parse_args()
    torch.set_num_threads(1)
    reuse_freed_memory()
    numbers = [int(text) for text in options.copies.split(",")]
    rows = [
        measure(dataset, shape, copies)
        for dataset in options.datasets.split(",")
        for shape in SHAPES
        for copies in numbers
    ]
    if options.save:
        (HERE / "packing.json").write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n")
    if options.json:
        print(json.dumps(rows, indent=1))
        return
    for row in rows:
        shape = f"h={row['hidden']} L={row['layers']} T={row['mlp_layers']}"
        times = f"{row['apart_ms']:.1f} ms apart, {row['stacked_ms']:.1f} ms stacked"
        print(f"{row['dataset']}, {shape}, {row['copies']} at a time: {times}, {row['gain']:.2f}x")


if __name__ == "__main__":
    main()
