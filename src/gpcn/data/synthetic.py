"""Graphs on order: a contextual stochastic block model with a dial for each property that matters."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from gpcn.core.errors import ConfigError
from gpcn.core.types import UNKNOWN, IntVector
from gpcn.graph import Graph
from gpcn.graph.splitting import random_splits
from gpcn.graph.validation import edges_to_adjacency

Mixing = Literal["uniform", "ring"]
REDRAWS = 50
LEAST_DRAW = 2000


def synthesize(
    *,
    nodes: int = 1000,
    classes: int = 4,
    degree: float = 8.0,
    homophily: float = 0.2,
    features: int = 16,
    signal: float = 1.0,
    mixing: Mixing = "uniform",
    directed: bool = False,
    unlabelled: float = 0.0,
    splits: int = 5,
    seed: int = 0,
) -> Graph:
    """A random graph in which both links and features say something about the class.

    Args:
        nodes: how many; classes are of equal size up to one node.
        classes: how many.
        degree: mean number of neighbours (directed: of outgoing links).
        homophily: share of edges inside a class, 0 to 1; met exactly, up to rounding and repeated draws.
        features: how many. Each class has a random unit vector; a node's features are `signal` times its
            class's vector plus Gaussian noise of unit variance in every coordinate.
        signal: 0 is pure noise; at 1 features help a little, at 3 they all but decide.
        mixing: where the other edges go: `uniform` to any other class, `ring` to the two next classes only,
            so that neighbours disagree in a pattern that can be learned.
        directed: whether links have a direction.
        unlabelled: share of nodes whose label is hidden.
        splits: number of random 50/25/25 splits.
        seed: the same seed gives the same graph.

    Time and memory are linear in the number of edges.
    """
    _check(nodes, classes, degree, homophily, features, signal, mixing, unlabelled, splits, seed)
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(nodes) % classes)
    wanted = round(nodes * degree / (1 if directed else 2))
    ends = _draw_edges(labels, classes, wanted, homophily, mixing, directed, rng)
    if not directed:
        ends = np.concatenate([ends, ends[::-1]], axis=1)
    centres = rng.standard_normal((classes, features))
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    matrix = rng.standard_normal((nodes, features), dtype=np.float32)
    matrix += (signal * centres).astype(np.float32)[labels]
    shown = labels.copy()
    shown[rng.permutation(nodes)[: round(unlabelled * nodes)]] = UNKNOWN
    graph = Graph(
        adjacency=edges_to_adjacency(ends, nodes),
        features=matrix,
        labels=shown,
        name=f"synthetic-{nodes}",
        label_names=[f"class {number}" for number in range(classes)],
    )
    return random_splits(graph, count=splits, seed=seed) if splits else graph


def _draw_edges(
    labels: IntVector,
    classes: int,
    wanted: int,
    homophily: float,
    mixing: Mixing,
    directed: bool,
    rng: np.random.Generator,
) -> IntVector:
    """`[2, E]` distinct edges without self-loops; draws that repeat an edge are drawn again a few times."""
    members = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels, minlength=classes)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    nodes = labels.size
    edge_keys: list[npt.NDArray[np.int64]] = []
    for inside, share in ((True, homophily), (False, 1 - homophily)):
        keys = np.empty(0, dtype=np.int64)
        goal = round(wanted * share)
        for _ in range(REDRAWS):
            missing = goal - keys.size
            if missing <= 0:
                break
            missing = max(missing, min(goal, LEAST_DRAW))
            source = rng.integers(nodes, size=missing)
            other = labels[source] if inside else _other_class(labels[source], classes, mixing, rng)
            target = members[starts[other] + (rng.random(missing) * sizes[other]).astype(np.int64)]
            low, high = (source, target) if directed else (np.minimum(source, target), np.maximum(source, target))
            fresh = np.setdiff1d((low * nodes + high)[source != target], keys)
            keys = np.concatenate([keys, rng.permutation(fresh)[: goal - keys.size]])
        if keys.size < 0.98 * goal:
            raise ConfigError(
                f"{goal:,} edges {'inside' if inside else 'between'} classes were asked for, but {nodes:,} nodes in "
                f"{classes} classes have room for few more than {keys.size:,}; lower the degree or move homophily"
            )
        edge_keys.append(keys)
    everything = np.concatenate(edge_keys)
    return np.stack([everything // nodes, everything % nodes])


def _other_class(source_classes: IntVector, classes: int, mixing: Mixing, rng: np.random.Generator) -> IntVector:
    if mixing == "ring":
        step = rng.choice(np.array([1, classes - 1]), size=source_classes.size)
    else:
        step = rng.integers(1, classes, size=source_classes.size)
    return np.asarray((source_classes + step) % classes, dtype=np.int64)


def _check(
    nodes: int,
    classes: int,
    degree: float,
    homophily: float,
    features: int,
    signal: float,
    mixing: str,
    unlabelled: float,
    splits: int,
    seed: int,
) -> None:
    rules = (
        (classes >= 2, f"classes is {classes}; expected at least 2"),
        (nodes >= 2 * classes, f"nodes is {nodes}; expected at least two for each of the {classes} classes"),
        (0 < degree < nodes, f"degree is {degree}; expected more than 0 and less than the {nodes} nodes"),
        (0 <= homophily <= 1, f"homophily is {homophily}; expected a share from 0 to 1"),
        (features >= 1, f"features is {features}; expected at least 1"),
        (0 <= signal <= 1e6, f"signal is {signal}; expected 0 to a million"),
        (mixing in ("uniform", "ring"), f"mixing is {mixing!r}; expected uniform or ring"),
        (0 <= unlabelled < 1, f"unlabelled is {unlabelled}; expected a share from 0 to below 1"),
        (splits >= 0, f"splits is {splits}; expected 0 or more"),
        (seed >= 0, f"seed is {seed}; expected 0 or more"),
    )
    for fine, sentence in rules:
        if not fine:
            raise ConfigError(sentence)
