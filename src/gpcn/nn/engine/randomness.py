"""The source of a model's draws: PyTorch's global generator, or within `drawing_from` one that nobody else touches.

A training has a generator of its own, so that trainings in several threads do not take numbers from each other, and
whoever calls one finds the global state as it was. A generator seeded alike gives the numbers that `torch.manual_seed`
would.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

_generator: ContextVar[Generator | None] = ContextVar("gpcn_generator", default=None)
CHUNK = 1 << 20  # draws at a time that belong to rows elsewhere


@dataclass(frozen=True)
class RowRange:
    """The nodes `start` to `stop` of a graph with `total`, which a model is built for.

    `positions` are those that these nodes have, rising, where their graph was ordered anew.
    """

    start: int
    stop: int
    total: int
    positions: Tensor | None = None


_rows: ContextVar[RowRange | None] = ContextVar("gpcn_rows", default=None)


@contextmanager
def building_for_rows(rows: RowRange) -> Iterator[None]:
    """Weights with a row per node get those that a model of the whole graph would have in these rows."""
    token = _rows.set(rows)
    try:
        yield
    finally:
        _rows.reset(token)


@contextmanager
def drawing_from(generator: Generator) -> Iterator[None]:
    """Weights and masks of this thread are drawn from `generator`, one of the CPU."""
    token = _generator.set(generator)
    try:
        yield
    finally:
        _generator.reset(token)


def current_generator() -> Generator | None:
    """Return the generator of this thread; `None` is PyTorch's global one."""
    return _generator.get()


def draw_seed() -> int:
    """Return a number that seeds another generator."""
    return int(torch.randint(2**63 - 1, (), generator=_generator.get()))


def generator_for_device(device: torch.device) -> Generator:
    """Return one for draws on an accelerator, seeded by the generator of this thread."""
    return Generator(device).manual_seed(draw_seed())


@torch.no_grad()
def uniform_(tensor: Tensor, low: float, high: float) -> Tensor:
    """Fill `tensor` with uniform draws, in place."""
    return tensor.uniform_(low, high, generator=_generator.get())


def whole_graph_size(nodes: int) -> int:
    """Return the nodes of the whole graph, where a model is built for `nodes` of it."""
    rows = _rows.get()
    return nodes if rows is None else rows.total


@torch.no_grad()
def uniform_per_node_(weight: Tensor) -> Tensor:
    """Fill `weight`, a row per node, with uniform draws in ±1/√nodes, in place."""
    rows = _rows.get() or RowRange(0, len(weight), len(weight))
    bound = 1 / math.sqrt(max(1, rows.total))
    width = math.prod(weight.shape[1:])
    if rows.positions is not None:
        return _draw_rows(weight, rows, width, bound)
    _skip(rows.start * width, weight.dtype)
    uniform_(weight, -bound, bound)
    _skip((rows.total - rows.stop) * width, weight.dtype)
    return weight


def _draw_rows(weight: Tensor, rows: RowRange, width: int, bound: float) -> Tensor:
    """The draws of all rows, of which those at `rows.positions` are kept."""
    positions = torch.as_tensor(rows.positions)
    flat, step = weight.view(len(weight), width), max(1, CHUNK // max(1, width))
    for start in range(0, rows.total, step):
        drawn = uniform_(torch.empty(min(step, rows.total - start), width, dtype=weight.dtype), -bound, bound)
        first, last = torch.searchsorted(positions, torch.tensor([start, start + len(drawn)])).tolist()
        flat[first:last] = drawn[positions[first:last] - start]
    return weight


def _skip(count: int, dtype: torch.dtype) -> None:
    """Draw and forget, so that what follows is as if all rows had been drawn here."""
    scratch = torch.empty(min(count, CHUNK), dtype=dtype)
    for start in range(0, count, CHUNK):
        uniform_(scratch[: min(CHUNK, count - start)], 0.0, 1.0)
