"""The scikit-learn face: `GPCNClassifier`.

Node classification is transductive: the nodes to be predicted are already in the graph while training. Two honest ways
to say that in scikit-learn's words:

- **A graph as a parameter, node positions as `X`.** `GPCNClassifier(graph=graph).fit(nodes, labels)` sees the labels of
  `nodes` only, whatever the graph knows of others. This is the form for `cross_val_score` and `GridSearchCV`: each fold
  hides its test labels and predicts those positions.
- **Features as `X`, links as an argument.** `fit(X, y, adjacency=A)` with -1, `None` or NaN in `y` for nodes without a
  label. `predict(X)` knows the links of the rows it was fitted on; other rows bring theirs, `predict(X, adjacency=B)`.
  In a pipeline: `fit(X, y, gpcnclassifier__adjacency=A)`.
  Rows are known by what they hold: with the very `X` and links of `fit`, the labels given there take part in the
  answer. Anything else is another graph, however many rows it has: no label of it is known, and models that cannot
  answer without labels or without a vector per node refuse.

`fit(X, y)` without any links warns where the model reads links: it is then a plain classifier of rows.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from gpcn.core.errors import ConfigError
from gpcn.core.types import UNKNOWN
from gpcn.graph import Graph, Split
from gpcn.graph.given_labels import labels_of_one_type, unknown_labels
from gpcn.graph.splitting import hold_back
from gpcn.nn import zoo

PREFIX = "model__"
CHECKS: dict[str, Any] = {"accept_sparse": "csr", "dtype": np.float32}
DIGESTED_ROWS = 4096  # at once, so that a sparse form of dense features takes little memory
LARGEST_SEED = 2**31 - 1


class GPCNClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Any model of the zoo as a scikit-learn classifier.

    Args:
        model: a name that `gpcn models` lists, or `auto`: model and settings are chosen within `budget` seconds.
        graph: a `Graph`; then `X` holds node positions.
        settings: hyperparameters and training settings by name, such as `{"hidden": 128, "layers": 4, "lr": 0.05}`. For
            a grid search each of them is a parameter too: `model__gamma`, `model__bias`, ...
        hidden: width, unless `settings` says otherwise.
        layers: highest power of the adjacency.
        dropout: share of entries zeroed while training.
        lr: learning rate.
        weight_decay: L2 penalty.
        epochs: most epochs.
        patience: epochs without improvement before stopping.
        validation_fraction: share of the labelled nodes held back to stop at the best epoch.
        random_state: seed of everything random; `None` is 0. A generator of NumPy draws a seed at each `fit`.
        budget: seconds for `auto`.
        n_jobs: processes for `auto`; more than one needs the usual `if __name__ == "__main__":` in scripts.

    Attributes:
        split_: positions of the nodes that trained and of those that chose the epoch.
        config_: the configuration that was trained; of several members the first one's.
    """

    def __init__(
        self,
        model: str = zoo.DEFAULT,
        *,
        graph: Graph | None = None,
        settings: dict[str, Any] | None = None,
        hidden: int = 64,
        layers: int = 2,
        dropout: float = 0.3,
        lr: float = 0.01,
        weight_decay: float = 1e-3,
        epochs: int = 500,
        patience: int = 100,
        validation_fraction: float = 0.25,
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
        budget: float = 300.0,
        n_jobs: int = 1,
    ) -> None:
        self.model = model
        self.graph = graph
        self.settings = settings
        self.hidden = hidden
        self.layers = layers
        self.dropout = dropout
        self.lr = lr
        self.weight_decay = weight_decay
        self.epochs = epochs
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.budget = budget
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, adjacency: Any = None) -> GPCNClassifier:
        """Train on the nodes whose label is known.

        Args:
            X: node positions `[n]` or `[n, 1]` where `graph` is set, else features `[N, q]`, dense or sparse.
            y: labels `[n]`, numbers or text; -1, `None` or NaN marks nodes without one.
            adjacency: links `[N, N]` among the rows of `X`.
        """
        if self.graph is not None:
            graph = self._graph_with_labels(np.asarray(_positions(X, self.graph)), y)
        else:
            graph = self._graph_from_features(X, y, adjacency)
        self.seed_ = _seed_from(self.random_state)
        if not 0 < self.validation_fraction < 1:
            raise ConfigError(f"validation_fraction is {self.validation_fraction}; expected more than 0, less than 1")
        self.split_ = split = hold_back(graph.labels, self.validation_fraction, self.seed_)
        self.num_nodes_ = graph.num_nodes
        self.member_counts_ = [1]
        self.members_ = self._choose(graph, split) if self.model == "auto" else [self._train(graph, split)]
        self.model_, self.config_ = self.members_[0]
        self.transduced_ = self._probabilities(replace(graph, splits=()))
        self.coefficients_ = None if (c := self.model_.coefficients()) is None else c.numpy()
        self.mix_ = self.model_.mix()
        return self

    def _train(self, graph: Graph, split: Split) -> tuple[Any, Any]:
        from gpcn.training.fit import fit
        from gpcn.training.problem import Problem

        config = self._config(graph)
        trainer = fit(Problem.of(replace(graph, splits=()), config), config, split, 0)
        trainer.best_logits()
        self.n_iter_ = trainer.epoch
        return trainer.model.double(), config

    def _choose(self, graph: Graph, split: Split) -> list[tuple[Any, Any]]:
        from gpcn.search.auto import chosen_models

        one_split = replace(graph, splits=(split,))
        members, self.auto_ = chosen_models(one_split, seconds=self.budget, jobs=self.n_jobs, seed=self.seed_)
        self.n_iter_ = int(self.auto_.configurations)
        self.member_counts_ = [count for _, _, count in members]
        return [(model.double(), config) for model, config, _ in members]

    def predict_proba(self, X: Any, adjacency: Any = None) -> npt.NDArray[np.float64]:
        """Probability of each class in `classes_`, `[n, C]`."""
        check_is_fitted(self)
        if self.graph is not None:
            return self.transduced_[_positions(X, self.graph)]
        features = validate_data(self, X, reset=False, **CHECKS)
        rows, count = _digest(features), features.shape[0]
        if adjacency is None and rows == self.fitted_rows_:
            return self.transduced_
        if adjacency is None and self.fitted_links_ is not None:
            raise ConfigError(
                f"X has {count} rows that are not those of fit, whose links were given; pass adjacency=, the links "
                "among these rows"
            )
        graph = Graph(
            adjacency=sp.csr_array((count, count)) if adjacency is None else adjacency,
            features=features,
            labels=np.full(count, UNKNOWN),
            label_names=[str(name) for name in self.classes_],
        )
        if (rows, _digest(graph.adjacency)) == (self.fitted_rows_, self.fitted_links_):
            return self.transduced_
        self._require_inductive_models(count)
        return self._probabilities(graph, others=True)

    def predict(self, X: Any, adjacency: Any = None) -> npt.NDArray[Any]:
        """The most probable class of each row of `X`."""
        check_is_fitted(self)
        chosen: npt.NDArray[Any] = self.classes_[self.predict_proba(X, adjacency).argmax(axis=1)]
        return chosen

    def set_params(self, **params: Any) -> GPCNClassifier:
        """As in scikit-learn; `model__NAME` sets a hyperparameter or training setting of the model."""
        settings = {name[len(PREFIX) :]: params.pop(name) for name in list(params) if name.startswith(PREFIX)}
        super().set_params(**params)
        if settings:
            self.settings = {**self._settings(), **settings}
        return self

    def score(self, X: Any, y: Any, sample_weight: Any = None, adjacency: Any = None) -> float:
        """Accuracy."""
        from sklearn.metrics import accuracy_score

        return float(accuracy_score(y, self.predict(X, adjacency), sample_weight=sample_weight))

    def _config(self, graph: Graph) -> Any:
        from gpcn.training.config import TrainConfig
        from gpcn.training.settle import settle

        accepted = {setting.name for setting in zoo.specification_of(self.model).hyperparameters}
        usual = {"hidden": self.hidden, "layers": self.layers, "dropout": self.dropout}
        chosen: dict[str, Any] = {name: value for name, value in usual.items() if name in accepted}
        chosen |= {name: getattr(self, name) for name in ("lr", "weight_decay", "epochs", "patience")}
        return settle(TrainConfig.of(self.model, seed=self.seed_, **(chosen | self._settings())), graph)

    def _settings(self) -> dict[str, Any]:
        if self.settings is None:
            return {}
        if not isinstance(self.settings, Mapping) or not all(isinstance(name, str) for name in self.settings):
            raise ConfigError(f'settings is {self.settings!r}; expected a dictionary such as {{"gamma": 0.5}}')
        for name, parameter in (("model", "model"), ("seed", "random_state")):
            if name in self.settings:
                raise ConfigError(f"settings holds {name!r}; set the parameter {parameter} of the estimator instead")
        return dict(self.settings)

    def _graph_with_labels(self, nodes: npt.NDArray[np.int64], y: Any) -> Graph:
        unknown = unknown_labels(y)
        if unknown.shape != nodes.shape:
            raise ConfigError(f"there are {unknown.size} labels for {nodes.size} nodes; expected one each")
        nodes, labels = nodes[~unknown], self._encode(labels_of_one_type(np.asarray(y)[~unknown]))
        node_labels = np.full(cast(Graph, self.graph).num_nodes, UNKNOWN)
        node_labels[nodes] = labels
        conflict = np.flatnonzero(node_labels[nodes] != labels)
        if conflict.size:
            node = nodes[conflict[0]]
            both = " and ".join(repr(str(name)) for name in self.classes_[np.unique(labels[nodes == node])])
            raise ConfigError(f"node {node} has the labels {both}; expected one label for each node")
        names = [str(name) for name in self.classes_]
        return replace(cast(Graph, self.graph), labels=node_labels, splits=(), label_names=names)

    def _graph_from_features(self, X: Any, y: Any, adjacency: Any) -> Graph:
        unknown = np.zeros(0, dtype=bool) if y is None else unknown_labels(y)
        if adjacency is None or not unknown.any():  # scikit-learn's own words for what is wrong with X or y
            features, targets = validate_data(self, X, y, **CHECKS)
            unknown = np.zeros(len(targets), dtype=bool)
        else:
            features, targets = validate_data(self, X, **CHECKS), np.asarray(y)
            check_consistent_length(features, targets)
        labels = np.full(len(targets), UNKNOWN)
        labels[~unknown] = self._encode(labels_of_one_type(targets[~unknown]))
        links = self._no_links(len(targets)) if adjacency is None else adjacency
        names = [str(name) for name in self.classes_]
        graph = Graph(adjacency=links, features=features, labels=labels, label_names=names)
        self.fitted_rows_ = _digest(features)
        self.fitted_links_ = None if adjacency is None else _digest(graph.adjacency)
        return graph

    def _no_links(self, count: int) -> Any:
        if self.model == "auto" or "links" in zoo.specification_of(self.model).reads:
            warnings.warn(
                f"fit was given no links, so {self.model} sees every row alone; pass adjacency=, or graph= to the "
                "estimator, or choose a model of rows such as logistic",
                UserWarning,
                stacklevel=4,
            )
        return sp.csr_array((count, count))

    def _encode(self, targets: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        check_classification_targets(targets)
        self.classes_, encoded = np.unique(targets, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"the labels have {len(self.classes_)} class; expected at least 2 classes")
        return encoded.astype(np.int64)

    def _require_inductive_models(self, count: int) -> None:
        models = [zoo.specification_of(config.model) for _, config in self.members_]
        bound = next((model for model in models if not model.inductive), None)
        if bound is not None:
            known = "vectors" if bound.per_node else "labels"
            raise ConfigError(
                f"X and its links are not those of fit, and {bound.name} cannot predict {count} others: it answers by "
                f"the {known} of the {self.num_nodes_} nodes of fit; use the graph parameter, or another model"
            )

    def _probabilities(self, graph: Graph, others: bool = False) -> npt.NDArray[np.float64]:
        """In 64 bits, so that a row's prediction does not depend on the rows beside it.

        `others` says that these are not the nodes that were fitted, so that no label of theirs is known.
        """
        import torch

        from gpcn.nn.self_fitting import SelfFitting
        from gpcn.training.problem import Problem

        probabilities = []
        for member, config in self.members_:
            problem = Problem.prepared(graph, config, dtype=torch.float64)
            unlabelled = others and isinstance(member, SelfFitting)
            model = member.for_others(graph.num_nodes) if unlabelled else member
            model.eval()
            with torch.no_grad():
                probabilities.append(problem.graph.task.activation(model(problem.x, problem.adjacency)).numpy())
        return np.asarray(np.average(probabilities, axis=0, weights=self.member_counts_))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _digest(matrix: Any) -> str:
    """The same for the same entries in the same places, dense or sparse."""
    digest = hashlib.sha256(str(matrix.shape).encode())
    for start in range(0, matrix.shape[0], DIGESTED_ROWS):
        rows = sp.csr_array(matrix[start : start + DIGESTED_ROWS], copy=True)
        rows.sum_duplicates()
        rows.eliminate_zeros()
        for array in (rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data):
            digest.update(array.tobytes())
    return digest.hexdigest()


def _seed_from(random_state: Any) -> int:
    """The seed that `random_state` is, or the next that it draws."""
    if random_state is None:
        return 0
    if isinstance(random_state, Integral):
        return int(random_state)
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(LARGEST_SEED))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(LARGEST_SEED))
    raise ConfigError(
        f"random_state is {random_state!r}; expected None, a whole number, or a RandomState or Generator of NumPy"
    )


def _positions(X: Any, graph: Any) -> npt.NDArray[np.int64]:
    if not isinstance(graph, Graph):
        raise ConfigError(f"graph is of type {type(graph).__name__}; expected a Graph, such as gpcn.load gives")
    nodes = np.asarray(X)
    if nodes.ndim == 2 and nodes.shape[1] == 1:
        nodes = nodes[:, 0]
    if nodes.dtype == bool and nodes.ndim == 1:
        if nodes.size != graph.num_nodes:
            raise ConfigError(
                f"X is a mask of {nodes.size} entries; expected {graph.num_nodes}, one per node, or positions"
            )
        return np.flatnonzero(nodes)
    if nodes.dtype.kind not in "iuf":
        raise ConfigError(f"X holds {nodes.dtype} values; expected node positions or a mask, because graph is set")
    if nodes.ndim != 1 or (nodes.size and not np.array_equal(nodes, np.floor(nodes))):
        raise ConfigError(
            f"X has shape {nodes.shape} and values such as {nodes.flat[0]}; expected node positions, because graph is "
            "set (a scaler belongs before the graph, on its features)"
        )
    nodes = nodes.astype(np.int64)
    if nodes.size and not (nodes.min() >= 0 and nodes.max() < graph.num_nodes):
        raise ConfigError(f"X names node {nodes.max()}; the graph has nodes 0 to {graph.num_nodes - 1}")
    return nodes
