"""Tensors of PyTorch as arrays of NumPy, without importing PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy.typing as npt

if TYPE_CHECKING:
    from torch import Tensor


def as_array(tensor: Tensor) -> npt.NDArray[Any]:
    """The entries of a tensor on any device.

    Floats of 16 bits and fewer, which NumPy or SciPy do not have, become those of 32 bits, the same numbers.
    """
    entries = tensor.detach().cpu()
    narrow = entries.is_floating_point() and entries.element_size() < 4
    array: npt.NDArray[Any] = (entries.float() if narrow else entries).numpy()
    return array
