"""Splits for graphs that come without official ones: random, in folds, by time, by group; all seeded."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from gpcn.core import machine_memory
from gpcn.core.errors import ConfigError, DataError
from gpcn.core.types import UNKNOWN, IntVector
from gpcn.graph import Graph, Split
from gpcn.graph.split import PARTS

GROUP_DRAWS = 20  # orders of the groups that are drawn for a split, of which the most even one counts


@dataclass(frozen=True)
class Shares:
    """Shares of nodes that train, validate and calibrate; what they leave over is test."""

    train: float
    val: float
    calibration: float = 0.0

    def __post_init__(self) -> None:
        if not (0 < self.train < 1 and 0 < self.val < 1 and 0 <= self.calibration < 1 and sum(self.stated) < 1):
            more = f" and calibration={self.calibration}" if self.calibration else ""
            raise ConfigError(
                f"train={self.train} and val={self.val}{more} leave no test nodes; expected shares that add up to less "
                "than 1"
            )

    @property
    def stated(self) -> tuple[float, ...]:
        """All that are not 0."""
        return tuple(share for share in (self.train, self.val, self.calibration) if share)

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the parts that are not empty."""
        return PARTS if self.calibration else PARTS[:-1]

    def require(self, available: int, what: str, advice: str = "") -> None:
        """Refuse to split fewer things than there are parts."""
        if available < len(self.parts):
            listed = f"{', '.join(self.parts[:-1])} and {self.parts[-1]}"
            raise DataError(f"{what}; expected at least {len(self.parts)} to split into {listed}{advice}")

    def sizes(self, total: int) -> tuple[int, int, int, int]:
        """How many nodes of `total` each part has, at least one where it has a share."""
        kept = len(self.stated) - 1  # for the parts that come later
        train = min(max(1, round(self.train * total)), total - 1 - kept)
        val = min(max(1, round(self.val * total)), total - train - kept)
        left = total - train - val
        calibration = min(max(1, round(self.calibration * total)), left - 1) if self.calibration else 0
        return train, val, left - calibration, calibration


def random_splits(
    graph: Graph,
    *,
    count: int = 5,
    train: float = 0.5,
    val: float = 0.25,
    calibration: float = 0.0,
    seed: int = 0,
    stratified: bool = True,
) -> Graph:
    """Return the graph with `count` random splits over its labelled nodes; what the shares leave over is test.

    `stratified` keeps every class's share in each part as near to the whole as rounding allows. Split `i`
    depends on `(seed, i)` alone, so asking for more splits never changes the first ones.
    """
    _check_draw(count, seed)
    shares, labelled = Shares(train, val, calibration), graph.labelled
    machine_memory.require_memory(
        8.0 * count * labelled.size,
        f"{count:,} splits of {labelled.size:,} labelled nodes",
        "ask for fewer, of which ten tell most of what there is to know",
    )
    shares.require(labelled.size, f"{labelled.size} node(s) have a label")
    sizes, splits = shares.sizes(labelled.size), []
    for number in range(count):
        order = np.random.default_rng([seed, number]).permutation(labelled)
        if stratified:
            splits.append(_dealt(graph.target.strata, order, sizes))
        else:
            splits.append(_split_of(order, np.repeat(np.arange(len(sizes)), sizes)))
    return replace(graph, splits=tuple(splits))


def folds(graph: Graph, *, count: int = 5, val: float = 0.2, calibration: float = 0.0, seed: int = 0) -> Graph:
    """Return the graph with `count` splits whose test parts are stratified folds: every labelled node is in one.

    Of the nodes outside fold `i`, stratified shares `val` and `calibration` are these parts of split `i` and the others
    train.
    """
    if count < 2:
        raise ConfigError(f"{count} fold(s) were asked for; expected at least 2")
    _check_draw(count, seed)
    check_shares_outside_fold(val, calibration)
    nodes = graph.labelled
    fewest = max(count, 4 if calibration else 3)
    if nodes.size < fewest:
        raise DataError(
            f"{nodes.size} node(s) have a label; expected at least {fewest} for {count} folds, so ask for fewer"
        )
    machine_memory.require_memory(
        8.0 * count * nodes.size, f"{count:,} folds of {nodes.size:,} labelled nodes", "ask for fewer folds"
    )
    order = _interleave_classes(graph.target.strata, np.random.default_rng([seed, count]).permutation(nodes))
    fold = np.arange(order.size) % count
    splits = []
    for number in range(count):
        rest = np.random.default_rng([seed, count, number]).permutation(order[fold != number])
        splits.append(replace(_held_back(graph.target.strata, rest, val, calibration), test=order[fold == number]))
    return replace(graph, splits=tuple(splits))


def hold_back(labels: IntVector, share: float, seed: int = 0) -> Split:
    """Return a split of all labelled nodes into a stratified `share` that validates and the others, which train."""
    nodes = np.flatnonzero(np.asarray(labels) != UNKNOWN)
    if nodes.size < 2:
        raise DataError(f"{nodes.size} node(s) have a label; expected at least 2, one to train and one to validate")
    return _held_back(labels, np.random.default_rng([seed, 0]).permutation(nodes), share)


def time_split(
    labels: IntVector, times: npt.ArrayLike, *, train: float = 0.6, val: float = 0.2, calibration: float = 0.0
) -> Split:
    """Return the split in which the earliest labelled nodes train, the next validate, then calibrate, the latest test.

    Nodes of equal time stay together: a border inside them moves to the nearer end. Nodes whose time is NaN are in
    no part.
    """
    shares, labels, moments = Shares(train, val, calibration), np.asarray(labels), np.asarray(times, dtype=np.float64)
    if moments.shape != labels.shape:
        raise DataError(f"the times have shape {moments.shape}; expected {labels.size}, one per node")
    nodes = np.flatnonzero((labels != UNKNOWN) & ~np.isnan(moments))
    distinct, rank, sizes = np.unique(moments[nodes], return_inverse=True, return_counts=True)
    shares.require(
        distinct.size,
        f"the {nodes.size:,} labelled node(s) with a time have {distinct.size} different one(s)",
        " by time, so name another column or split at random",
    )
    part = np.searchsorted(_borders(sizes, shares.stated), rank, side="right")
    return _split_of(nodes, part, ("train", "val", *shares.parts[3:], "test"))


def group_splits(
    graph: Graph | IntVector,
    groups: Sequence[Hashable] | npt.NDArray[np.generic],
    *,
    count: int = 5,
    train: float = 0.5,
    val: float = 0.25,
    calibration: float = 0.0,
    seed: int = 0,
) -> tuple[Split, ...]:
    """Return `count` random splits of a graph's (or a vector's) labelled nodes, in which no group is in two parts.

    `groups` has an entry per node; a node whose entry is `""` is a group of its own. Shares of nodes and of classes
    are met as nearly as the most even of a few draws has them. Split `i` depends on `(seed, i)` alone.
    """
    _check_draw(count, seed)
    shares = Shares(train, val, calibration)
    labels = graph.target.strata if isinstance(graph, Graph) else np.asarray(graph)
    if len(groups) != labels.size:
        raise DataError(f"there are {len(groups)} groups; expected {labels.size}, one per node")
    nodes = np.flatnonzero(labels != UNKNOWN)
    codes = _group_codes([groups[int(node)] for node in nodes])
    sizes = np.bincount(codes) if nodes.size else np.zeros(0, dtype=np.int64)
    shares.require(
        sizes.size,
        f"the {nodes.size:,} labelled node(s) are in {sizes.size} group(s)",
        ", so name another column or split at random",
    )
    return tuple(
        _split_of(nodes, _even_parts(labels[nodes], codes, sizes, shares, np.random.default_rng([seed, number])))
        for number in range(count)
    )


def check_shares_outside_fold(val: float, calibration: float = 0.0) -> None:
    """Refuse shares of the nodes outside a fold that leave none to train or validate."""
    if not (0 < val < 1 and 0 <= calibration < 1 and val + calibration < 1):
        more = f" and calibration={calibration}" if calibration else ""
        raise ConfigError(
            f"val={val}{more} leave no nodes outside a fold to train or validate; expected shares above 0 that add up "
            "to less than 1"
        )


def _check_draw(count: int, seed: int) -> None:
    if seed < 0:
        raise ConfigError(f"seed is {seed}; expected 0 or more")
    if count < 1:
        raise ConfigError(f"{count} splits were asked for; expected at least 1")


def _borders(sizes: IntVector, shares: Sequence[float]) -> IntVector:
    """Where parts after the first begin in a row of blocks, as near to the shares as whole blocks allow."""
    ends = np.cumsum(sizes)
    total, begin, wanted = int(ends[-1]), 0, 0.0
    borders = []
    for number, share in enumerate(shares):
        wanted += share
        left = ends[begin : ends.size - (len(shares) - number)]  # every part after this one needs a block
        begin += int(np.argmin(np.abs(left - wanted * total))) + 1
        borders.append(begin)
    return np.array(borders)


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
    labels: IntVector, codes: IntVector, sizes: IntVector, shares: Shares, rng: np.random.Generator
) -> IntVector:
    """The part of every node, in the one of several random orders of the groups that comes closest to the shares."""
    classes = np.bincount(labels)
    parts = (shares.train, shares.val, 1 - sum(shares.stated), *shares.stated[2:])
    wanted = np.outer(parts, classes)
    best, least = np.empty(0, dtype=np.int64), np.inf
    for _ in range(GROUP_DRAWS):
        order = rng.permutation(sizes.size)
        part_of_group = np.empty(sizes.size, dtype=np.int64)
        borders = _borders(sizes[order], parts[:-1])
        part_of_group[order] = np.searchsorted(borders, np.arange(sizes.size), side="right")
        part = part_of_group[codes]
        counts = np.bincount(part * classes.size + labels, minlength=wanted.size).reshape(wanted.shape)
        uneven = np.abs(counts.sum(axis=1) - wanted.sum(axis=1)).sum() + np.abs(counts - wanted).sum()
        if uneven < least:
            best, least = part, uneven
    return best


def _held_back(labels: IntVector, order: IntVector, val: float, calibration: float = 0.0) -> Split:
    """Nodes in random `order`, stratified shares of which validate and calibrate; the others train."""
    last = min(max(1, round(calibration * order.size)), order.size - 2) if calibration else 0
    second = min(max(1, round(val * order.size)), order.size - last - 1)
    return _dealt(labels, order, (order.size - second - last, second, 0, last))


def _dealt(labels: IntVector, order: IntVector, sizes: Sequence[int]) -> Split:
    """The four parts with exact sizes, each with its share of every class."""
    return _split_of(_interleave_classes(labels, order), deal_split_parts(*sizes))


def _split_of(nodes: IntVector, part: IntVector, names: Sequence[str] = PARTS) -> Split:
    """The split in which node `nodes[i]` is in part `names[part[i]]`."""
    return Split(**{name: nodes[part == number] for number, name in enumerate(names)})


def _interleave_classes(labels: IntVector, order: IntVector) -> IntVector:
    """Class by class, random inside each class."""
    return order[np.argsort(labels[order], kind="stable")]


def deal_split_parts(*sizes: int) -> IntVector:
    """Return parts 0, 1, ... of exact sizes, dealt out evenly along the line, so every run of it has every part."""
    due = np.concatenate([(np.arange(size) + 0.5) / size for size in sizes])
    part = np.repeat(np.arange(len(sizes)), sizes)
    return part[np.argsort(due, kind="stable")]
