"""How much linked nodes agree: five measures, the class compatibility matrix, and what each direction tells.

All measures look at edges between two labelled, different nodes; self-loops and unlabelled ends are left out.
Edge weights are not used. `edge`, `node` and `class_insensitive` follow the edges as stored (a directed edge
counts once, from its source); `adjusted` and `label_informativeness` are defined for undirected graphs and
see every edge in both directions. A measure that is undefined (no such edge, one class) is `None`.

The share of edges within a class is the same whichever end one looks from. `by_direction` therefore looks from a random
node to a random neighbour of it, once among those it points to (`out`) and once among those that point to it (`in`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gpcn.core.types import UNKNOWN, IntVector
from gpcn.graph import Graph

SHUFFLING = 53_617  # the seed
FEWEST_SHUFFLES, MOST_SHUFFLES, SHUFFLED_EDGES = 20, 200, 4_000_000
CLEAR_DIFFERENCE, CLEAR_RATIO = 0.05, 1.5  # between what two directions tell, before anything is said of it


@dataclass(frozen=True)
class Homophily:
    """The measures of one graph; `compatibility[i, j]` is the share of class `i`'s edges that go to class `j`."""

    edge: float | None
    node: float | None
    class_insensitive: float | None
    adjusted: float | None
    label_informativeness: float | None
    compatibility: npt.NDArray[np.float64]


def measure(graph: Graph) -> Homophily:
    """All measures of `graph`."""
    source, target = _comparable_edges(graph)
    labels, classes = graph.target.strata, len(graph.target.stratum_names)
    counts = _class_pairs(labels[source], labels[target], classes)
    same = labels[source] == labels[target]
    symmetric = graph if not graph.directed else graph.symmetrized()
    undirected = counts
    if symmetric is not graph:
        both = _comparable_edges(symmetric)
        undirected = _class_pairs(labels[both[0]], labels[both[1]], classes)
    return Homophily(
        edge=float(same.mean()) if same.size else None,
        node=_node(source, same, graph.num_nodes),
        class_insensitive=_class_insensitive(counts, labels),
        adjusted=_adjusted(undirected),
        label_informativeness=_label_informativeness(undirected),
        compatibility=_row_shares(counts),
    )


@dataclass(frozen=True)
class AboveChance:
    """Label informativeness corrected for chance: `(I - c) / (1 - c)`, `c` its mean where labels are shuffled.

    With many classes or few edges, shuffled labels tell about each other too. Chance moves the value from `low` to
    `high`: three standard deviations of the shuffled ones to either side.
    """

    value: float
    low: float
    high: float
    chance: float


def above_chance(graph: Graph) -> AboveChance | None:
    """Return the label informativeness above that of the same labels, dealt anew to the labelled nodes.

    `None` where it is undefined, or where shuffled labels tell everything.
    """
    source, target = _comparable_edges(graph if not graph.directed else graph.symmetrized())
    source, target = source[source < target], target[source < target]  # every edge once, for speed
    labels, classes = graph.target.strata.copy(), len(graph.target.stratum_names)

    def informativeness() -> float | None:
        counts = _class_pairs(labels[source], labels[target], classes)
        return _symmetric_informativeness(counts + counts.T)

    found = informativeness()
    if found is None:
        return None
    rng = np.random.default_rng(SHUFFLING)
    shuffled = []
    for _ in range(int(np.clip(SHUFFLED_EDGES // source.size, FEWEST_SHUFFLES, MOST_SHUFFLES))):
        labels[graph.labelled] = rng.permutation(labels[graph.labelled])
        shuffled.append(informativeness())
    known = np.array([value for value in shuffled if value is not None])
    chance, margin = float(known.mean()), 3 * float(known.std(ddof=1))
    if np.isclose(chance, 1):
        return None
    low, value, high = ((found - chance + step) / (1 - chance) for step in (-margin, 0.0, margin))
    return AboveChance(value=value, low=low, high=high, chance=chance)


@dataclass(frozen=True)
class Neighbours:
    """What the neighbours in one direction tell.

    Args:
        coverage: share of the labelled nodes that have a labelled neighbour there.
        node: node homophily, the mean share of a node's neighbours that are of its own class.
        label_informativeness: `I(y_u; y_v) / H(y_u)` for a random node `u` that has any and a random neighbour `v`.
    """

    coverage: float | None
    node: float | None
    label_informativeness: float | None

    @property
    def information(self) -> float:
        """Label informativeness over all labelled nodes; one without neighbours there learns nothing."""
        return (self.coverage or 0.0) * (self.label_informativeness or 0.0)


@dataclass(frozen=True)
class Directions:
    """A directed graph seen from either end of its links; `reciprocated` is the share of links with a link back."""

    outward: Neighbours
    inward: Neighbours
    reciprocated: float | None


def by_direction(graph: Graph) -> Directions:
    """What the nodes that a node points to tell about its class, and what those that point to it tell."""
    source, target = _comparable_edges(graph)
    links = graph.without_self_loops().adjacency.astype(bool)
    back = int(links.multiply(links.T).nnz)
    return Directions(
        outward=_neighbours(graph, source, target),
        inward=_neighbours(graph, target, source),
        reciprocated=back / links.nnz if links.nnz else None,
    )


def direction_hint(directions: Directions) -> str | None:
    """What to set where one direction tells clearly more than the other."""
    outward, inward = directions.outward.information, directions.inward.information
    more, less = max(outward, inward), min(outward, inward)
    if more - less < CLEAR_DIFFERENCE or more < CLEAR_RATIO * less:
        return None
    if inward > outward:
        return (
            f"the nodes that point to a node tell more about it ({inward:.2f}) than those it points to "
            f"({outward:.2f}): try direction=in, or the model multi-gpcn, which reads both apart"
        )
    return (
        f"the nodes that a node points to tell more about it ({outward:.2f}) than those that point to it "
        f"({inward:.2f}): direction=out, the default, reads them"
    )


def verdict(homophily: Homophily, above: AboveChance | None) -> str:
    """What the adjusted homophily, and the label informativeness above chance, mean for the choice of a model."""
    value = homophily.adjusted
    if value is None:
        return "homophily is undefined here: there is only one class, or no edge joins two labelled nodes"
    if value >= 0.5:
        return "neighbours mostly agree: plain graph convolution works well here"
    if value >= 0.15:
        return "neighbours agree somewhat: convolution helps, but do not rely on it alone"
    informative = above.value if above is not None and above.low > 0 else 0.0
    if informative >= 0.1 or (value <= -0.05 and informative >= 0.05):
        return (
            "neighbours disagree, but in a pattern: plain GCN will struggle, "
            "models that use each hop apart can learn it"
        )
    return "neighbours say little about a node's class: let features and link patterns compete with convolution"


def _neighbours(graph: Graph, node: IntVector, neighbour: IntVector) -> Neighbours:
    labels, classes = graph.target.strata, len(graph.target.stratum_names)
    degree = np.bincount(node, minlength=graph.num_nodes)
    pairs = labels[node] * classes + labels[neighbour]
    weights = np.bincount(pairs, 1 / degree[node], classes * classes)  # a random node, a random neighbour of it
    return Neighbours(
        coverage=float(np.count_nonzero(degree) / graph.labelled.size) if graph.labelled.size else None,
        node=_node(node, labels[node] == labels[neighbour], graph.num_nodes),
        label_informativeness=_label_informativeness(weights.reshape(classes, classes).astype(np.float64)),
    )


def _comparable_edges(graph: Graph) -> tuple[IntVector, IntVector]:
    source, target = graph.edge_index
    known = graph.target.mask
    comparable = known[source] & known[target] & (source != target)
    return source[comparable], target[comparable]


def _class_pairs(first: IntVector, second: IntVector, classes: int) -> npt.NDArray[np.float64]:
    pairs = np.bincount(first * classes + second, minlength=classes * classes)
    return pairs.reshape(classes, classes).astype(np.float64)


def _node(source: IntVector, same: npt.NDArray[np.bool_], nodes: int) -> float | None:
    """The mean, over nodes with a neighbour, of the share of neighbours in the node's own class."""
    degree = np.bincount(source, minlength=nodes)
    agreeing = np.bincount(source[same], minlength=nodes)
    linked = degree > 0
    return float((agreeing[linked] / degree[linked]).mean()) if linked.any() else None


def _class_insensitive(counts: npt.NDArray[np.float64], labels: IntVector) -> float | None:
    """`1/(C-1) Σ_k max(0, h_k - n_k/n)` with `h_k` the share of class k's edges that stay in the class."""
    classes = len(counts)
    if classes < 2 or not counts.sum():
        return None
    sizes = np.bincount(labels[labels != UNKNOWN], minlength=classes)
    stay = np.diag(_row_shares(counts))
    return float(np.maximum(stay - sizes / sizes.sum(), 0).sum() / (classes - 1))


def _adjusted(counts: npt.NDArray[np.float64]) -> float | None:
    """`(h - Σ_k p_k²) / (1 - Σ_k p_k²)` with `p_k` class k's share of all edge ends."""
    if not counts.sum():
        return None
    joint = counts / counts.sum()
    expected = float((joint.sum(axis=1) ** 2).sum())
    if np.isclose(expected, 1):
        return None
    return float((np.trace(joint) - expected) / (1 - expected))


def _label_informativeness(counts: npt.NDArray[np.float64]) -> float | None:
    """`I(y_u; y_v) / H(y_u)` over the ends of a random edge, or over what else `counts` are the weights of."""
    if not counts.sum():
        return None
    joint = counts / counts.sum()
    ends = joint.sum(axis=1)
    entropy = -float((ends[ends > 0] * np.log(ends[ends > 0])).sum())
    if np.isclose(entropy, 0):
        return None
    independent = np.outer(ends, joint.sum(axis=0))
    occurring = joint > 0
    return float((joint[occurring] * np.log(joint[occurring] / independent[occurring])).sum() / entropy)


def _symmetric_informativeness(counts: npt.NDArray[np.float64]) -> float | None:
    """`_label_informativeness` of counts that are the same either way: `2 - H(y_u, y_v) / H(y_u)`."""
    if not counts.sum():
        return None
    entropies = [-float((share * np.log(share)).sum()) for share in (_shares(counts.sum(axis=1)), _shares(counts))]
    return None if np.isclose(entropies[0], 0) else 2 - entropies[1] / entropies[0]


def _shares(counts: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Of those that occur."""
    occurring = counts[counts > 0]
    shares: npt.NDArray[np.float64] = occurring / occurring.sum()
    return shares


def _row_shares(counts: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    totals = counts.sum(axis=1, keepdims=True)
    shares: npt.NDArray[np.float64] = np.divide(counts, totals, out=np.zeros_like(counts), where=totals > 0)
    return shares
