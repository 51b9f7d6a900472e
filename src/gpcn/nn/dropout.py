"""Dropout that costs a fraction of PyTorch's on the CPU, alone and together with the ReLU before it.

PyTorch draws one random number per entry. Here every 64-bit draw decides four entries, with probabilities exact to
2^-16, from a fast generator that PyTorch's seeds anew each time, so `torch.manual_seed` and everything built on it work
as usual (see `randomness`). Masks are drawn and applied piece by piece, small enough to stay in the cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn
from torch._C._functorch import peek_interpreter_stack
from torch.autograd import Function

from gpcn.errors import ConfigError
from gpcn.nn.operator import SparseOperator
from gpcn.nn.randomness import current_generator, draw_seed, generator_on

DRAWN_HERE = (torch.float32, torch.float64)
LEVELS = 1 << 16
PIECE = 1 << 17  # entries; what is drawn and compared for them stays in the cache


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


def dropout_of_rows(x: Tensor, p: float, rows: Tensor | None, count: int) -> Tensor:
    """`dropout` of some rows (in ascending order) of a matrix that has `count`, with the draws that all would have."""
    if rows is None or _by_torch(x):
        return dropout(x, p, True)
    result = x * (1 / (1 - p))
    target = result.numpy()
    for part, keep in _kept_of_rows(rows.numpy(), count, x.shape[1], p):
        np.multiply(target[part], keep, out=target[part])
    return result


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
    flat = x.detach().view(-1).numpy()
    with np.errstate(invalid="ignore"):  # a diverging model has infinite entries; its loss says so
        for start, keep in _kept(flat.size, p):
            piece = flat[start : start + keep.size]
            np.multiply(piece, keep, out=piece)
    return x


def _kept(size: int, p: float) -> Iterator[tuple[int, NDArray[np.bool_]]]:
    """Which of `size` entries stay, piece by piece: where a piece starts, and its mask, overwritten by the next."""
    threshold = _threshold(p)
    source = np.random.SFC64(draw_seed())  # twice as fast as torch's own, and seeded by it
    buffer = np.empty(min(PIECE, size), dtype=np.bool_)
    for start in range(0, size, PIECE):
        count = min(PIECE, size - start)
        bits = source.random_raw((count + 3) // 4).view(np.int16)[:count]
        yield start, np.greater_equal(bits, threshold, out=buffer[:count])


def _kept_of_rows(
    rows: NDArray[np.int64], count: int, width: int, p: float
) -> Iterator[tuple[slice, NDArray[np.bool_]]]:
    """The same draws for `rows` of `count` rows of `width` entries alone: a part of `rows`, and its mask."""
    threshold, source = _threshold(p), np.random.SFC64(draw_seed())
    step = 4 * max(1, PIECE // (4 * width))  # rows at a time; by four, so that no draw is divided
    for start in range(0, count, step):
        entries = (min(start + step, count) - start) * width
        bits = source.random_raw((entries + 3) // 4).view(np.int16)[:entries].reshape(-1, width)
        first, last = np.searchsorted(rows, (start, start + step))
        yield slice(first, last), bits[rows[first:last] - start] >= threshold


def _threshold(p: float) -> np.int16:
    return np.int16(min(round(p * LEVELS), LEVELS - 1) - LEVELS // 2)


class SparseDropout:
    """`dropout_sparse` of the same features again and again: one operator, whose entries are drawn anew in place.

    Args:
        x: the features; they stay as they are.
        p: share of entries zeroed.
        entries: where `x` is some rows of larger features, the numbers of its entries among theirs.
        stored: how many entries those have.
    """

    def __init__(self, x: SparseOperator, p: float, entries: Tensor | None = None, stored: int = 0) -> None:
        self.p, self.stored = check_probability(p), stored
        self.entries = None if entries is None else entries.numpy()
        values = x.matrix.values()
        self.scaled = (values * (1 / (1 - p))).numpy()
        self.values = torch.empty_like(values)
        self.order = x.transpose_order()
        self.turned = torch.empty_like(values)
        self.operator = x.with_stored_values(self.values, self.turned)

    def __call__(self) -> SparseOperator:
        """The features with other entries zeroed than the last time; the result of that time changes with it."""
        target = self.values.numpy()
        if self.entries is not None:
            keep = np.concatenate([piece.copy() for _, piece in _kept(self.stored, self.p)])
            np.multiply(self.scaled, keep[self.entries], out=target)
        else:
            for start, keep in _kept(target.size, self.p):
                part = slice(start, start + keep.size)
                np.multiply(self.scaled[part], keep, out=target[part])
        torch.index_select(self.values, 0, self.order, out=self.turned)
        return self.operator


def _by_torch(x: Tensor) -> bool:
    """Whether PyTorch must draw: on accelerators, for short floats, which NumPy does not have all, and inside
    `torch.func`, whose replicas only PyTorch can tell apart."""
    return x.device.type != "cpu" or x.dtype not in DRAWN_HERE or peek_interpreter_stack() is not None


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
