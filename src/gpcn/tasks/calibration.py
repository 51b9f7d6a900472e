"""The calibration error: the distance of the confidence of predictions from the share that is right."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gpcn.core.types import IntVector

BINS = 15


def calibration_error(probabilities: npt.NDArray[Any], labels: IntVector) -> float | None:
    """Expected calibration error: how far confidence is from accuracy, over 15 bins of confidence."""
    if not labels.size:
        return None
    size, right, confidence = confidence_bins(probabilities, labels)
    return float(np.abs(right - confidence).sum() / size.sum())


def confidence_bins(
    probabilities: npt.NDArray[Any], labels: IntVector
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
    """How many predictions fall into each of 15 bins of confidence, how many of them are right, and the sum of their
    confidence.
    """
    confidence, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == labels
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    return np.bincount(bins, minlength=BINS), np.bincount(bins, right, BINS), np.bincount(bins, confidence, BINS)
