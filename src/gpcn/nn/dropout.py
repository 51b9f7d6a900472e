"""Dropout that costs a fraction of PyTorch's on the CPU, alone and together with the ReLU before it.

PyTorch draws one random number per entry and step. Here a table of masks is drawn once per probability, always the same
two million independent draws, and a step multiplies by a stretch of it that starts at a random place. What is random
about a step is where its stretches start, drawn as `torch.manual_seed` and everything built on it decide (see
`randomness`): entries of one stretch are independent of each other, and two steps have the same mask once in a million.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch._C._functorch import peek_interpreter_stack
from torch.autograd import Function

from gpcn.errors import ConfigError
from gpcn.nn.operator import SparseOperator
from gpcn.nn.randomness import current_generator, generator_on

DRAWN_HERE = (torch.float32, torch.float64)
LEVELS = 1 << 16  # probabilities are exact to one of these
TABLE, STRETCH = 1 << 21, 1 << 19  # entries; a larger tensor takes several stretches
TABLE_SEED = 20_260_101


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
    return x * _whole_mask(x.numel(), p, x.dtype).view(x.shape)


def dropout_of_rows(x: Tensor, p: float, rows: Tensor | None, count: int) -> Tensor:
    """`dropout` of some rows of a matrix that has `count`, with the draws that all of them would have had."""
    if rows is None or _by_torch(x):
        return dropout(x, p, True)
    masks = _whole_mask(count * x.shape[1], p, x.dtype).view(count, x.shape[1])
    return masks.index_select(0, rows).mul_(x)


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
        return _drop_(x.relu_(), p)
    result: Tensor = _ReluDropout.apply(x, p)  # type: ignore[no-untyped-call]
    return result


def relu_dropout(x: Tensor, p: float, training: bool) -> Tensor:
    """`dropout(relu(x))`, leaving `x` as it is."""
    return relu_dropout_(x.clone(), p, training) if training and p > 0 else F.relu(x)


class _ReluDropout(Function):
    """An output entry is positive exactly where ReLU and dropout both let it pass, so no mask is kept."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, p: float) -> Tensor:
        _drop_(x.relu_(), p)
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        ctx.scale = 1 / (1 - p)
        return x

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        (output,) = ctx.saved_tensors
        return torch.ops.aten.threshold_backward(grads[0], output, 0).mul_(ctx.scale), None


def _drop_(x: Tensor, p: float) -> Tensor:
    """Zero entries of a contiguous CPU tensor with probability `p` and scale the others, in place."""
    flat = x.detach().view(-1)
    for part, mask in _masks(flat.numel(), p, x.dtype):
        flat[part].mul_(mask)
    return x


def _masks(size: int, p: float, dtype: torch.dtype) -> Iterator[tuple[slice, Tensor]]:
    """By what `size` entries are multiplied, 0 or `1 / (1 - p)`: parts of them, and a stretch of the table for each."""
    table = mask_table(p, dtype)
    stretches = max(1, -(-size // STRETCH))
    starts = torch.randint(TABLE - STRETCH, (stretches,), generator=current_generator())
    for number, start in enumerate(starts.tolist()):
        part = slice(number * STRETCH, min((number + 1) * STRETCH, size))
        yield part, table[start : start + part.stop - part.start]


def _whole_mask(size: int, p: float, dtype: torch.dtype) -> Tensor:
    """`[size]` entries of the table, not to be changed."""
    masks = [mask for _, mask in _masks(size, p, dtype)]
    return masks[0] if len(masks) == 1 else torch.cat(masks)


@functools.lru_cache(maxsize=4)
def mask_table(p: float, dtype: torch.dtype) -> Tensor:
    """`[TABLE]` independent draws, 0 with probability `p` and `1 / (1 - p)` otherwise; four of a 64-bit number."""
    threshold = np.int16(min(round(p * LEVELS), LEVELS - 1) - LEVELS // 2)
    bits = np.random.SFC64(TABLE_SEED).random_raw(TABLE // 4).view(np.int16)
    return torch.from_numpy(bits >= threshold).to(dtype).mul_(1 / (1 - p))


class SparseDropout:
    """`dropout_sparse` of the same features again and again: one operator, whose entries are drawn anew in place.

    Args:
        x: the features; they stay as they are.
        p: share of entries zeroed.
        entries: where `x` is some rows of larger features, the numbers of its entries among theirs.
        stored: how many entries those have.
    """

    def __init__(self, x: SparseOperator, p: float, entries: Tensor | None = None, stored: int | None = None) -> None:
        self.p, self.entries, self.stored = check_probability(p), entries, x.nnz if stored is None else stored
        self.given = x.matrix.values()
        self.values, self.turned = torch.empty_like(self.given), torch.empty_like(self.given)
        self.order = x.transpose_order()
        self.operator = x.with_stored_values(self.values, self.turned)

    def __call__(self) -> SparseOperator:
        """The features with other entries zeroed than the last time; the result of that time changes with it."""
        if self.entries is None:
            for part, mask in _masks(self.stored, self.p, self.given.dtype):
                torch.mul(self.given[part], mask, out=self.values[part])
        else:
            torch.index_select(_whole_mask(self.stored, self.p, self.given.dtype), 0, self.entries, out=self.values)
            self.values.mul_(self.given)
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
