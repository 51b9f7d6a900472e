"""Who is behind a prediction, by links too: against what the model itself says when a node's vector is taken away."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gpcn import Graph, TrainConfig, synthesize
from gpcn.explanation import Explanation, explain, explain_average
from gpcn.explanation.account import Neighbour
from gpcn.explanation.explained_model import ExplainedModel
from gpcn.explanation.sentences import explanation_sentences
from gpcn.runs.run import Run
from gpcn.runs.training import train

LINK_MODELS = ("gpcn-link", "agpcn-link", "multi-gpcn-link")
NODE = 7


@pytest.fixture(scope="module")
def graph() -> Graph:
    """As small and as directed as texas, with more links."""
    nameless = synthesize(
        nodes=90, classes=3, degree=6, homophily=0.1, mixing="ring", features=12, directed=True, splits=1, seed=4
    )
    return replace(nameless, node_ids=[f"page {number}" for number in range(90)], label_names=("a", "b", "c"))


def trained(graph: Graph, folder: Path, model: str, **settings: Any) -> Run:
    given = {"hidden": 8, "layers": 2, "epochs": 40, **settings}
    train(graph, TrainConfig.of(model, **given), out=folder, jobs=1)
    return Run.open(folder)


def lead(explained: ExplainedModel, account: Explanation) -> float:
    names = list(explained.run.label_names())
    winner, runner_up = names.index(account.predicted), names.index(account.runner_up)
    logits = explained.logits()[NODE]
    return float(logits[winner] - logits[runner_up])


def assert_nodes_and_features_are_the_lead(account: Explanation) -> None:
    others = sum(neighbour.margin for neighbour in account.neighbours)
    itself = sum(node.margin for source in account.sources for node in source.top if node.itself)
    alone = sum(part.margin for part in account.parts if part.part in ("features", "bias"))
    assert others + itself + alone == pytest.approx(account.sum.margin, abs=1e-6)


@pytest.mark.parametrize("bias", [False, True], ids=["without-bias", "with-bias"])
@pytest.mark.parametrize("model", LINK_MODELS)
def test_a_link_counts_what_taking_it_away_changes(graph: Graph, tmp_path: Path, model: str, bias: bool) -> None:
    run = trained(graph, tmp_path / "run", model, bias=bias)
    account = explain(run, graph, f"page {NODE}", top=1000)
    explained = ExplainedModel.of(run, graph, 0)
    full, weights = lead(explained, account), explained.model.link
    assert isinstance(weights, torch.Tensor)
    linked = [neighbour for neighbour in account.neighbours if neighbour.links]
    assert len(linked) >= 3
    for neighbour in linked:
        row = graph.node_ids.index(neighbour.node)
        with torch.no_grad():
            kept = weights[row].clone()
            weights[row] = 0
            changed = full - lead(explained, account)  # the logits are linear in a node's vector, so this is exact
            weights[row] = kept
        assert neighbour.links == pytest.approx(changed, abs=1e-9)
    silent = {neighbour.node for neighbour in account.neighbours} - {neighbour.node for neighbour in linked}
    assert silent, "two steps away nodes give something through hops alone"


@pytest.mark.parametrize("model", LINK_MODELS)
def test_links_are_gradient_times_vector_as_autograd_has_it(graph: Graph, tmp_path: Path, model: str) -> None:
    run = trained(graph, tmp_path / "run", model)
    account = explain(run, graph, f"page {NODE}", top=1000)
    explained = ExplainedModel.of(run, graph, 0)
    weights, problem = explained.model.link, explained.fitted.problem
    names = list(run.label_names())
    logits = explained.model(problem.x, problem.adjacency)[NODE]
    difference = logits[names.index(account.predicted)] - logits[names.index(account.runner_up)]
    (gradient,) = torch.autograd.grad(difference, weights)
    expected = (gradient * weights).detach().reshape(90, -1).sum(1).numpy()
    links = np.zeros(90)
    for neighbour in account.neighbours:
        links[graph.node_ids.index(neighbour.node)] = neighbour.links
    expected[NODE] = 0  # the node itself is not its neighbour; Ā has a loop
    np.testing.assert_allclose(links, expected, atol=1e-9)


@pytest.mark.parametrize("model", LINK_MODELS)
def test_neighbours_itself_features_and_bias_are_the_lead(graph: Graph, tmp_path: Path, model: str) -> None:
    run = trained(graph, tmp_path / "run", model, bias=True)
    account = explain(run, graph, f"page {NODE}", top=1000)
    assert_nodes_and_features_are_the_lead(account)
    assert all(neighbour.hops + neighbour.links == pytest.approx(neighbour.margin) for neighbour in account.neighbours)


def test_above_all_are_those_who_give_most_over_all_parts(graph: Graph, tmp_path: Path) -> None:
    run = trained(graph, tmp_path / "run", "multi-gpcn-link")
    full = explain(run, graph, f"page {NODE}", top=1000)
    first, second = sorted(full.neighbours, key=lambda neighbour: -neighbour.margin)[:2]
    short = explain(run, graph, f"page {NODE}", top=1)
    assert len(short.neighbours) == 1
    for account in (full, short):  # also where only one is listed
        (said,) = [text for text in account.sentences if text.startswith("Above all ")]
        assert said.startswith(f"Above all {first.node} ({first.margin:+.2f}")
        assert f" and {second.node} ({second.margin:+.2f}" in said


def test_a_link_that_speaks_for_itself_is_said_to(graph: Graph, tmp_path: Path) -> None:
    run = trained(graph, tmp_path / "run", "gpcn-link")
    neighbours = (Neighbour("B", None, None, 0.8, 0.1, 0.7), Neighbour("C", None, None, 0.2, 0.3, -0.1))
    account = replace(explain(run, graph, f"page {NODE}"), neighbours=neighbours)
    assert "Above all B (+0.80, by the link itself) and C (+0.20)." in explanation_sentences(account)


def test_an_average_has_the_mean_of_its_members(graph: Graph, tmp_path: Path) -> None:
    runs = [trained(graph, tmp_path / "runs" / model, model) for model in ("gpcn-link", "multi-gpcn")]
    both = explain_average(runs, graph, f"page {NODE}", top=1000)
    assert_nodes_and_features_are_the_lead(both)
