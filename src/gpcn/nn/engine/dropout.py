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
from torch import Tensor
from torch._C._functorch import peek_interpreter_stack
from torch.autograd import Function

from gpcn.core.errors import ConfigError
from gpcn.nn.engine.operator import SparseOperator
from gpcn.nn.engine.randomness import current_generator, draw_seed, generator_for_device

DRAWN_HERE = (torch.float32, torch.float64)
LEVELS = 1 << 16
PIECE = 1 << 17  # entries; what is drawn and compared for them stays in the cache


def check_probability(p: float) -> float:
    """Return a dropout probability, checked."""
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
    return x.with_values(dropout(x.csr.values, p, training))


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
    flat = _as_integers(x.detach().view(-1))
    for start, keep in _kept(flat.size, p):
        piece = flat[start : start + keep.size]
        np.multiply(piece, keep, out=piece)
    return x


def _as_integers(x: Tensor) -> NDArray[Any]:
    """The same memory as whole numbers: times one they keep every bit, times zero they are zero, infinities too."""
    return x.numpy().view(np.int32 if x.dtype == torch.float32 else np.int64)


def _kept(size: int, p: float) -> Iterator[tuple[int, NDArray[np.bool_]]]:
    """Yield the start of each piece of `size` entries and the mask of those that stay, overwritten by the next."""
    threshold = _threshold(p)
    source = np.random.SFC64(draw_seed())  # twice as fast as torch's own, and seeded by it
    buffer = np.empty(min(PIECE, size), dtype=np.bool_)
    for start in range(0, size, PIECE):
        count = min(PIECE, size - start)
        bits = source.random_raw((count + 3) // 4).view(np.int16)[:count]
        yield start, np.greater_equal(bits, threshold, out=buffer[:count])


class RowDropout:
    """`dropout` in place of rows of the same matrix again and again, with the draws that all its rows would have.

    Args:
        p: share of entries zeroed.
        width: entries of a row.
        rows: numbers of the rows, rising (default: all).
        count: how many rows the matrix has.
    """

    def __init__(self, p: float, width: int, rows: Tensor | None, count: int) -> None:
        self.p, self.scale, self.width = check_probability(p), 1 / (1 - p), width
        self.threshold = _threshold(p)
        step = 4 * max(1, PIECE // (4 * max(1, width)))  # rows at a time; by four, so that no draw is divided
        self.pieces: list[tuple[int, NDArray[np.int64] | None, slice]] = []  # entries drawn, rows of them, their place
        numbers = None if rows is None else rows.numpy()
        for start in range(0, count, step):
            stop = min(start + step, count)
            if numbers is None:
                self.pieces.append(((stop - start) * width, None, slice(start, stop)))
            else:
                first, last = np.searchsorted(numbers, (start, stop))
                self.pieces.append(((stop - start) * width, numbers[first:last] - start, slice(first, last)))
        self.mask = np.empty(min(step, count) * width, dtype=np.bool_)

    def __call__(self, x: Tensor) -> Tensor:
        """Drop entries of `x` `[rows, width]`, which is contiguous, and scale the rest; `x`."""
        if _by_torch(x):
            return x.copy_(_torch_dropout(x, self.p))
        target, source = _as_integers(x), np.random.SFC64(draw_seed())
        for entries, rows, part in self.pieces:
            bits = source.random_raw((entries + 3) // 4).view(np.int16)[:entries]
            keep = np.greater_equal(bits, self.threshold, out=self.mask[:entries]).reshape(-1, self.width)
            np.multiply(target[part], keep if rows is None else keep[rows], out=target[part])
        return x.mul_(self.scale)


def _threshold(p: float) -> np.int16:
    return np.int16(min(round(p * LEVELS), LEVELS - 1) - LEVELS // 2)


class SparseDropout:
    """`dropout_sparse` of the same features again and again: one operator, whose entries are drawn anew in place.

    Args:
        x: the features; they stay as they are.
        p: share of entries zeroed.
        entries: where `x` is some rows of larger features, the numbers of its entries among theirs.
        stored: how many entries those have.
        values: where the entries are written, `[nnz]`, for whoever reads them from there, too (default: a new tensor).
    """

    def __init__(
        self,
        x: SparseOperator,
        p: float,
        entries: Tensor | None = None,
        stored: int = 0,
        values: Tensor | None = None,
    ) -> None:
        self.p = check_probability(p)
        self.entries = None if entries is None else entries.numpy()
        before = x.csr.values
        self.scaled = _as_integers(before * (1 / (1 - p)))
        self.values = torch.empty_like(before) if values is None else values
        self.order = x.transpose_order()
        self.turned = torch.empty_like(before)
        self.operator = x.with_stored_values(self.values, self.turned)
        self.keep = np.empty(stored if self.entries is not None else 0, dtype=np.bool_)

    def __call__(self) -> SparseOperator:
        """The features with other entries zeroed than the last time; the result of that time changes with it."""
        target = _as_integers(self.values)
        if self.entries is not None:
            for start, keep in _kept(self.keep.size, self.p):
                self.keep[start : start + keep.size] = keep
            np.multiply(self.scaled, self.keep[self.entries], out=target)
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
    source = None if x.device.type == "cpu" else generator_for_device(x.device)
    keep = torch.empty_like(x, requires_grad=False).bernoulli_(1 - p, generator=source or current_generator())
    return x * keep * (1 / (1 - p))
