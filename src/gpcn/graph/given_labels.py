"""Labels as people hand them over: numbers or text, some of them unknown."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gpcn.core.types import UNKNOWN


def unknown_labels(y: Any) -> npt.NDArray[np.bool_]:
    """Where a label is `None`, NaN or another missing value, or -1 among numbers."""
    labels = np.asarray(y)
    if labels.dtype.kind in "iu":
        return np.asarray(labels == UNKNOWN)
    if labels.dtype.kind == "f":
        return np.asarray(np.isnan(labels) | (labels == UNKNOWN))
    if labels.dtype.kind != "O" or labels.ndim != 1:
        return np.zeros(labels.shape, dtype=bool)
    return np.array([_is_missing(label) for label in labels], dtype=bool)


def _is_missing(label: Any) -> bool:
    if label is None or (isinstance(label, int | np.integer) and not isinstance(label, bool) and label == UNKNOWN):
        return True
    unequal = label != label  # noqa: PLR0124  (NaN and NaT are not equal to themselves; pandas' NA says neither)
    return unequal is True or not isinstance(unequal, bool | np.bool_) or bool(unequal)


def labels_of_one_type(labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Known labels of an object array as numbers or text, whichever they all are."""
    if labels.dtype.kind != "O":
        return labels
    return np.array(labels.tolist())
