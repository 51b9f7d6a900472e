"""Seeded random splits for graphs that come without official ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gpcn.errors import ConfigError, DataError
from gpcn.graph import Graph, Split
from gpcn.types import IntVector


def random_splits(
    graph: Graph,
    *,
    count: int = 5,
    train: float = 0.5,
    val: float = 0.25,
    seed: int = 0,
    stratified: bool = True,
) -> Graph:
    """The graph with `count` random splits over its labelled nodes; the rest after `train` and `val` is test.

    `stratified` keeps every class's share in each part as near to the whole as rounding allows. Split `i`
    depends on `(seed, i)` alone, so asking for more splits never changes the first ones.
    """
    if seed < 0:
        raise ConfigError(f"seed is {seed}; expected 0 or more")
    if count < 1:
        raise ConfigError(f"{count} splits were asked for; expected at least 1")
    if not (0 < train < 1 and 0 < val < 1 and train + val < 1):
        raise ConfigError(
            f"train={train} and val={val} leave no test nodes; expected shares that add up to less than 1"
        )
    labelled = graph.labelled
    if labelled.size < 3:
        raise DataError(f"{labelled.size} node(s) have a label; expected at least 3 to split into train, val and test")
    splits = tuple(
        _one_split(graph.labels, labelled, train, val, np.random.default_rng([seed, number]), stratified)
        for number in range(count)
    )
    return replace(graph, splits=splits)


def _one_split(
    labels: IntVector, nodes: IntVector, train: float, val: float, rng: np.random.Generator, stratified: bool
) -> Split:
    order = rng.permutation(nodes)
    if stratified:
        order = _interleave_classes(labels, order)
    first = min(max(1, round(train * order.size)), order.size - 2)
    second = min(max(1, round(val * order.size)), order.size - first - 1)
    if not stratified:
        return Split(train=order[:first], val=order[first : first + second], test=order[first + second :])
    part = _spread(order.size, first, second)
    return Split(train=order[part == 0], val=order[part == 1], test=order[part == 2])


def _interleave_classes(labels: IntVector, order: IntVector) -> IntVector:
    """Class by class, random inside each class."""
    return order[np.argsort(labels[order], kind="stable")]


def _spread(size: int, train: int, val: int) -> IntVector:
    """Parts 0, 1, 2 of exact sizes, dealt out evenly along the line, so every run of it has every part."""
    shares = np.array([train, val, size - train - val], dtype=np.float64)
    due = np.concatenate([(np.arange(int(n)) + 0.5) / n for n in shares])
    part = np.repeat(np.arange(3), shares.astype(np.int64))
    return part[np.argsort(due, kind="stable")]
