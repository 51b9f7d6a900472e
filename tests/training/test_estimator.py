from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from gpcn import ConfigError, GPCNClassifier, synthesize
from gpcn.training.trainer import Trainer

GRAPH = synthesize(nodes=200, classes=3, degree=6, homophily=0.05, mixing="ring", signal=1.5, splits=0)


@parametrize_with_checks(
    [GPCNClassifier(hidden=16, epochs=60, patience=30, lr=0.05, dropout=0.0, validation_fraction=0.2)]
)
@pytest.mark.filterwarnings("ignore:fit was given no links:UserWarning")
def test_the_estimator_passes_the_checks_of_scikit_learn(estimator, check) -> None:
    check(estimator)


def test_unlabelled_nodes_are_predicted_from_features_and_links() -> None:
    y = GRAPH.labels.copy()
    y[100:] = -1
    model = GPCNClassifier(epochs=150, random_state=0).fit(GRAPH.features, y, adjacency=GRAPH.adjacency)
    assert model.classes_.tolist() == [0, 1, 2]
    predicted = model.predict(GRAPH.features, adjacency=GRAPH.adjacency)
    assert (predicted[100:] == GRAPH.labels[100:]).mean() > 0.7
    assert model.predict_proba(GRAPH.features, adjacency=GRAPH.adjacency).shape == (200, 3)
    assert model.score(GRAPH.features, GRAPH.labels, adjacency=GRAPH.adjacency) > 0.7


def test_every_row_trains_but_those_that_validate(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(
        "gpcn.training.fit.Trainer", lambda *given, **rest: seen.append(given[2]) or Trainer(*given, **rest)
    )
    nodes = np.arange(0, 200, 2)
    GPCNClassifier(graph=GRAPH, epochs=2, validation_fraction=0.2).fit(nodes, GRAPH.labels[nodes])
    (split,) = seen
    assert sorted([*split.train, *split.val]) == nodes.tolist()
    assert (split.val.size, split.test.size) == (20, 0)
    with pytest.raises(ConfigError, match="validation_fraction is 1.0; expected more than 0"):
        GPCNClassifier(graph=GRAPH, validation_fraction=1.0).fit(nodes, GRAPH.labels[nodes])


def test_the_links_of_fit_are_remembered_for_its_rows_and_asked_for_of_others() -> None:
    model = GPCNClassifier(epochs=30).fit(GRAPH.features, GRAPH.labels, adjacency=GRAPH.adjacency)
    expected = model.predict_proba(GRAPH.features, adjacency=GRAPH.adjacency)
    np.testing.assert_allclose(model.predict_proba(GRAPH.features), expected, atol=1e-9)
    for others in (GRAPH.features[:10], GRAPH.features[::-1].copy()):
        with pytest.raises(ConfigError, match="rows that are not those of fit, .* pass adjacency="):
            model.predict(others)
    assert model.predict(GRAPH.features[:10], adjacency=sp.eye_array(10, format="csr")).shape == (10,)


LABELLED = np.where(np.arange(200) % 3 > 0, GRAPH.labels, -1)
OTHERS = synthesize(nodes=200, classes=3, degree=6, homophily=0.05, mixing="ring", signal=1.5, splits=0, seed=5)
SMALL = {"epochs": 20, "random_state": 0}


@pytest.mark.parametrize("links", [GRAPH.adjacency, OTHERS.adjacency], ids=["the links of fit", "other links"])
@pytest.mark.parametrize("model", ["trees", "gpcn"])
def test_labels_of_fit_are_not_those_of_other_rows_of_the_same_count(model: str, links: sp.csr_array) -> None:
    """Beside a node without links, the same rows are of another count, which was never taken for that of fit."""
    fitted = GPCNClassifier(model, **SMALL).fit(GRAPH.features, LABELLED, adjacency=GRAPH.adjacency)
    one_more = sp.block_diag([links, sp.csr_array((1, 1))], format="csr")
    features = np.concatenate([OTHERS.features, OTHERS.features[:1]])
    expected = fitted.predict_proba(features, adjacency=one_more)[:200]
    np.testing.assert_allclose(fitted.predict_proba(OTHERS.features, adjacency=links), expected, atol=1e-9)


def test_the_rows_of_fit_with_other_links_are_another_graph() -> None:
    fitted = GPCNClassifier("trees", **SMALL).fit(GRAPH.features, LABELLED, adjacency=GRAPH.adjacency)
    rows = np.r_[0:200, 0]
    features, more = GRAPH.features[rows], sp.block_diag([OTHERS.adjacency, sp.csr_array((1, 1))], format="csr")
    predicted = fitted.predict_proba(GRAPH.features, adjacency=OTHERS.adjacency)
    np.testing.assert_allclose(predicted, fitted.predict_proba(features, adjacency=more)[:200], atol=1e-9)


@pytest.mark.parametrize("model", ["gpcn-link", "link", "linkx", "multi-gpcn-link", "label-propagation"])
@pytest.mark.parametrize("count", [200, 150])
def test_models_of_the_nodes_of_fit_refuse_others(model: str, count: int) -> None:
    fitted = GPCNClassifier(model, **SMALL).fit(GRAPH.features, LABELLED, adjacency=GRAPH.adjacency)
    kind = "labels" if model == "label-propagation" else "vectors"
    sentence = f"{model} cannot predict {count} others: it answers by the {kind} of the 200 nodes of fit; use the graph"
    with pytest.raises(ConfigError, match=sentence):
        fitted.predict(OTHERS.features[:count], adjacency=OTHERS.adjacency[:count, :count])


@pytest.mark.parametrize("model", ["gpcn", "gpcn-link", "label-propagation", "trees"])
def test_the_rows_and_links_of_fit_are_known_however_they_are_stored(model: str) -> None:
    fitted = GPCNClassifier(model, **SMALL).fit(GRAPH.features, LABELLED, adjacency=GRAPH.adjacency)
    stored, dense = sp.csr_array(GRAPH.features), GRAPH.adjacency.toarray()
    for X, links in ((stored, None), (stored, dense), (GRAPH.features.astype(float), sp.coo_array(dense))):
        assert (fitted.predict_proba(X, adjacency=links) == fitted.transduced_).all()


def test_a_generator_draws_a_seed_at_each_fit() -> None:
    for kind in (np.random.RandomState, np.random.default_rng):
        once, again = (GPCNClassifier(graph=GRAPH, epochs=3, random_state=kind(7)) for _ in range(2))
        seeds = [once.fit(np.arange(200), GRAPH.labels).seed_ for _ in range(2)]
        assert seeds == [again.fit(np.arange(200), GRAPH.labels).seed_ for _ in range(2)]
        assert seeds[0] != seeds[1] == once.config_.seed
    with pytest.raises(ConfigError, match="random_state is 'x'; expected None, a whole number, or a RandomState"):
        GPCNClassifier(graph=GRAPH, random_state="x").fit(np.arange(200), GRAPH.labels)


def test_parameters_of_another_type_are_refused() -> None:
    nodes = np.arange(200)
    with pytest.raises(ConfigError, match="graph is of type str; expected a Graph, such as gpcn.load gives"):
        GPCNClassifier(graph="texas").fit(nodes, GRAPH.labels)
    for settings in ([1], {1: 2}, "lr"):
        model = GPCNClassifier(graph=GRAPH, settings=settings)
        for use in (
            lambda model=model: model.fit(nodes, GRAPH.labels),
            lambda model=model: model.set_params(model__lr=1),
        ):
            with pytest.raises(ConfigError, match="settings is .*; expected a dictionary such as"):
                use()
    with pytest.raises(ConfigError, match="settings holds 'seed'; set the parameter random_state"):
        GPCNClassifier(graph=GRAPH, settings={"seed": 3}).fit(nodes, GRAPH.labels)


def test_no_links_at_all_is_said_and_models_of_rows_need_none() -> None:
    with pytest.warns(UserWarning, match="fit was given no links, so gpcn sees every row alone; pass adjacency="):
        GPCNClassifier(epochs=3).fit(GRAPH.features, GRAPH.labels)
    rows = GPCNClassifier("logistic", epochs=3).fit(GRAPH.features, GRAPH.labels)
    assert rows.predict(GRAPH.features[:7]).shape == (7,)


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, -1])
def test_text_labels_may_be_unknown(missing: object) -> None:
    names = np.array(["fox", "owl", "yak"], dtype=object)[GRAPH.labels]
    names[50:] = missing
    for y in (names, pd.Series(names)):
        model = GPCNClassifier(epochs=3).fit(GRAPH.features, y, adjacency=GRAPH.adjacency)
        assert model.classes_.tolist() == ["fox", "owl", "yak"]
        by_position = GPCNClassifier(graph=GRAPH, epochs=3).fit(np.arange(200), y)
        assert by_position.classes_.tolist() == ["fox", "owl", "yak"]


def test_nan_among_numeric_labels_is_unknown() -> None:
    y = GRAPH.labels.astype(float)
    y[100:] = np.nan
    assert GPCNClassifier(epochs=3).fit(GRAPH.features, y, adjacency=GRAPH.adjacency).classes_.tolist() == [0, 1, 2]


def test_a_pipeline_with_a_scaler_remembers_the_links_too() -> None:
    pipeline = make_pipeline(StandardScaler(), GPCNClassifier(epochs=30))
    pipeline.fit(GRAPH.features, GRAPH.labels, gpcnclassifier__adjacency=GRAPH.adjacency)
    alone, given = pipeline.predict(GRAPH.features), pipeline.predict(GRAPH.features, adjacency=GRAPH.adjacency)
    assert (alone == given).all()
    positions = make_pipeline(StandardScaler(), GPCNClassifier(graph=GRAPH, epochs=3))
    with pytest.raises(ConfigError, match="expected node positions, .*a scaler belongs before the graph"):
        positions.fit(np.arange(200).reshape(-1, 1), GRAPH.labels)


def test_frames_name_their_columns() -> None:
    columns = [f"column {number}" for number in range(GRAPH.num_features)]
    frame = pd.DataFrame(GRAPH.features, columns=columns)
    model = GPCNClassifier(epochs=3).fit(frame, GRAPH.labels, adjacency=GRAPH.adjacency)
    assert model.feature_names_in_.tolist() == columns
    assert model.predict(frame).shape == (200,)


def test_text_labels_are_predicted_as_text() -> None:
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


def test_a_grid_search_chooses_among_models() -> None:
    search = GridSearchCV(GPCNClassifier(graph=GRAPH, epochs=20), {"layers": [1, 2], "model": ["gpcn", "mlp"]}, cv=2)
    search.fit(np.arange(200), GRAPH.labels)
    assert search.best_params_["model"] in ("gpcn", "mlp")


def test_every_hyperparameter_can_be_searched() -> None:
    grid = {"model__gamma": [0.1, 0.5], "model__bias": [True]}
    search = GridSearchCV(GPCNClassifier(graph=GRAPH, epochs=5, settings={"mlp_layers": 2}), grid, cv=2)
    search.fit(np.arange(200), GRAPH.labels)
    config = search.best_estimator_.config_
    assert config["gamma"] == search.best_params_["model__gamma"]
    assert (config["bias"], config["mlp_layers"]) == (True, 2)
    with pytest.raises(ConfigError, match="no hyperparameter 'gama'"):
        GPCNClassifier(graph=GRAPH).set_params(model__gama=1.0).fit(np.arange(200), GRAPH.labels)


def test_a_clone_keeps_its_settings() -> None:
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
