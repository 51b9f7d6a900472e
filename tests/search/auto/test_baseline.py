"""What every choice is held against: the class shares of the training nodes, in each holdout."""

from __future__ import annotations

import numpy as np

from gpcn import synthesize
from gpcn.search.auto.ensemble import Row, Selection
from gpcn.search.auto.expected_score import expected_score
from gpcn.search.auto.holdouts import holdout_of_folds, holdout_of_split

GRAPH = synthesize(nodes=200, classes=3, splits=2)


def test_shares_are_of_the_training_nodes_of_each_training() -> None:
    split = GRAPH.splits[1]
    counts = np.bincount(GRAPH.labels[split.train], minlength=3)
    np.testing.assert_allclose(holdout_of_split(GRAPH, 1).baseline(GRAPH), [counts / counts.sum()] * split.val.size)
    folds = holdout_of_folds(GRAPH, 0, 0, seed=0)
    shares = folds.baseline(GRAPH)
    assert shares.shape == (folds.nodes.size, 3)
    for fold in folds.splits:
        counts = np.bincount(GRAPH.labels[fold.train], minlength=3)
        np.testing.assert_allclose(shares[np.isin(folds.nodes, fold.test)], [counts / counts.sum()] * fold.test.size)


def test_the_right_answers_are_above_them_and_they_themselves_are_not() -> None:
    holdouts = (holdout_of_split(GRAPH, 0), holdout_of_split(GRAPH, 1))
    right = tuple(np.eye(3)[GRAPH.labels[holdout.nodes]] for holdout in holdouts)
    shares = tuple(holdout.baseline(GRAPH) for holdout in holdouts)
    for predictions, above in ((right, True), (shares, False)):
        selection = Selection(((Row(0, "loss", "gpcn", predictions), 1),), 100.0, 100.0, 100.0, 100.0)
        assert expected_score(GRAPH, holdouts, [0, 1], selection, seed=0).above_majority == above
