"""From probabilities of two classes to decisions: from which probability on a node counts as the positive class.

The positive class is the rarer one. The threshold is a number, the one with the best F1 on validation nodes, or what
marks a given number of nodes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from gpcn.core.errors import ConfigError, DataError, Option
from gpcn.graph import Graph
from gpcn.runs.predictions.prediction import Decision, Predictions
from gpcn.runs.run import Run

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ThresholdRule:
    """`value`: positive from this probability on; `f1`: from the one that validation nodes choose; `top`: so many."""

    kind: Literal["value", "f1", "top"]
    value: float = 0.5
    count: int = 0


def read_threshold(text: str) -> ThresholdRule:
    """`0.3`, `f1` or `top=100`."""
    clean = text.strip()
    if clean == "f1":
        return ThresholdRule("f1")
    match = re.fullmatch(r"top\s*=\s*([0-9]{1,15})", clean)
    if match is not None and int(match[1]) >= 1:
        return ThresholdRule("top", count=int(match[1]))
    try:
        value = float(clean)
    except ValueError:
        raise ConfigError(
            f"{Option('threshold')} {text!r} cannot be read; expected a probability, f1 or a number of nodes, such as "
            "0.3, f1 or top=100"
        ) from None
    if not 0 <= value <= 1:
        raise ConfigError(f"{Option('threshold')} is {text.strip()}; expected a probability from 0 to 1, such as 0.3")
    return ThresholdRule("value", value=value)


def check_two_classes(run: Run) -> None:
    """Refuse a run of more than two classes."""
    classes = run.graph.classes
    if classes != 2:
        raise ConfigError(
            f"{Option('threshold')} is for two classes, and {run.path} has {classes}; leave it out to have the most "
            "probable one"
        )


def decide(
    predictions: Predictions, rule: ThresholdRule, validation: Sequence[tuple[Floats, npt.NDArray[np.bool_]]] = ()
) -> tuple[Predictions, Decision]:
    """`predictions` with classes chosen by `rule`, and what was decided.

    `validation` holds, for each split, the positive class's probability on validation nodes and which of them are of
    that class (`validation_nodes`); `f1` needs it.
    """
    if predictions.task.positive is None:
        raise ConfigError(f"a threshold is for two classes; found {len(predictions.label_names)}")
    likely = predictions.probabilities[:, predictions.task.positive]
    validation_f1 = None
    if rule.kind == "top":
        marked = np.zeros(likely.size, dtype=bool)
        marked[np.argsort(-likely, kind="stable")[: rule.count]] = True
        threshold = float(likely[marked].min()) if marked.any() else None
    else:
        threshold = rule.value
        if rule.kind == "f1":
            threshold, validation_f1 = best_f1_threshold(validation)
        marked = likely >= threshold
    chosen = np.where(marked, predictions.task.positive, 1 - predictions.task.positive)
    decision = Decision(
        rule=rule.kind,
        positive=predictions.label_names[predictions.task.positive],
        threshold=threshold,
        predicted_positive=int(marked.sum()),
        validation_f1=validation_f1,
    )
    return replace(predictions, chosen=chosen), decision


def best_f1_threshold(validation: Sequence[tuple[Floats, npt.NDArray[np.bool_]]]) -> tuple[float, float]:
    """The threshold with the highest F1, mean over splits, and that mean, a share of one.

    It lies halfway between the probabilities of two validation nodes; of equals the highest counts.
    """
    scored = [(likely, truth) for likely, truth in validation if truth.any()]
    if not scored:
        raise DataError("no validation node is of the positive class, so F1 cannot choose a threshold; give a number")
    candidates = np.unique(np.concatenate([likely for likely, _ in scored]))
    means = np.mean([_f1_at(candidates, likely, truth) for likely, truth in scored], axis=0)
    best = int(np.flatnonzero(means == means.max())[-1])
    below = candidates[best - 1] if best else 0.0
    return float((candidates[best] + below) / 2), float(means[best])


def validation_nodes(
    runs: Sequence[Run], graph: Graph, splits: Sequence[int] | None = None
) -> list[tuple[Floats, npt.NDArray[np.bool_]]]:
    """For each split, the positive class's probability on its validation nodes, averaged over `runs`, and the truth.

    `graph` must be the one trained on, and the probabilities are those kept in training: no test node is looked at.
    """
    run = runs[0]
    if graph.fingerprint() != run.graph.fingerprint:
        raise ConfigError(
            f"the graph of {run.path} has changed since training, so its validation nodes cannot choose; give "
            f"{Option('threshold')} a number"
        )
    positive = run.task().positive
    pairs = []
    for number in sorted(set(splits)) if splits is not None else run.finished():
        if not 0 <= number < len(graph.splits):
            raise ConfigError(f"there is no split {number}; {graph.name} has splits 0 to {len(graph.splits) - 1}")
        nodes = graph.splits[number].val
        likely = np.mean([member.predictions(number)[nodes, positive] for member in runs], axis=0)
        pairs.append((likely, graph.target.values[nodes] == positive))
    return pairs


def _f1_at(thresholds: Floats, likely: Floats, truth: npt.NDArray[np.bool_]) -> Floats:
    """F1 of `likely >= threshold` for sorted thresholds."""
    every, right = np.sort(likely), np.sort(likely[truth])
    marked = every.size - np.searchsorted(every, thresholds)
    hits = right.size - np.searchsorted(right, thresholds)
    return np.asarray(2 * hits / (marked + right.size))
