"""How good predictions are: the dataset's own metric and what else a reader wants to know. Undefined is `None`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gpcn.errors import ConfigError
from gpcn.training.scores import metrics
from gpcn.utils.types import METRICS, IntVector, Metric

BINS = 15


def evaluate(
    probabilities: npt.NDArray[Any], labels: IntVector, metric: Metric, positive: int | None = None
) -> dict[str, Any]:
    """All measures of `probabilities` `[n, C]` against `labels` `[n]`.

    `score` is the dataset's own, in per cent (the log loss in nats); all others are shares of one. `positive` is the
    class that F1 and average precision of two classes are about (class 1 where not given).
    """
    classes = probabilities.shape[1]
    predicted = probabilities.argmax(axis=1)
    confusion = np.bincount(labels * classes + predicted, minlength=classes**2).reshape(classes, classes)
    hits, given, chosen = np.diag(confusion), confusion.sum(axis=1), confusion.sum(axis=0)
    shares: dict[str, float | None] = {
        name: metrics.metric_share(probabilities, labels, name, positive) for name in METRICS
    }
    present = (given + chosen) > 0
    f1 = 2 * hits[present] / (given + chosen)[present]
    value = shares[metric]
    return {
        "score": None if value is None else metrics.definition(metric).scale * value,
        **shares,
        "macro_f1": float(f1.mean()) if f1.size else None,
        "precision": [_share(h, p) for h, p in zip(hits, chosen, strict=True)],
        "recall": [_share(h, g) for h, g in zip(hits, given, strict=True)],
        "support": given.tolist(),
        "confusion": confusion.tolist(),
        "calibration_error": calibration_error(probabilities, labels),
    }


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


def summarize(scores: Sequence[float | None]) -> tuple[float | None, float | None]:
    """Mean and sample standard deviation of what is defined."""
    defined = np.array([score for score in scores if score is not None], dtype=np.float64)
    if not defined.size:
        return None, None
    return float(defined.mean()), float(defined.std(ddof=1)) if defined.size > 1 else None


def compare_pairs(
    first: Sequence[float], second: Sequence[float], test_share: float, confidence: float = 0.95
) -> dict[str, float | None]:
    """`first - second` over the same splits: mean, confidence interval and p-value.

    Splits of one graph overlap, so their scores are not independent and the plain paired t-test is too sure of itself.
    The variance is corrected for that (Nadeau and Bengio, 2003): `(1/n + n_test/n_train) s²`. `test_share` is the
    share of test nodes among train and test.
    """
    if len(first) != len(second):
        raise ConfigError(f"{len(first)} scores cannot be paired with {len(second)}; compare the same splits")
    differences = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    mean = float(differences.mean())
    count = differences.size
    if count < 2:
        return {"difference": mean, "low": None, "high": None, "p": None}
    variance = float(differences.var(ddof=1)) * (1 / count + test_share / (1 - test_share))
    if variance == 0:
        return {"difference": mean, "low": mean, "high": mean, "p": 1.0 if mean == 0 else 0.0}
    from scipy.special import stdtr, stdtrit  # a trainer of splits needs neither, and it takes a while to import

    reach = float(stdtrit(count - 1, 0.5 + confidence / 2)) * variance**0.5
    p = float(2 * stdtr(count - 1, -abs(mean) / variance**0.5))
    return {"difference": mean, "low": mean - reach, "high": mean + reach, "p": p}


def _share(part: Any, whole: Any) -> float | None:
    return float(part / whole) if whole else None
