"""How far a graph to be predicted is from the one trained on: features, degrees, and what is predicted.

Shares are compared by the population stability index, `Σ (p - q) ln(p / q)`: below 0.1 the two are alike, from 0.25 on
they are not. It says that something moved, and neither that predictions got worse nor that they did not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from msgspec import Struct

from gpcn.data.graph_record import FeatureRanges, GraphProfile
from gpcn.graph import Graph
from gpcn.preparation.text_encoders import Levels
from gpcn.runs.predictions.fitted import match_trained_features
from gpcn.runs.profile import degree_counts
from gpcn.runs.run import Run

MOVED, MOVED_FAR = 0.1, 0.25  # of the stability index
NOTABLE = 0.01  # share of nodes with a value that was not there in training
LEAST = 1e-4  # share of what does not occur, so that the index is finite
LISTED = 10


class DegreeCounts(Struct, frozen=True):
    """The nodes with 0, 1, 2-3, 4-7, ... links."""

    before: tuple[int, ...]
    now: tuple[int, ...]


class ClassShares(Struct, frozen=True):
    """Shares of the classes among training labels and predictions, and the stability index of the latter."""

    index: float | None
    labels: dict[str, float]
    predicted_before: dict[str, float] | None
    predicted_now: dict[str, float] | None


class Drift(Struct, frozen=True, kw_only=True):
    """What differs between a graph and the one trained on.

    Args:
        unseen_levels: share of nodes by column.
        outside_range: share of nodes by feature; `None` where there are too many features to keep their ranges.
        degrees: stability index.
    """

    unseen_levels: dict[str, float]
    outside_range: dict[str, float] | None
    degrees: float
    degree_counts: DegreeCounts
    classes: ClassShares


def measure_drift(
    runs: Sequence[Run],
    graph: Graph,
    probabilities: npt.NDArray[np.float64],
    profile: GraphProfile,
    splits: Sequence[int] | None = None,
) -> tuple[Drift, list[str]]:
    """What differs between `graph` and the one that `runs` were trained on, and sentences about what is notable.

    Args:
        runs: runs whose kept probabilities say what was predicted for the training graph.
        graph: the graph to be predicted.
        probabilities: what is predicted for it, `[n, C]`.
        profile: `runs.profile.profile_of` of the training graph.
        splits: whose probabilities (default: of all that are finished).
    """
    run, (matched, _) = runs[0], match_trained_features(runs[0], graph)
    unseen = _unseen_levels(run, matched)
    outside = None if profile.features is None else _outside(run, matched, profile.features)
    links = DegreeCounts(profile.degrees, tuple(degree_counts(graph).tolist()))
    drift = Drift(
        unseen_levels=unseen,
        outside_range=outside,
        degrees=stability_index(links.before, links.now),
        degree_counts=links,
        classes=_class_shares(runs, probabilities, profile, splits),
    )
    return drift, _notes(drift)


def stability_index(before: Any, now: Any) -> float:
    """`Σ (p - q) ln(p / q)` of two vectors of counts or shares; the shorter is filled up with zeros."""
    both = np.zeros((2, max(len(before), len(now))))
    both[0, : len(before)], both[1, : len(now)] = before, now
    shares = np.maximum(both / np.maximum(both.sum(axis=1, keepdims=True), 1e-12), LEAST)
    return round(float(((shares[1] - shares[0]) * np.log(shares[1] / shares[0])).sum()), 6)


def _class_shares(
    runs: Sequence[Run], probabilities: npt.NDArray[np.float64], profile: GraphProfile, splits: Sequence[int] | None
) -> ClassShares:
    """The stability index of predicted classes, and the shares; of a target that has no classes nothing."""
    names = runs[0].label_names()
    if len(profile.classes) != len(names):
        return ClassShares(None, {}, None, None)
    labels = np.asarray(profile.classes, dtype=np.float64)
    then, now = _predicted_before(runs, splits), probabilities.mean(axis=0) if len(probabilities) else None

    def named(shares: npt.NDArray[np.float64]) -> dict[str, float]:
        return dict(zip(names, shares.tolist(), strict=True))

    return ClassShares(
        None if now is None else stability_index(then, now),
        named(labels / max(1.0, labels.sum())),
        named(then),
        None if now is None else named(now),
    )


def _predicted_before(runs: Sequence[Run], splits: Sequence[int] | None) -> npt.NDArray[np.float64]:
    """The mean probability of each class over all nodes of the training graph."""
    kept = [
        run.predictions(number).mean(axis=0)
        for run in runs
        for number in (run.finished() if splits is None else splits)
    ]
    return np.asarray(np.mean(kept, axis=0))


def _unseen_levels(run: Run, graph: Graph) -> dict[str, float]:
    """For each column of categories, the share of nodes with a value that training did not have, if any."""
    preparation, names = run.graph.preparation, run.graph.feature_names
    if preparation is None or names is None:
        return {}
    index = {name: number for number, name in enumerate(names)}
    shares = {}
    for column in preparation.columns:
        if not isinstance(column.encoder, Levels) or column.encoder.other:  # there, new levels join the rare ones
            continue
        numbers = [index[name] for name in column.encoder.names if name in index]
        block = sp.csr_array(graph.features[:, numbers])
        share = 1 - np.count_nonzero(np.diff(block.indptr)) / max(1, graph.num_nodes)
        if share > 0:
            shares[column.name] = round(float(share), 6)
    return dict(sorted(shares.items(), key=lambda item: -item[1]))


def _outside(run: Run, graph: Graph, ranges: FeatureRanges) -> dict[str, float]:
    """For each feature, the share of nodes below or above all of the training graph, where there are any."""
    low, high = np.asarray(ranges.low), np.asarray(ranges.high)
    slack = 1e-5 * (1e-6 + np.maximum(abs(low), abs(high)))  # ranges are kept to seven digits
    entries = sp.coo_array(graph.features)  # what is not stored is 0
    beyond = (entries.data < (low - slack)[entries.col]) | (entries.data > (high + slack)[entries.col])
    counts = np.bincount(entries.col[beyond], minlength=graph.num_features)
    stored = np.bincount(entries.col, minlength=graph.num_features)
    zero_is_new = (low - slack > 0) | (high + slack < 0)
    counts = counts + np.where(zero_is_new, graph.num_nodes - stored, 0)
    names = run.graph.feature_names
    return {
        f"feature {number}" if names is None else names[number]: round(float(counts[number]) / graph.num_nodes, 6)
        for number in np.argsort(-counts, kind="stable")
        if counts[number]
    }


def _notes(drift: Drift) -> list[str]:
    notes = [
        f"drift: {share:.1%} of the nodes have a value in column {column!r} that training did not have"
        for column, share in list(drift.unseen_levels.items())[:LISTED]
        if share >= NOTABLE
    ]
    far = {name: share for name, share in (drift.outside_range or {}).items() if share >= NOTABLE}
    if far:
        name, share = next(iter(far.items()))
        notes.append(
            f"drift: {len(far)} feature(s) lie outside the range of training for 1% of the nodes or more, most "
            f"{name!r} ({share:.1%})"
        )
    if drift.degrees >= MOVED:
        notes.append(f"drift: nodes have {_how(drift.degrees)} numbers of links than in training")
    index, before, now = drift.classes.index, drift.classes.predicted_before, drift.classes.predicted_now
    if index is not None and before is not None and now is not None and index >= MOVED:
        name = max(before, key=lambda label: abs(now[label] - before[label]))
        notes.append(
            f"drift: classes are predicted in {_how(index)} shares than in training, {name!r} for {now[name]:.1%} of "
            f"the nodes instead of {before[name]:.1%} (of the training labels: {drift.classes.labels[name]:.1%})"
        )
    return notes


def _how(index: float) -> str:
    return f"{'very ' if index >= MOVED_FAR else ''}different (stability index {index:.2f})"
