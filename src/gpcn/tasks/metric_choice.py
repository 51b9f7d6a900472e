"""Which metric a graph is judged by where nobody says, and which of two classes is the positive one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpcn.core.types import UNKNOWN, IntVector

RARE = 0.2  # share of the labelled nodes below which accuracy says little about the rarer class


def positive_class(labels: IntVector, num_classes: int) -> int | None:
    """Of two classes the rarer among the labelled nodes, class 1 where both are as many; `None` with more classes."""
    if num_classes != 2:
        return None
    counts = np.bincount(labels[labels != UNKNOWN], minlength=2)
    return 0 if counts[0] < counts[1] else 1


def default_metric(labels: IntVector, label_names: Sequence[str] | None = None) -> tuple[str, str | None]:
    """The metric for a user's own graph that does not name one, and a note where that is not accuracy.

    Two classes of which the rarer has under 20 % of the labelled nodes are judged by average precision: always
    predicting the other class would have an accuracy of more than 80 %.

    Args:
        labels: `[N]`, class numbers from 0, with -1 for unknown.
        label_names: the name of each class; numbers stand for names where omitted.
    """
    num_classes = len(label_names) if label_names is not None else int(labels.max(initial=UNKNOWN)) + 1
    positive = positive_class(labels, num_classes)
    if positive is None:
        return "accuracy", None
    counts = np.bincount(labels[labels != UNKNOWN], minlength=2)
    if not counts.all() or counts[positive] / counts.sum() >= RARE:
        return "accuracy", None
    name = label_names[positive] if label_names is not None else str(positive)
    return "average_precision", (
        f"average_precision is used because only {counts[positive] / counts.sum():.1%} of the labelled nodes are "
        f"{name!r}; set metric to choose another"
    )
