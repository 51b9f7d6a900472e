from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from gpcn import ConfigError, GPCNClassifier, synthesize

GRAPH = synthesize(nodes=200, classes=3, degree=6, homophily=0.05, mixing="ring", signal=1.5, splits=0)


@parametrize_with_checks(
    [GPCNClassifier(hidden=16, epochs=60, patience=30, lr=0.05, dropout=0.0, validation_fraction=0.2)]
)
def test_scikit_learns_own_checks(estimator, check) -> None:
    check(estimator)


def test_features_and_links_with_unlabelled_nodes() -> None:
    y = GRAPH.labels.copy()
    y[100:] = -1
    model = GPCNClassifier(epochs=150, random_state=0).fit(GRAPH.features, y, adjacency=GRAPH.adjacency)
    assert model.classes_.tolist() == [0, 1, 2]
    found = model.predict(GRAPH.features, adjacency=GRAPH.adjacency)
    assert (found[100:] == GRAPH.labels[100:]).mean() > 0.7
    assert model.predict_proba(GRAPH.features, adjacency=GRAPH.adjacency).shape == (200, 3)
    assert model.score(GRAPH.features, GRAPH.labels, adjacency=GRAPH.adjacency) > 0.7
    blind = GPCNClassifier(epochs=150, random_state=0).fit(GRAPH.features, y.clip(0), adjacency=None)
    assert blind.n_iter_ > 0


def test_text_labels() -> None:
    names = np.array(["fox", "owl", "yak"])[GRAPH.labels]
    model = GPCNClassifier("gpcn-link", graph=GRAPH, epochs=30).fit(np.arange(200), names)
    assert set(model.predict([0, 1, 2])) <= {"fox", "owl", "yak"}


def test_cross_validation_over_nodes_hides_the_labels_of_the_fold() -> None:
    nodes = np.arange(200)
    estimator = GPCNClassifier(graph=GRAPH, epochs=120, random_state=0)
    scores = cross_val_score(estimator, nodes.reshape(-1, 1), GRAPH.labels, cv=3)
    assert scores.mean() > 0.7
    shuffled = np.random.default_rng(0).permutation(GRAPH.labels)
    assert cross_val_score(estimator, nodes, shuffled, cv=3).mean() < 0.5


def test_grid_search() -> None:
    search = GridSearchCV(GPCNClassifier(graph=GRAPH, epochs=20), {"layers": [1, 2], "model": ["gpcn", "mlp"]}, cv=2)
    search.fit(np.arange(200), GRAPH.labels)
    assert search.best_params_["model"] in ("gpcn", "mlp")


def test_cloning_and_settings() -> None:
    estimator = clone(GPCNClassifier("agpcn", settings={"adaptive": "scales"}, graph=GRAPH, epochs=5))
    estimator.fit(np.arange(200), GRAPH.labels)
    assert estimator.coefficients_.shape == (3,)
    assert estimator.config_["adaptive"] == "scales"


def test_nonsense_is_explained() -> None:
    model = GPCNClassifier(graph=GRAPH, epochs=2)
    with pytest.raises(ConfigError, match="X names node 999"):
        model.fit([0, 999], [0, 1])
    with pytest.raises(ConfigError, match="expected node positions"):
        model.fit(np.ones((3, 4)), [0, 1, 2])
    with pytest.raises(ConfigError, match="no hyperparameter 'hiden'"):
        GPCNClassifier(settings={"hiden": 3}, graph=GRAPH).fit(np.arange(200), GRAPH.labels)
    link = GPCNClassifier("gpcn-link", epochs=2).fit(GRAPH.features, GRAPH.labels, adjacency=GRAPH.adjacency)
    with pytest.raises(ConfigError, match="cannot predict 10 others"):
        link.predict(GRAPH.features[:10], adjacency=sp.eye_array(10, format="csr"))
