"""Dropout that costs a fraction of PyTorch's on the CPU, alone and together with the ReLU before it.

PyTorch draws one random number per entry. Here every 64-bit draw decides four entries, with probabilities exact to
2^-16, from a fast generator that PyTorch's seeds anew each time, so `torch.manual_seed` and everything built on it work
as usual (see `randomness`). Masks are drawn and applied piece by piece, small enough to stay in the cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch._C._functorch import peek_interpreter_stack
from torch.autograd import Function

from gpcn.errors import ConfigError
from gpcn.nn.operator import SparseOperator
from gpcn.nn.randomness import current_generator, draw_seed, generator_on

LEVELS = 1 << 16
PIECE = 1 << 15  # also what PyTorch works off without waking other threads


def check_probability(p: float) -> float:
    """A dropout probability, checked."""
    if not 0 <= p < 1:
        raise ConfigError(f"dropout is {p}; expected a share from 0 to below 1")
    return float(p)


def dropout(x: Tensor, p: float, training: bool) -> Tensor:
    """Zero entries with probability `p` while training, and scale the rest by `1 / (1 - p)`."""
    if not training or p == 0:
        return x
    if _by_torch(x):
        return _torch_dropout(x, p)
    mask = torch.full_like(x, 1 / (1 - p), memory_format=torch.contiguous_format, requires_grad=False)
    return x * _zero_some_(mask, p)


def dropout_sparse(x: SparseOperator, p: float, training: bool) -> SparseOperator:
    """The same for sparse features: only stored entries are drawn, for zeros stay zero anyway."""
    if not training or p == 0:
        return x
    return x.with_values(dropout(x.matrix.values(), p, training))


def relu_dropout_(x: Tensor, p: float, training: bool) -> Tensor:
    """`dropout(relu(x))` in place of `x`; keeps nothing but its output for the backward pass."""
    if not training or p == 0:
        return torch.relu_(x)
    if _by_torch(x) or not x.is_contiguous():
        return _torch_dropout(F.relu(x), p)
    if not torch.is_grad_enabled():
        return _zero_some_(x.relu_(), p).mul_(1 / (1 - p))
    result: Tensor = _ReluDropout.apply(x, p)  # type: ignore[no-untyped-call]
    return result


def relu_dropout(x: Tensor, p: float, training: bool) -> Tensor:
    """`dropout(relu(x))`, leaving `x` as it is."""
    return relu_dropout_(x.clone(), p, training) if training and p > 0 else F.relu(x)


class _ReluDropout(Function):
    """An output entry is positive exactly where ReLU and dropout both let it pass, so no mask is kept."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, p: float) -> Tensor:
        _zero_some_(x.relu_(), p).mul_(1 / (1 - p))
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        ctx.scale = 1 / (1 - p)
        return x

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        (output,) = ctx.saved_tensors
        return torch.ops.aten.threshold_backward(grads[0], output, 0).mul_(ctx.scale), None


def _zero_some_(x: Tensor, p: float) -> Tensor:
    """Zero entries of a contiguous CPU tensor with probability `p`, in place."""
    threshold = min(round(p * LEVELS), LEVELS - 1) - LEVELS // 2
    source = np.random.SFC64(draw_seed())  # twice as fast as torch's own, and seeded by it
    keep = x.new_empty(PIECE)
    for piece in torch.split(x.view(-1), PIECE):
        size = piece.numel()
        bits = torch.from_numpy(source.random_raw((size + 3) // 4).view(np.int16))[:size]
        piece.mul_(torch.ge(bits, threshold, out=keep[:size]))
    return x


def _by_torch(x: Tensor) -> bool:
    """Whether PyTorch must draw: on accelerators, and inside `torch.func`, whose replicas only it can tell apart."""
    return x.device.type != "cpu" or peek_interpreter_stack() is not None


def _torch_dropout(x: Tensor, p: float) -> Tensor:
    """PyTorch's draws; on an accelerator from a generator that ours seeds, so that a training can be repeated."""
    if peek_interpreter_stack() is not None:
        return F.dropout(x, p)
    source = None if x.device.type == "cpu" else generator_on(x.device)
    keep = torch.empty_like(x, requires_grad=False).bernoulli_(1 - p, generator=source or current_generator())
    return x * keep * (1 / (1 - p))


class Dropout(nn.Module):
    """`dropout` as a module."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = check_probability(p)

    def forward(self, x: Tensor) -> Tensor:
        """`[...]` to `[...]`."""
        return dropout(x, self.p, self.training)
