"""`Function`: PyTorch's, without what a call costs only for the sake of `torch.func` where that is not at work.

PyTorch reads the signature of `forward` anew at each call of a function that `torch.func` can transform: tens of
microseconds, and an epoch of a small graph makes a dozen calls.
"""

from __future__ import annotations

from typing import Any

import torch

_transformed = getattr(torch._C, "_are_functorch_transforms_active", lambda: True)  # a PyTorch without it: as usual


class Function(torch.autograd.Function):
    """Give `forward` all its arguments, by position."""

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """As `torch.autograd.Function.apply`."""
        if _transformed():
            return super().apply(*args)  # type: ignore[no-untyped-call]
        if not torch.is_grad_enabled():
            return cls.forward(*args)
        return super(torch.autograd.Function, cls).apply(*args)  # type: ignore[misc]
