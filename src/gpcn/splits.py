"""Splits for graphs that come without official ones: random, in folds, by time, by group; all seeded."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from gpcn.errors import ConfigError, DataError
from gpcn.graph import Graph, Split
from gpcn.utils import machine_memory
from gpcn.utils.types import ROLES, UNKNOWN, IntVector

GROUP_DRAWS = 20  # orders of the groups that are drawn for a split, of which the most even one counts


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
    _check_draw(count, seed)
    check_split_shares(train, val)
    labelled = graph.labelled
    machine_memory.require_memory(
        8.0 * count * labelled.size,
        f"{count:,} splits of {labelled.size:,} labelled nodes",
        "ask for fewer, of which ten tell most of what there is to know",
    )
    if labelled.size < 3:
        raise DataError(f"{labelled.size} node(s) have a label; expected at least 3 to split into train, val and test")
    splits = tuple(
        _one_split(graph.labels, labelled, train, val, np.random.default_rng([seed, number]), stratified)
        for number in range(count)
    )
    return replace(graph, splits=splits)


def folds(graph: Graph, *, count: int = 5, val: float = 0.2, seed: int = 0) -> Graph:
    """The graph with `count` splits whose test parts are stratified folds: every labelled node is in exactly one.

    Of the nodes outside fold `i`, a stratified share `val` is validation in split `i` and the others train.
    """
    if count < 2:
        raise ConfigError(f"{count} fold(s) were asked for; expected at least 2")
    _check_draw(count, seed)
    if not 0 < val < 1:
        raise ConfigError(f"val={val} is no share of the nodes outside a fold; expected more than 0 and less than 1")
    nodes = graph.labelled
    if nodes.size < max(count, 3):
        raise DataError(
            f"{nodes.size} node(s) have a label; expected at least {max(count, 3)} for {count} folds, so ask for fewer"
        )
    machine_memory.require_memory(
        8.0 * count * nodes.size, f"{count:,} folds of {nodes.size:,} labelled nodes", "ask for fewer folds"
    )
    order = _interleave_classes(graph.labels, np.random.default_rng([seed, count]).permutation(nodes))
    fold = np.arange(order.size) % count
    splits = []
    for number in range(count):
        rng = np.random.default_rng([seed, count, number])
        rest = _interleave_classes(graph.labels, rng.permutation(order[fold != number]))
        size = min(max(1, round(val * rest.size)), rest.size - 1)
        part = deal_split_parts(rest.size - size, size)
        splits.append(Split(train=rest[part == 0], val=rest[part == 1], test=order[fold == number]))
    return replace(graph, splits=tuple(splits))


def time_split(labels: IntVector, times: npt.ArrayLike, *, train: float = 0.6, val: float = 0.2) -> Split:
    """The earliest share of the labelled nodes trains, the next validates, the latest tests.

    Nodes of equal time stay together: a border inside them moves to the nearer end. Nodes whose time is NaN are in
    no part.
    """
    check_split_shares(train, val)
    labels, moments = np.asarray(labels), np.asarray(times, dtype=np.float64)
    if moments.shape != labels.shape:
        raise DataError(f"the times have shape {moments.shape}; expected {labels.size}, one per node")
    nodes = np.flatnonzero((labels != UNKNOWN) & ~np.isnan(moments))
    distinct, rank, sizes = np.unique(moments[nodes], return_inverse=True, return_counts=True)
    if distinct.size < len(ROLES):
        raise DataError(
            f"the {' and '.join(ROLES[distinct.size :])} part of a split by time would be empty: the {nodes.size:,} "
            f"labelled node(s) with a time have {distinct.size} different one(s); expected at least 3, so name another "
            "column or split at random"
        )
    first, second = _borders(sizes, train, val)
    return Split(train=nodes[rank < first], val=nodes[(rank >= first) & (rank < second)], test=nodes[rank >= second])


def group_splits(
    graph: Graph | IntVector,
    groups: Sequence[Hashable] | npt.NDArray[np.generic],
    *,
    count: int = 5,
    train: float = 0.5,
    val: float = 0.25,
    seed: int = 0,
) -> tuple[Split, ...]:
    """`count` random splits of a graph's (or a vector's) labelled nodes, in which no group is in two parts.

    `groups` has an entry per node; a node whose entry is `""` is a group of its own. Shares of nodes and of classes
    are met as nearly as the most even of a few draws has them. Split `i` depends on `(seed, i)` alone.
    """
    _check_draw(count, seed)
    check_split_shares(train, val)
    labels = graph.labels if isinstance(graph, Graph) else np.asarray(graph)
    if len(groups) != labels.size:
        raise DataError(f"there are {len(groups)} groups; expected {labels.size}, one per node")
    nodes = np.flatnonzero(labels != UNKNOWN)
    codes = _group_codes([groups[int(node)] for node in nodes])
    sizes = np.bincount(codes) if nodes.size else np.zeros(0, dtype=np.int64)
    if sizes.size < len(ROLES):
        raise DataError(
            f"the {nodes.size:,} labelled node(s) are in {sizes.size} group(s); expected at least 3, one to train, one "
            "to validate and one to test, so name another column or split at random"
        )
    splits = []
    for number in range(count):
        part = _even_parts(labels[nodes], codes, sizes, (train, val), np.random.default_rng([seed, number]))
        splits.append(Split(**{role: nodes[part == index] for index, role in enumerate(ROLES)}))
    return tuple(splits)


def check_split_shares(train: float, val: float) -> None:
    """Refuse shares of nodes that leave one of the three parts empty."""
    if not (0 < train < 1 and 0 < val < 1 and train + val < 1):
        raise ConfigError(
            f"train={train} and val={val} leave no test nodes; expected shares that add up to less than 1"
        )


def _check_draw(count: int, seed: int) -> None:
    if seed < 0:
        raise ConfigError(f"seed is {seed}; expected 0 or more")
    if count < 1:
        raise ConfigError(f"{count} splits were asked for; expected at least 1")


def _borders(sizes: IntVector, train: float, val: float) -> tuple[int, int]:
    """Where validation and test begin in a row of blocks, as near to the shares as whole blocks allow."""
    ends = np.cumsum(sizes)
    total = int(ends[-1])
    first = int(np.argmin(np.abs(ends[:-2] - train * total))) + 1
    second = int(np.argmin(np.abs(ends[first:-1] - (train + val) * total))) + first + 1
    return first, second


def _group_codes(groups: Sequence[Hashable]) -> IntVector:
    """Numbers from 0, the same for equal groups; every empty one has its own."""
    codes: dict[Hashable, int] = {}
    return np.array(
        [
            codes.setdefault(("", position) if group == "" else (group,), len(codes))
            for position, group in enumerate(groups)
        ],
        dtype=np.int64,
    )


def _even_parts(
    labels: IntVector, codes: IntVector, sizes: IntVector, shares: tuple[float, float], rng: np.random.Generator
) -> IntVector:
    """The part of every node, in the one of several random orders of the groups that comes closest to the shares."""
    classes = np.bincount(labels)
    wanted = np.outer([*shares, 1 - sum(shares)], classes)
    best, least = np.empty(0, dtype=np.int64), np.inf
    for _ in range(GROUP_DRAWS):
        order = rng.permutation(sizes.size)
        part_of_group = np.empty(sizes.size, dtype=np.int64)
        part_of_group[order] = np.searchsorted(_borders(sizes[order], *shares), np.arange(sizes.size), side="right")
        part = part_of_group[codes]
        counts = np.bincount(part * classes.size + labels, minlength=wanted.size).reshape(wanted.shape)
        uneven = np.abs(counts.sum(axis=1) - wanted.sum(axis=1)).sum() + np.abs(counts - wanted).sum()
        if uneven < least:
            best, least = part, uneven
    return best


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
    part = deal_split_parts(first, second, order.size - first - second)
    return Split(train=order[part == 0], val=order[part == 1], test=order[part == 2])


def _interleave_classes(labels: IntVector, order: IntVector) -> IntVector:
    """Class by class, random inside each class."""
    return order[np.argsort(labels[order], kind="stable")]


def deal_split_parts(*sizes: int) -> IntVector:
    """Parts 0, 1, ... of exact sizes, dealt out evenly along the line, so every run of it has every part."""
    due = np.concatenate([(np.arange(size) + 0.5) / size for size in sizes])
    part = np.repeat(np.arange(len(sizes)), sizes)
    return part[np.argsort(due, kind="stable")]
