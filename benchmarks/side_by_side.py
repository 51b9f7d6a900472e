"""Would it pay to train configurations of one shape side by side, with the step written out?

    .venv/bin/python benchmarks/side_by_side.py [--datasets chameleon,texas] [--turns 20] [--json] [--save]

`Stacked` trains R replicas of GPCN (one ReLU layer, no dropout: the best case, for masks cannot be shared) as one:
sparse features times all first layers in one wide product, one pass over the links for all of them at width `R C`, the
dense products of all replicas as one batch, one update of all weights. Its gradients are those of R separate steps
(checked in float64 before anything is timed). Both sides take turns; the best of all turns counts.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from gpcn import Graph, load
from gpcn.nn import GPCN, SparseOperator, inputs_of
from gpcn.nn.engine.memory import reuse_freed_memory
from gpcn.nn.engine.polynomial import bank_horner, bank_powers
from gpcn.nn.training_step.direct_pass import DirectPass
from gpcn.training.adam import Adam, Group

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.epoch import machine

HERE = Path(__file__).resolve().parent
SHAPES = ((64, 2), (64, 8), (256, 2))  # h, L
REPLICAS = (2, 4, 8)
TOLERANCE = 1e-9


class Stacked:
    """Loss and gradients of R models of one shape in one pass."""

    def __init__(self, models: Sequence[GPCN], x: SparseOperator, links: SparseOperator, train: Tensor, labels: Tensor):
        self.x, self.links, self.train, self.models = x, links, train, models
        self.count, self.layers = len(models), models[0].layers
        self.classes = models[0].num_classes
        self.first = torch.stack([model.features.layers[0].weight.detach() for model in models], 1)  # [q, R, h]
        self.weight = torch.stack([model.residual.weight.detach() for model in models])  # [R, h, h]
        self.out = torch.stack([model.out.weight.detach() for model in models])  # [R, h, C]
        scales = torch.stack([model.polynomial_coefficients().detach() for model in models]).to(self.out.dtype)
        self.scales = scales.T[:, :, None, None]  # [L + 1, R, 1, 1]
        self.wanted = torch.nn.functional.one_hot(labels, self.classes).to(self.out.dtype).unsqueeze(1) / len(labels)
        self.error = self.out.new_zeros(x.shape[0], self.count, self.classes)

    def __call__(self) -> tuple[Tensor, Tensor, Tensor]:
        """The gradients of the three weights."""
        chain = [self.out.transpose(1, 2)]  # (W^k W_out)ᵀ, [R, C, h]
        for _ in range(self.layers):
            chain.append(torch.bmm(chain[-1], self.weight.transpose(1, 2)))
        powers = torch.stack(chain)  # [L + 1, R, C, h]
        terms = (powers * self.scales).transpose(0, 1).flatten(1, 2)  # [R, (L + 1) C, h]
        hidden = self.x.matrix.product(self.first.flatten(1)).relu_()  # [N, R h]
        parts = hidden.view(len(hidden), self.count, -1).permute(1, 2, 0)  # [R, h, N]
        product = torch.bmm(terms, parts).view(self.count, self.layers + 1, self.classes, -1)
        blocks = product.permute(3, 1, 0, 2).reshape(len(hidden), self.layers + 1, self.count * self.classes)
        logits = bank_horner((self.links,), (self.layers,), blocks).view(-1, self.count, self.classes)
        soft = torch.softmax(logits.index_select(0, self.train), 2)
        self.error.index_copy_(0, self.train, soft.div_(len(self.train)).sub_(self.wanted))
        stack = bank_powers((self.links.T,), (self.layers,), self.error.flatten(1))  # [N, L + 1, R C]
        back = stack.view(len(hidden), self.layers + 1, self.count, self.classes).permute(2, 1, 3, 0).flatten(1, 2)
        given = torch.bmm(back, parts.transpose(1, 2)).view(self.count, self.layers + 1, self.classes, -1)
        given = given.transpose(0, 1) * self.scales  # [L + 1, R, C, h]
        spread = torch.bmm(back.transpose(1, 2), terms).transpose(0, 1).reshape(len(hidden), -1)
        spread = torch.ops.aten.threshold_backward(spread, hidden, 0)
        first = self.x.transposed.product(spread).view_as(self.first)
        total, weight = given[-1], torch.zeros_like(self.weight)
        for k in range(self.layers - 1, -1, -1):
            weight += torch.bmm(total.transpose(1, 2), powers[k])
            total = given[k] + torch.bmm(total, self.weight)
        return first, weight, total.transpose(1, 2).contiguous()

    def epochs(self) -> Callable[[], None]:
        """A step of training of all replicas."""
        weights = [torch.nn.Parameter(weight) for weight in (self.first, self.weight, self.out)]
        self.first, self.weight, self.out = (weight.detach() for weight in weights)
        adam = Adam([Group(weights, 1e-3, 1e-3)])

        def epoch() -> None:
            with torch.no_grad():
                for weight, gradient in zip(weights, self(), strict=True):
                    weight.grad = gradient
            adam.step()

        return epoch


def models_of(graph: Graph, count: int, hidden: int, layers: int, dtype: torch.dtype) -> list[GPCN]:
    torch.manual_seed(0)
    sizes = (graph.num_features, hidden, graph.num_classes)
    return [GPCN(*sizes, layers=layers, gamma=0.25, order="collapsed").to(dtype) for _ in range(count)]


def check(graph: Graph, hidden: int, layers: int) -> None:
    """Gradients of three replicas are those of three steps."""
    x, links = inputs_of(graph, dtype=torch.float64)
    operator, train = links.operator(dtype=torch.float64), torch.tensor(graph.splits[0].train)
    labels = torch.tensor(graph.labels)[train]
    models = models_of(graph, 3, hidden, layers, torch.float64)
    with torch.no_grad():
        first, weight, out = Stacked(models, x, operator, train, labels)()  # type: ignore[arg-type]
    for number, model in enumerate(models):
        DirectPass(model, x, operator, train, graph.task.loss_with_error(labels, None, like=model.out.weight))(False)
        for ours, alone in (
            (first[:, number], model.features.layers[0].weight.grad),
            (weight[number], model.residual.weight.grad),
            (out[number], model.out.weight.grad),
        ):
            torch.testing.assert_close(ours, alone, rtol=TOLERANCE, atol=TOLERANCE)


def measure(graph: Graph, name: str, hidden: int, layers: int, turns: int) -> list[dict[str, Any]]:
    """Milliseconds per epoch and replica, alone and in company."""
    x, links = inputs_of(graph)
    operator, train = links.operator(), torch.tensor(graph.splits[0].train)
    labels = torch.tensor(graph.labels)[train]
    (model,) = models_of(graph, 1, hidden, layers, torch.float32)
    direct = DirectPass(model, x, operator, train, graph.task.loss_with_error(labels, None, like=model.out.weight))
    adam = Adam([Group(list(model.parameters()), 1e-3, 1e-3)])

    def alone() -> None:
        adam.zero_grad()
        direct(False)
        adam.step()

    runs = {1: alone}
    for count in REPLICAS:
        models = models_of(graph, count, hidden, layers, torch.float32)
        runs[count] = Stacked(models, x, operator, train, labels).epochs()  # type: ignore[arg-type]
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(turns):
        for count, run in runs.items():
            run()
            start = time.process_time()
            run()
            best[count] = min(best[count], time.process_time() - start)
    return [
        {
            "dataset": name, "hidden": hidden, "layers": layers, "replicas": count,
            "alone_ms": 1e3 * best[1], "together_ms": 1e3 * best[count] / count,
            "speedup": best[1] * count / best[count],
        }
        for count in REPLICAS
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", default="texas,chameleon,squirrel")
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--save", action="store_true", help="write benchmarks/side_by_side.json")
    options = parser.parse_args()
    reuse_freed_memory()
    torch.set_num_threads(1)  # as a search has it, one process per core
    rows: list[dict[str, Any]] = []
    for name in options.datasets.split(","):
        graph = load(name)
        for hidden, layers in SHAPES:
            check(graph, hidden, layers)
            rows += measure(graph, name, hidden, layers, options.turns)
    if options.save:
        (HERE / "side_by_side.json").write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n")
    if options.json:
        print(json.dumps(rows, indent=1))
        return
    for row in rows:
        shape = f"{row['dataset']} h={row['hidden']} L={row['layers']}, {row['replicas']} side by side"
        print(f"{shape}: {row['together_ms']:.2f} ms each, {row['alone_ms']:.2f} alone, {row['speedup']:.2f}x")


if __name__ == "__main__":
    main()
