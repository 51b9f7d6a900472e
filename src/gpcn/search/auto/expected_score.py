"""What score to expect on test nodes, from judged nodes alone, and how sure that is."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gpcn.graph import Graph
from gpcn.search.auto.ensemble import Array, Selection
from gpcn.search.auto.holdouts import Holdout
from gpcn.tasks.metrics import find_metric, oriented_score

REACH = 1.645  # standard deviations either way: 90 % where everything is as assumed
DRAWS, FEWER_DRAWS, FEWEST_DRAWS = 200, 60, 30  # usually, of many nodes, and when the time is over
MANY_NODES = 5000
FEWEST_TEST_NODES = 10  # below which the test score is no estimate of anything


@dataclass(frozen=True)
class ExpectedScore:
    """An interval for the test score, and whether the choice is clearly above the majority on judged nodes."""

    score: float
    low: float
    high: float
    above_majority: bool


def expected_score(
    graph: Graph,
    holdouts: Sequence[Holdout],
    numbers: Sequence[int],
    selection: Selection,
    seed: int,
    until: float = math.inf,
) -> ExpectedScore:
    """The expected mean test score over the splits `numbers`.

    What to expect is the crosswise score of the whole choice; as that was chosen by half of the nodes, the better end
    is counted from the score of the final choice on all of them. The width has four sources: judged nodes are a
    sample (bootstrap), test nodes are another, choosing was optimistic (the distance from the crosswise score to the
    one on all judged nodes), and splits differ. When the clock passes `until`, fewer draws have to do.
    """
    metric = find_metric(graph.metric)
    blended = selection.blended()
    rng = np.random.default_rng([seed, len(holdouts)])
    spreads, differences, judged = [], [], []
    for holdout, likely in zip(holdouts, blended, strict=True):
        scores, gained = _bootstrap(graph, holdout, likely, holdout.baseline(graph), rng, until)
        spreads.append(float(np.var(scores)) if scores.size else 0.0)
        differences.append(gained)
        judged.append(holdout.score(graph, likely))
    sampled = float(np.mean(spreads))
    sizes = float(np.mean([holdout.nodes.size for holdout in holdouts]))
    if (
        metric.percent
    ):  # redrawing nodes without a mistake shows none; one among two more is as much as they can exclude
        sampled = max(sampled, (100 / (sizes + 2)) ** 2)
    tested = float(np.mean([graph.splits[number].test.size for number in numbers]))
    labelled = graph.labelled.size
    repeats = min(len(holdouts), max(1.0, labelled / sizes))
    variance = sampled / repeats
    if tested >= FEWEST_TEST_NODES:
        variance += sampled * sizes / tested / min(len(numbers), max(1.0, labelled / tested))
    variance += ((selection.gain - selection.crosswise) / 2) ** 2
    between = [value for value in judged if value is not None]
    if len(between) > 1:
        variance += float(np.var(between, ddof=1)) / len(between)
    middle = metric.sign * selection.crosswise
    reach = REACH * variance**0.5
    ends = middle, metric.sign * selection.gain
    low, high = max(0.0, min(ends) - reach), max(ends) + reach
    if metric.percent:
        high = min(100.0, high)
    fewest = min(gained.size for gained in differences)
    together = np.mean([gained[:fewest] for gained in differences], axis=0)
    above = fewest > 0 and float(np.quantile(together, 0.05)) > 0
    return ExpectedScore(middle, low, high, bool(above))


def _bootstrap(
    graph: Graph, holdout: Holdout, likely: Array, shares: Array, rng: np.random.Generator, until: float
) -> tuple[Array, Array]:
    """Scores of redrawn judged nodes, and how much more they gain than the shares of the classes."""
    labels, size = graph.target.values[holdout.nodes], holdout.nodes.size
    draws = DRAWS if size < MANY_NODES else FEWER_DRAWS
    scores, differences = [], []
    for draw in range(draws):
        if draw >= FEWEST_DRAWS and time.monotonic() > until:
            break
        drawn = rng.integers(size, size=size)
        value = graph.task.score(likely[drawn], labels[drawn], graph.metric)
        if value is None:
            continue
        scores.append(value)
        reference = graph.task.score(shares[drawn], labels[drawn], graph.metric)
        differences.append(oriented_score(graph.metric, value) - oriented_score(graph.metric, reference))
    return np.array(scores, dtype=np.float32), np.array(differences, dtype=np.float32)
