"""What carries a class: the mean over its nodes of what carries them."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
import torch
from rich.console import Console

from gpcn import ConfigError, Graph, TrainConfig
from gpcn.cli.explain import print_class_explanation
from gpcn.explanation import explain_class
from gpcn.explanation.account import Member
from gpcn.explanation.explained_model import ExplainedModel
from gpcn.runs.predictions.prediction import predict, vote
from gpcn.runs.run import Run
from gpcn.runs.training import train
from tests.explanation.short_training import trained


def mean_lead(run: Run, graph: Graph, nodes: np.ndarray, label: int) -> float:
    logits = ExplainedModel.of(run, graph, 0).logits()[torch.tensor(nodes)]
    others = [number for number in range(logits.shape[1]) if number != label]
    return float((logits[:, label] - logits[:, others].mean(1)).mean())


def test_parts_features_and_origins_are_the_mean_lead(run: Run, graph: Graph) -> None:
    chosen = predict(run, graph, splits=[0]).predicted
    account = explain_class([run], graph, "b", top=10_000)
    nodes = np.flatnonzero(np.array(chosen) == "b")
    assert (account.nodes, account.chosen_by, account.method) == (len(nodes), "predicted", "exact")
    assert account.lead == pytest.approx(mean_lead(run, graph, nodes, 1), abs=1e-9)
    assert sum(part.margin for part in account.parts) == pytest.approx(account.lead)
    assert sum(account.origins.values()) == pytest.approx(account.lead, abs=1e-9)
    assert sum(feature.margin for feature in account.features) == pytest.approx(account.origins["features"])
    labels = graph.labels[nodes][graph.labels[nodes] >= 0]
    assert account.right == pytest.approx((labels == 1).mean())
    assert {node.node for node in account.typical} == {f"person {node}" for node in nodes}
    distances = [abs(node.lead - account.lead) for node in account.typical]
    assert distances[0] < max(distances)
    assert account.sentences[0].startswith(f"{len(nodes)} node(s) are predicted b, ")


def test_a_class_that_nobody_is_predicted_is_explained_by_its_label(graph: Graph, tmp_path: Path) -> None:
    run = trained(graph, tmp_path / "run", "gpcn", hidden=4, lr=1e-9)
    chosen = predict(run, graph, splits=[0]).predicted
    absent = next((name for name in "abc" if name not in chosen), None)
    if absent is None:
        pytest.skip("every class is predicted")
    account = explain_class([run], graph, absent)
    assert account.chosen_by == "labelled"
    assert account.nodes == int((graph.labels == "abc".index(absent)).sum())
    assert "none is predicted so" in account.sentences[0]


def test_a_class_is_explained_by_gradients_and_for_an_average(graph: Graph, tmp_path: Path, run: Run) -> None:
    gcn = trained(graph, tmp_path / "gcn", "gcn", hidden=8)
    name = predict(gcn, graph, splits=[0]).predicted[0]
    account = explain_class([gcn], graph, name)
    assert account.method == "integrated gradients"
    assert [part.part for part in account.parts] == ["features", "links and biases", "residual"]
    assert sum(account.origins.values()) == pytest.approx(account.lead)
    assert account.features[0].directly is None
    both = explain_class([run, run, gcn], graph, name, split=0)
    assert both.method == "exact"
    assert both.nodes == sum(chosen == name for chosen in vote([run, run, gcn], graph, splits=[0]).predicted)
    assert both.model == "auto"


def test_unknown_classes_are_one_sentence(run: Run, graph: Graph, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="has no class 'yes'; "):
        explain_class([run], graph, "yes")
    train(graph, TrainConfig.of("trees", epochs=3), out=tmp_path / "trees", splits=[0], jobs=1)
    with pytest.raises(ConfigError, match="boosted trees"):
        explain_class([Run.open(tmp_path / "trees")], graph, "a")


def test_an_average_names_its_members(graph: Graph, tmp_path: Path, run: Run) -> None:
    tree = trained(graph, tmp_path / "trees", "trees")
    name = vote([run, run, tree], graph, splits=[0]).predicted[0]
    account = explain_class([run, run, tree], graph, name, split=0)
    assert list(account.members) == [
        Member("agpcn-link", "agpcn-link", pytest.approx(2 / 3), decomposed=True),
        Member("trees", "trees", pytest.approx(1 / 3), decomposed=False),
    ]
    assert "33% of the average comes from members that cannot be decomposed: trees (trees)" in account.notes
    shown = io.StringIO()
    print_class_explanation(account, Console(file=shown, width=200))
    assert "members: 67% agpcn-link (agpcn-link), 33% trees (trees)" in shown.getvalue()
    alone = explain_class([run], graph, name, split=0)
    assert [member.share for member in alone.members] == [1]
    print_class_explanation(alone, Console(file=(single := io.StringIO()), width=200))
    assert "members" not in single.getvalue()
