"""Search on validation nodes alone: its budget, its choice, and that test labels cannot reach it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpcn import Graph
from gpcn.core.errors import CheckpointError
from gpcn.nn.zoo import FAMILY
from gpcn.paper.evaluations import Evaluations, Question
from gpcn.paper.measurements import operators
from gpcn.paper.reference.published import BASELINES
from gpcn.paper.searches import recipe_search
from gpcn.paper.searches.baseline_search import AUTHORS, baseline_search_plan, search_baseline
from gpcn.paper.searches.family_search import FamilySearch
from gpcn.paper.searches.plans import family_search_plan
from gpcn.paper.searches.scoring import Scorer
from gpcn.training.config import TrainConfig
from gpcn.training.probe import cross_fitted, probe

GRAPH_OPTIONS = {"nodes": 300, "classes": 3, "degree": 5, "splits": 2, "seed": 4}


def test_each_half_is_scored_where_the_other_chooses() -> None:
    rows = np.array(
        [  # loss and score of the first half, then of the second
            [0.9, 0.5, 0.1, 0.6],
            [0.2, 0.7, 0.5, 0.3],
            [0.4, 0.9, 0.8, 0.8],
        ]
    )
    scores = cross_fitted(rows)
    assert scores["loss"] == pytest.approx(50 * (0.3 + 0.5))
    assert scores["metric"] == pytest.approx(50 * (0.8 + 0.9))


CONFIG = TrainConfig.of("gpcn", hidden=16, epochs=40, patience=10)


def test_a_probe_never_sees_test_labels(graph: Graph) -> None:
    from dataclasses import replace

    labels = graph.labels.copy()
    labels[graph.splits[0].test] = (labels[graph.splits[0].test] + 1) % 3
    assert probe(graph, CONFIG, 0) == probe(replace(graph, labels=labels), CONFIG, 0)


def test_a_probe_sees_validation_labels_and_stops_by_patience(graph: Graph) -> None:
    from dataclasses import replace

    labels = graph.labels.copy()
    labels[graph.splits[0].val] = (labels[graph.splits[0].val] + 1) % 3
    first, second = probe(graph, CONFIG, 0), probe(replace(graph, labels=labels), CONFIG, 0)
    assert first["loss"] > second["loss"] + 20
    assert second["epochs"] < 40


class Pretended(Evaluations):
    """Answers by a formula, and remembers what was asked."""

    def __init__(self) -> None:
        super().__init__(Path("nowhere"), 1)
        self.questions: list[Question] = []

    def answer(self, questions: Iterable[Question], progress: Any = None) -> list[dict[str, Any]]:
        answers = []
        for question in questions:
            self.questions.append(question)
            score = 100 * question.config["dropout"] - 1000 * question.config["weight_decay"]
            answers.append({"loss": score, "metric": score + (1 if question.config["normalize_features"] else -1)})
        return answers


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch, graph: Graph) -> Pretended:
    monkeypatch.setattr(recipe_search, "load_once", lambda name: graph)
    return Pretended()


@pytest.mark.parametrize("model", BASELINES)
def test_every_baseline_has_the_same_budget(model: str, pretended: Pretended) -> None:
    (recipe,) = recipe_search.find_recipes(model, "texas", pretended)
    plan = baseline_search_plan(model, "texas", 300)
    started = 3 + plan.draws + plan.mutations
    assert f"best of {started} configurations" in recipe.how
    short, long = plan.epochs, 2 * plan.epochs
    splits = {
        epochs: {q.split for q in pretended.questions if q.config["epochs"] == epochs} for epochs in (short, long)
    }
    existing = set(range(len(recipe_search.load_once("texas").splits)))  # what the graph does not have cannot decide
    assert splits == {short: set(plan.first), long: set(plan.decisive) & existing}
    assert {question.kind for question in pretended.questions} == {"probe"}
    configs = {q.config.canonical() for q in pretended.questions if q.config["epochs"] == short}
    assert 0.75 * started <= len(configs) <= started  # a draw may be what was drawn before
    best = max(100 * q.config["dropout"] - 1000 * q.config["weight_decay"] for q in pretended.questions)
    assert recipe.validation == pytest.approx(best, abs=1.1)


def test_every_baseline_starts_where_its_authors_do(pretended: Pretended) -> None:
    assert set(AUTHORS) == {*BASELINES, *operators.METHODS}
    recipe_search.find_recipes("gprgnn", "texas", pretended)
    assert {q.config["theta_decay"] for q in pretended.questions} == {0.0}  # as GPR-GNN is trained
    assert {q.config["alpha"] for q in pretended.questions[:6]} == {0.1, 0.9}


@pytest.mark.parametrize(("nodes", "widths"), [(300, {64, 256}), (30_000, {64})])
def test_large_graphs_get_fewer_and_narrower_configurations(nodes: int, widths: set[int]) -> None:
    plan = baseline_search_plan("mlp", "texas", nodes)
    pretended = Pretended()
    search_baseline("mlp", Scorer("texas", plan, pretended))
    assert {q.config["hidden"] for q in pretended.questions} == widths


@pytest.mark.parametrize("model", FAMILY)
def test_the_family_gets_a_recipe_of_ours_and_what_the_paper_leaves_open(model: str, pretended: Pretended) -> None:
    ours, paper = recipe_search.find_recipes(model, "texas", pretended)
    assert (ours.origin, paper.origin) == ("ours", "paper")
    start = {"gamma": 1.0} if model.startswith("a") else {}
    assert paper.settings == {"normalize_features": True, **start, "select": "metric"}
    assert ours.validation is not None
    assert ours.config().model == model
    assert {question.kind for question in pretended.questions} == {"probe"}
    assert ours.settings.get("link_decay") is None or "link" in model


def test_models_of_the_family_try_what_the_others_found(pretended: Pretended) -> None:
    scorer = Scorer("texas", family_search_plan(300), pretended)
    searching = FamilySearch(scorer, directed=True)
    best = searching.first_round("gpcn").best.settings
    pretended.questions.clear()
    searching.second_round("agpcn-link")
    same = [
        q.config for q in pretended.questions if q.config.model == "agpcn-link" and q.config["adaptive"] == "relative"
    ]
    assert any(all(config[name] == value for name, value in best.items()) for config in same)


def test_directions_are_tried_at_the_papers_settings_only_where_there_are_any(pretended: Pretended) -> None:
    for directed in (False, True):
        pretended.questions.clear()
        FamilySearch(Scorer("texas", family_search_plan(300), pretended), directed=directed).open_settings("gpcn")
        assert any(q.config["direction"] == "both" for q in pretended.questions) == directed


def test_a_dataset_that_is_not_here_is_a_row_that_says_so(
    pretended: Pretended, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recipe_search, "is_available", lambda entry: False)
    (row,) = recipe_search.find_all_recipes(["texas"], ["gpcn"], tmp_path / "recipes.json", evaluations=pretended)
    assert "not available" in row["how"]
    assert not (tmp_path / "recipes.json").exists()


@pytest.mark.parametrize("text", ["{", "[1]", '{"a": 1}', "[{}]"])
def test_a_damaged_list_of_recipes_is_refused_in_a_sentence(text: str, pretended: Pretended, tmp_path: Path) -> None:
    (tmp_path / "recipes.json").write_text(text)
    with pytest.raises(CheckpointError, match="is not a list of recipes"):
        recipe_search.find_all_recipes(["texas"], ["gcn"], tmp_path / "recipes.json", evaluations=pretended)


def test_the_same_search_asks_the_same_questions(pretended: Pretended) -> None:
    first = recipe_search.find_recipes("agpcn", "texas", pretended)
    configs = [question.config.canonical() for question in pretended.questions]
    pretended.questions.clear()
    assert recipe_search.find_recipes("agpcn", "texas", pretended) == first
    assert [question.config.canonical() for question in pretended.questions] == configs


def test_a_configuration_that_fails_on_a_split_is_never_chosen(pretended: Pretended) -> None:
    def answer(questions: Iterable[Question], progress: Any = None) -> list[dict[str, Any]]:
        return [
            {"failed": "the loss became nan"}
            if q.config["dropout"] != 0.3 or q.config["lr"] != 0.01
            else {"loss": 50.0, "metric": 40.0}
            for q in questions
        ]

    pretended.answer = answer  # type: ignore[method-assign]
    (recipe,) = recipe_search.find_recipes("gcn", "texas", pretended)
    assert recipe.validation == 50.0
    assert recipe.settings["select"] == "loss"
