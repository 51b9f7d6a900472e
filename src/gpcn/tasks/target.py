"""`Target`: what is known of every node that a task asks about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gpcn.core.errors import DataError
from gpcn.core.types import UNKNOWN, IntVector
from gpcn.tasks.metric_choice import positive_class

MOST_CLASSES = 2000


@dataclass(frozen=True, eq=False, kw_only=True)
class Target:
    """Known answers.

    Args:
        values: `[N]` or `[N, ...]`; of no meaning where nothing is known.
        mask: `[N]`, whether the answer is known.
        names: of the columns of a prediction: the classes.
        strata: `[N]`, the group of each node of which every part of a split has its share; -1 where nothing is known.
        positive: of two classes the rarer one, which F1, average precision and thresholds are about.
    """

    values: npt.NDArray[Any]
    mask: npt.NDArray[np.bool_]
    names: tuple[str, ...]
    strata: IntVector
    positive: int | None = None

    @property
    def stratum_names(self) -> tuple[str, ...]:
        """What strata are called: like the columns where there is one for each, else their numbers."""
        last = int(self.strata.max(initial=UNKNOWN))
        return self.names if last < len(self.names) else tuple(map(str, range(last + 1)))


def class_target(labels: object, nodes: int, names: Sequence[str] | None) -> Target:
    """Return the target of class numbers `[nodes]`, -1 for unknown; `names` are those of the classes."""
    values = _checked_labels(labels, nodes, names)
    if names is None:
        names = tuple(map(str, range(int(values.max(initial=UNKNOWN)) + 1)))
    return Target(
        values=values,
        mask=values != UNKNOWN,
        names=tuple(names),
        strata=values,
        positive=positive_class(values, len(names)),
    )


def _checked_labels(given: object, nodes: int, names: Sequence[str] | None) -> IntVector:
    labels = np.asarray(given)
    if labels.shape != (nodes,):
        raise DataError(f"the labels have shape {labels.shape}; expected {nodes}, one per node")
    if labels.dtype.kind not in "iub":
        raise DataError(f"the labels hold {labels.dtype} values; expected class numbers from 0, -1 for unknown")
    if labels.dtype.kind == "u" and labels.max() > np.iinfo(np.int64).max:
        raise DataError(f"a label is {labels.max()}; expected class numbers from 0, and -1 for unknown")
    labels = labels.astype(np.int64)
    if labels.min() < UNKNOWN:
        raise DataError(f"a label is {labels.min()}; expected class numbers from 0, and -1 for unknown")
    classes = MOST_CLASSES if names is None else len(names)
    if labels.max() >= classes or classes > MOST_CLASSES:
        problem = f"a label is {labels.max()}" if labels.max() >= classes else f"there are {classes:,} label_names"
        raise DataError(f"{problem}; expected at most {min(classes, MOST_CLASSES):,} classes, numbered from 0")
    labels.flags.writeable = False
    return labels
