"""The account of a prediction by a model whose logits are no sum over hops."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpcn import ConfigError, Graph
from gpcn.explanation import explain, explain_average
from gpcn.runs.predictions.prediction import predict
from tests.explanation.short_training import trained


@pytest.mark.parametrize("model", ["deep-gpcn", "gcn", "mlp", "linkx"])
def test_four_parts_add_up_to_the_prediction(model: str, graph: Graph, tmp_path: Path) -> None:
    run = trained(graph, tmp_path / "run", model, hidden=8)
    account = explain(run, graph, "person 57", top=10_000)
    assert account.method == "integrated gradients"
    assert account.predicted == predict(run, graph, splits=[0]).predicted[57]
    parts = {part.part: part for part in account.parts}
    assert list(parts) == ["features", "features of others", "links and biases", "residual"]
    for share in ("winner", "margin"):
        assert sum(getattr(part, share) for part in parts.values()) == pytest.approx(
            getattr(account.sum, share), abs=1e-9
        )
        of_others = sum(getattr(node, share) for source in account.sources for node in source.top)
        assert of_others == pytest.approx(getattr(parts["features of others"], share), abs=1e-6)
    assert abs(parts["residual"].margin) <= 0.02 * abs(account.sum.margin) + 1e-6
    assert sum(account.origins.values()) == pytest.approx(account.sum.margin, abs=1e-9)
    assert sum(feature.margin for feature in account.features) == pytest.approx(account.origins["features"])
    ratio = account.probability / account.runner_up_probability
    assert np.log(ratio) == pytest.approx(account.sum.margin, abs=1e-9)
    assert "residual" in account.notes[-1]
    if model == "mlp":
        assert account.sources == ()
        assert parts["features of others"].margin == pytest.approx(0)


def test_an_average_without_a_sum_over_hops_is_explained_by_gradients(graph: Graph, tmp_path: Path) -> None:
    gcn = trained(graph, tmp_path / "gcn", "gcn", hidden=8)
    trees = trained(graph, tmp_path / "trees", "trees")
    account = explain_average([gcn, gcn, trees], graph, "person 57")
    assert account.method == "integrated gradients"
    assert sum(part.margin for part in account.parts) == pytest.approx(account.sum.margin)
    assert [member.decomposed for member in account.members] == [True, False]
    assert any("33% of the average" in note and "trees" in note for note in account.notes)
    with pytest.raises(ConfigError, match="what auto chose cannot be decomposed: trees have neither"):
        explain_average([trees], graph, "person 57")
