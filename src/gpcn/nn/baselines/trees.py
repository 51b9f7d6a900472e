"""Boosted trees on what a node and its neighbours look like: what practitioners take instead of a graph network."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from gpcn.core.errors import ConfigError
from gpcn.nn.argument_checks import check_channels, check_count, check_positive, check_same_nodes
from gpcn.nn.base import Features, as_features
from gpcn.nn.baselines.forest import Forest
from gpcn.nn.baselines.label_seeds import LabelSeeds
from gpcn.nn.baselines.neighbour_table import Layout, neighbour_table
from gpcn.nn.baselines.tree_fitting import TreeFitting
from gpcn.nn.engine.adjacency import Adjacency, AdjacencyLike
from gpcn.nn.engine.operator import SparseOperator
from gpcn.nn.self_fitting import Fitting, SelfFitting

Array = npt.NDArray[Any]
MOST_FEATURES = 256  # columns up to which features are taken as they are
COMPONENTS = 64  # directions that stand for more
ABSENT = 1e-6  # probability of a class that no training node has, relative to all others
TREES = tuple(Forest.empty().arrays())
EXACT = ("components", "baseline", "threshold", "value")  # 64 bits whatever the type of the model


class Trees(LabelSeeds, SelfFitting):
    """Gradient boosted trees (Friedman, *Greedy Function Approximation: A Gradient Boosting Machine*, 2001; here
    scikit-learn's `HistGradientBoostingClassifier`) on a table with a row per node:

        features | degrees | neighbours' means of features | neighbours' means of training labels

    the means over one hop and over two, along the links and against them, once where the graph is undirected;
    `gpcn.nn.baselines.neighbour_table` has the formulas. More than 256 features are replaced by their first 64 singular
    directions, found without labels in the graph that the model is fitted to. What is not defined, such as the mean
    label of a node without labelled neighbours, is missing, and trees learn where missing values go.

    **Labels.** A node's own label has no influence on its row. So for training nodes the label means are leave-one-out
    means; for all others they are plain means, whose own labels are not among the training labels anyway. Where many
    training nodes share one two-hop neighbourhood (the leaves of a star), that difference tells something: the fewer
    labels of a class are left, the likelier a training node has it itself, which is of no use for other nodes. It
    weighs little where neighbourhoods differ, early stopping on validation nodes limits it, and `hops=1` is free of it.

    With three classes and more the logits are scikit-learn's `decision_function`, with two they are half of it,
    negative for the first. A class that no training node has gets a millionth of the probability.

    `begin` (or `gpcn.nn.self_fitting.fit`) fits it; there are no parameters. It is deterministic: rows are numbers of
    32 bits, all sums are taken in 64.

    Args:
        in_channels: number of features, `q`; may be 0.
        hidden_channels: accepted so that models can be exchanged; not used.
        out_channels: number of classes, `C`.
        learning_rate: how much of each tree counts.
        max_leaf_nodes: leaves of a tree at most.
        l2: L2 penalty on what leaves say.
        min_samples_leaf: training nodes in a leaf at least; 0: a twentieth of them, from 2 to 20.
        hops: how far neighbours are looked at, 0 to 2.
        label_features: whether neighbours' training labels are.

    Shapes:
        features `[N, q]`, dense or sparse, and links among `N` nodes to logits `[N, C]`.
    """

    needs = "trees need"
    components: Tensor
    baseline: Tensor
    classes: Tensor
    layout: Tensor

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        learning_rate: float = 0.1,
        max_leaf_nodes: int = 31,
        l2: float = 0.0,
        min_samples_leaf: int = 0,
        hops: int = 2,
        label_features: bool = True,
    ) -> None:
        super().__init__()
        check_channels(in_channels, hidden_channels, out_channels, reads_features=False)
        self.in_channels, self.out_channels = in_channels, out_channels
        self.learning_rate = check_positive("learning_rate", learning_rate)
        self.max_leaf_nodes = check_count("max_leaf_nodes", max_leaf_nodes, least=2)
        self.min_samples_leaf = check_count("min_samples_leaf", min_samples_leaf, least=0)
        self.hops, self.label_features = check_count("hops", hops, least=0), label_features
        if hops > 2 or l2 < 0:
            raise ConfigError(f"hops is {hops} and l2 is {l2}; expected hops from 0 to 2 and l2 from 0")
        self.l2 = float(l2)
        self.register_buffer("seeds", torch.zeros(0, out_channels))  # training labels, no rows before `observe`
        self.register_buffer("components", torch.zeros(in_channels, 0, dtype=torch.float64))  # [q, 0]: none needed
        self.register_buffer("baseline", torch.zeros(0, dtype=torch.float64))  # [K], before the first tree
        self.register_buffer("classes", torch.zeros(0, dtype=torch.int64))  # those among the training labels
        self.register_buffer("layout", torch.zeros(2, dtype=torch.int64))  # directed, weighted
        self._set_forest(Forest.empty())

    @property
    def num_learned(self) -> int:
        """A threshold or a value per node of all trees, and the baseline."""
        return int(self._buffers["value"].numel() + self.baseline.numel())  # type: ignore[union-attr]

    def reset_parameters(self) -> None:
        """Forget what was fitted."""
        self.classes, self.baseline = self.classes[:0], self.baseline[:0]
        self._set_forest(Forest.empty())

    def for_others(self, count: int) -> Trees:
        """The same trees; where they ask for labels of neighbours, these are missing."""
        other = copy.deepcopy(self)
        other.seeds = self.seeds.new_zeros(count, self.out_channels)
        return other

    def begin(
        self,
        x: Features,
        adjacency: AdjacencyLike,
        labels: Tensor,
        train: Tensor,
        *,
        class_weights: Tensor | None = None,
        seed: int = 0,
        most: int = 1000,
    ) -> Fitting:
        """Start to fit; `SelfFitting.begin` has the arguments."""
        self.reset_parameters()
        self.observe(labels, train)
        features, links = _features(x), Adjacency.of(adjacency, None, x.shape[0]).matrix
        if features.shape[1] > MOST_FEATURES:
            self.components = torch.tensor(_principal(features), device=self.device)
        layout = Layout.of(links, self.hops, self.label_features)
        self.layout = torch.tensor([layout.directed, layout.weighted], device=self.device).long()
        self.classes = torch.unique(labels[train]).to(self.device)
        nodes = train.cpu().numpy()
        weights = None if class_weights is None else class_weights.cpu().numpy().astype(np.float64)[labels.cpu()[nodes]]
        targets = np.searchsorted(self.classes.cpu().numpy(), labels.cpu().numpy()[nodes])
        return TreeFitting(self, self.table(x, adjacency), nodes, targets, weights, seed, most)

    def settings(self, samples: int) -> dict[str, Any]:
        """Return the settings under the names that scikit-learn has for them."""
        return {
            "learning_rate": self.learning_rate,
            "max_leaf_nodes": self.max_leaf_nodes,
            "l2_regularization": self.l2,
            "min_samples_leaf": self.min_samples_leaf or min(20, max(2, samples // 20)),
        }

    def table(self, x: Features, adjacency: AdjacencyLike, edge_weight: Tensor | None = None) -> Array:
        """Return the table that the trees read, `[N, columns]`."""
        check_same_nodes("Trees", len(self.seeds), x.shape[0])
        if x.shape[1] != self.in_channels:
            raise ConfigError(f"there are {x.shape[1]} features; expected {self.in_channels}")
        links = Adjacency.of(adjacency, edge_weight, x.shape[0])
        if links.num_nodes != x.shape[0]:
            raise ConfigError(f"there are features for {x.shape[0]} nodes but links among {links.num_nodes}")
        features = _features(x)
        if self.components.shape[1]:
            with single_threaded():
                features = features @ self.components.cpu().numpy()
        dense = features if isinstance(features, np.ndarray) else features.toarray()
        directed, weighted = map(bool, self.layout.tolist())
        layout = Layout(directed=directed, weighted=weighted, hops=self.hops, labels=self.label_features)
        return neighbour_table(dense, links.matrix, self.seeds.cpu().numpy(), layout)

    def forward(self, x: Features, adjacency: AdjacencyLike, edge_weight: Tensor | None = None) -> Tensor:
        """Logits `[N, C]`."""
        if not self.classes.numel():
            raise ConfigError("these trees were not fitted; see begin, or gpcn.nn.self_fitting.fit")
        table = self.table(x, adjacency, edge_weight)
        raw = self.raw_baseline(len(table))
        self.forest().add_to(raw, table)
        return self.logits_of(raw)

    def raw_baseline(self, rows: int) -> Array:
        """Return scikit-learn's prediction of every row before the first tree, `[rows, K]`."""
        return np.repeat(self.baseline.cpu().numpy()[None], rows, axis=0)

    def logits_of(self, raw: Array) -> Tensor:
        """Logits of all classes, `[N, C]`, from scikit-learn's raw predictions `[N, K]`."""
        raw = np.concatenate([-raw, raw], axis=1) / 2 if self.classes.numel() == 2 else raw
        present = torch.from_numpy(raw)
        rest = present.logsumexp(1, keepdim=True) + np.log(ABSENT)
        logits: Tensor = rest.repeat(1, self.out_channels)
        logits[:, self.classes.cpu()] = present
        return logits.to(dtype=self.dtype, device=self.device)

    def forest(self) -> Forest:
        """The trees."""
        return Forest(**{name: self._buffers[name].cpu().numpy() for name in TREES})  # type: ignore[union-attr]

    def keep(self, baseline: Array, forest: Forest) -> None:
        """Be these trees."""
        self.baseline = torch.tensor(baseline, device=self.device)
        self._set_forest(forest)

    def _set_forest(self, forest: Forest) -> None:
        for name, array in forest.arrays().items():
            self.register_buffer(name, torch.tensor(array, device=self.device))

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Trees:
        """Thresholds between 64-bit numbers stay 64-bit numbers when the model becomes single precision."""
        exact = {name: self._buffers[name] for name in EXACT}
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        for name, buffer in exact.items():
            self._buffers[name] = buffer.to(self.device) if buffer is not None else None
        return self

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        """Take buffers of any length, as a saved model has them; refuse trees that cannot be evaluated."""
        for name, buffer in self._buffers.items():
            saved = state_dict.get(f"{prefix}{name}")
            grows = 1 if name == "components" else 0
            if buffer is not None and saved is not None and saved.ndim == buffer.ndim:
                shape = list(buffer.shape)
                shape[grows] = saved.shape[grows]
                self._buffers[name] = buffer.new_zeros(shape)
        super()._load_from_state_dict(state_dict, prefix, *rest)
        problem = self.forest().problem()
        if problem is not None:
            rest[-1].append(problem)


def single_threaded() -> Any:
    """Matrix products whose rounding does not depend on the number of threads."""
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1)


def _features(x: Features) -> Any:
    """Features as NumPy or SciPy have them."""
    x = as_features(x)
    return x.csr.to_scipy() if isinstance(x, SparseOperator) else x.detach().cpu().numpy()


def _principal(features: Any) -> Array:
    """The first singular directions, `[q, COMPONENTS]` (fewer where there are fewer nodes), always the same ones."""
    from sklearn.utils.extmath import randomized_svd

    width = min(COMPONENTS, *features.shape)
    with single_threaded():
        _, _, directions = randomized_svd(features.astype(np.float64), width, n_iter=4, random_state=0)
    return np.ascontiguousarray(directions.T)
