"""Scores of several splits: their mean, and how two models differ over the same ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from gpcn.core.errors import ConfigError


class PairedDifference(Struct, frozen=True):
    """A mean difference over the same splits, its confidence interval and p-value; `None` with a single split."""

    difference: float
    low: float | None
    high: float | None
    p: float | None

    @property
    def certainty(self) -> tuple[float, float, float] | None:
        """The interval and the p-value, where there are any."""
        return None if self.low is None or self.high is None or self.p is None else (self.low, self.high, self.p)


def summarize(scores: Sequence[float | None]) -> tuple[float | None, float | None]:
    """Mean and sample standard deviation of what is defined."""
    defined = np.array([score for score in scores if score is not None], dtype=np.float64)
    if not defined.size:
        return None, None
    return float(defined.mean()), float(defined.std(ddof=1)) if defined.size > 1 else None


def compare_pairs(
    first: Sequence[float], second: Sequence[float], test_share: float, confidence: float = 0.95
) -> PairedDifference:
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
        return PairedDifference(mean, None, None, None)
    variance = float(differences.var(ddof=1)) * (1 / count + test_share / (1 - test_share))
    if variance == 0:
        return PairedDifference(mean, mean, mean, 1.0 if mean == 0 else 0.0)
    from scipy.special import stdtr, stdtrit  # a trainer of splits needs neither, and it takes a while to import

    reach = float(stdtrit(count - 1, 0.5 + confidence / 2)) * variance**0.5
    p = float(2 * stdtr(count - 1, -abs(mean) / variance**0.5))
    return PairedDifference(mean, mean - reach, mean + reach, p)
