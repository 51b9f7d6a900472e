from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn import metrics

from gpcn import ConfigError
from gpcn.runs.score_statistics import PairedDifference, compare_pairs, summarize
from gpcn.tasks.calibration import calibration_error
from gpcn.tasks.class_metrics_on_tensors import roc_area
from gpcn.tasks.classification import Classification

RNG = np.random.default_rng(0)


def test_measures_agree_with_scikit_learn() -> None:
    labels = RNG.integers(0, 3, 200)
    probabilities = RNG.dirichlet(np.ones(3), 200)
    measures = Classification(3).evaluate(probabilities, labels, "accuracy")
    predicted = probabilities.argmax(1)
    assert measures.accuracy == pytest.approx(metrics.accuracy_score(labels, predicted))
    assert measures.score == pytest.approx(100 * measures.accuracy)
    assert measures.macro_f1 == pytest.approx(metrics.f1_score(labels, predicted, average="macro"))
    np.testing.assert_allclose(measures.precision, metrics.precision_score(labels, predicted, average=None))
    np.testing.assert_allclose(measures.recall, metrics.recall_score(labels, predicted, average=None))
    np.testing.assert_array_equal(measures.confusion, metrics.confusion_matrix(labels, predicted))
    assert measures.roc_auc == pytest.approx(metrics.roc_auc_score(labels, probabilities, multi_class="ovr"))


def test_the_area_under_the_curve_counts_ties_as_scikit_learn_does() -> None:
    labels = RNG.integers(0, 2, 300)
    scores = np.round(RNG.random(300), 1)
    expected = metrics.roc_auc_score(labels, scores)
    assert Classification(2).evaluate(np.stack([1 - scores, scores], 1), labels, "roc_auc").score == pytest.approx(
        100 * expected
    )
    assert roc_area(torch.tensor(scores), torch.tensor(labels)).item() == pytest.approx(expected)


def test_undefined_is_none_never_zero() -> None:
    measures = Classification(3).evaluate(np.array([[0.9, 0.1, 0.0]] * 3), np.array([0, 0, 1]), "accuracy")
    assert measures.precision == (pytest.approx(2 / 3), None, None)
    assert measures.recall == (1.0, 0.0, None)
    one = Classification(2).evaluate(np.array([[0.9, 0.1]] * 3), np.zeros(3, int), "roc_auc")
    assert one.score is None
    assert summarize([None, None]) == (None, None)
    assert summarize([50.0]) == (50.0, None)
    assert summarize([50.0, None, 70.0])[0] == 60


def test_the_calibration_error_is_the_one_computed_by_hand() -> None:
    probabilities = np.array([[0.9, 0.1], [0.9, 0.1], [0.6, 0.4], [0.6, 0.4]])
    assert calibration_error(probabilities, np.array([0, 1, 0, 0])) == pytest.approx((0.4 * 2 + 0.4 * 2) / 4)


def test_paired_comparison_is_the_corrected_t_test() -> None:
    first, second = np.array([80, 82, 79, 85.0]), np.array([78, 81, 79, 80.0])
    comparison = compare_pairs(first, second, 0.25)
    differences = first - second
    t = differences.mean() / np.sqrt(differences.var(ddof=1) * (1 / 4 + 1 / 3))
    from scipy import stats

    assert comparison.p == pytest.approx(2 * stats.t.sf(t, 3))
    assert comparison.low < comparison.difference < comparison.high
    plain = stats.ttest_rel(first, second).pvalue
    assert comparison.p > plain  # overlapping splits make it less sure of itself
    assert compare_pairs([1.0], [2.0], 0.2) == PairedDifference(-1.0, None, None, None)
    assert compare_pairs([1.0, 2.0], [1.0, 2.0], 0.2).p == 1.0
    with pytest.raises(ConfigError, match="cannot be paired"):
        compare_pairs([1.0], [1.0, 2.0], 0.2)
