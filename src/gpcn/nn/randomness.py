"""Where models draw from: PyTorch's global generator, or within `drawing_from` one that nobody else touches.

A training has a generator of its own, so that trainings in several threads do not take numbers from each other, and
whoever calls one finds the global state as it was. A generator seeded alike gives the numbers that `torch.manual_seed`
would.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Generator, Tensor

_generator: ContextVar[Generator | None] = ContextVar("gpcn_generator", default=None)


@contextmanager
def drawing_from(generator: Generator) -> Iterator[None]:
    """Weights and masks of this thread are drawn from `generator`, one of the CPU."""
    token = _generator.set(generator)
    try:
        yield
    finally:
        _generator.reset(token)


def current_generator() -> Generator | None:
    """What this thread draws from; `None` is PyTorch's global one."""
    return _generator.get()


def draw_seed() -> int:
    """A number that seeds another generator."""
    return int(torch.randint(2**63 - 1, (), generator=_generator.get()))


def generator_on(device: torch.device) -> Generator:
    """One for draws on an accelerator, seeded by what this thread draws from."""
    return Generator(device).manual_seed(draw_seed())


@torch.no_grad()
def uniform_(tensor: Tensor, low: float, high: float) -> Tensor:
    """Fill `tensor` with uniform draws, in place."""
    return tensor.uniform_(low, high, generator=_generator.get())
