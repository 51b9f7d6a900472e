"""Metrics by which predictions are judged, each with the tasks that it serves.

Scores are kept as people read them: shares in per cent, the log loss as it is, a positive number. What is undefined is
`None` among results and nan among tensors. Whoever looks for the best compares `oriented_score`s, of which the higher
is always the better one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpcn.core.errors import ConfigError, near_matches

if TYPE_CHECKING:
    from torch import Tensor

FromArrays = Callable[[Any, Any, Any], float]
FromTensors = Callable[["Tensor", "Tensor", Any], "Tensor"]


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A measure of predictions.

    `from_arrays(prediction, truth, task)` and `from_tensors(outputs, truth, task)` give a share of one, or a number in
    units of its own where it is not shown in per `percent`. `is_defined(truth, task)` says whether nodes with these
    values have a score at all, `needs` what they have to have for one. A `ranking` metric sees the order of
    predictions alone.
    """

    name: str
    title: str
    serves: tuple[str, ...]
    from_arrays: FromArrays
    from_tensors: FromTensors
    is_defined: Callable[[Any, Any], bool] = lambda truth, task: len(truth) > 0
    needs: str = "labels"
    greater_is_better: bool = True
    percent: bool = True
    ranking: bool = False

    @property
    def scale(self) -> int:
        """The number by which a share is multiplied to be kept and shown."""
        return 100 if self.percent else 1

    @property
    def sign(self) -> int:
        """1 where greater is better, else -1."""
        return 1 if self.greater_is_better else -1

    @property
    def digits(self) -> int:
        """Decimals in tables."""
        return 2 if self.percent else 4

    @property
    def axis(self) -> str:
        """The title of an axis that shows it."""
        words = self.name.replace("_", " ")
        return f"{words}, per cent" if self.percent else f"{words}, lower is better"


_METRICS: dict[str, Metric] = {}


def register_metric(metric: Metric) -> Metric:
    """Make a metric known by its name, which no other may have."""
    if metric.name in _METRICS:
        raise ConfigError(f"there is a metric called {metric.name!r} already; choose another name")
    _METRICS[metric.name] = metric
    return metric


def find_metric(name: str) -> Metric:
    """Return the metric called `name`."""
    if name not in _METRICS:
        raise ConfigError(f"there is no metric called {name!r}; {near_matches(name, _METRICS)}")
    return _METRICS[name]


def metric_names(task: str | None = None) -> tuple[str, ...]:
    """Return the names of all metrics, or of those that serve a task."""
    return tuple(name for name, metric in _METRICS.items() if task is None or task in metric.serves)


def oriented_score(name: str, value: float | None) -> float:
    """Return a score such that higher is better, for comparing; undefined is lower than all others."""
    return -math.inf if value is None else find_metric(name).sign * value
