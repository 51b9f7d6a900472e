"""Scores of several splits: their mean, and how two models differ over the same ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpcn.errors import ConfigError


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
