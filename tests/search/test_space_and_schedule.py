"""What is proposed and who goes on: functions of what is recorded."""

from __future__ import annotations

import random
from typing import Any

import pytest

from gpcn.core.errors import ConfigError
from gpcn.records.reading import decode, encode
from gpcn.search.budget import read_budget, read_seconds
from gpcn.search.proposal import propose_point
from gpcn.search.schedule import Plan, Trial, next_step
from gpcn.search.space import Space, models_of


def test_the_papers_grid_is_the_papers() -> None:
    assert Space.of(["gpcn"], "paper").size() == 7680
    assert Space.of(["gpcn"], "paper").choices["gpcn"]["gamma"][0] == 256


def test_a_setting_that_models_share_is_one_dimension_where_their_choices_agree() -> None:
    dimensions = Space.of(["gcn", "gpcn"]).dimensions()
    assert dimensions["model"] == ("gcn", "gpcn")
    assert "lr" in dimensions
    assert {"gcn:layers", "gpcn:layers"} <= set(dimensions)
    assert "mu" not in dimensions


POINTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("gpcn", {"lr": 0.01, "weight_decay": 1e-3, "dropout": 0.7, "layers": 2, "gamma": 1.0}),
    ("gpcn-link", {"lr": 0.05, "hidden": 256, "layers": 1, "gamma": 2.0**-4, "mu": 0.1, "normalize_features": True}),
    ("agpcn", {"layers": 4, "mlp_layers": 2, "gamma": 2.0**-6, "adaptive": "relative", "bias": True}),
    ("agpcn-link", {"lr": 0.05, "dropout": 0.5, "layers": 4}),
)


def test_a_point_is_a_configuration_and_back() -> None:
    space = Space.of(models_of("family"), fixed={"epochs": 50})
    for model, settings in POINTS:
        config = space.config(space.point(model, settings))
        assert config.model == model
        assert config["epochs"] == 50
        names = {name for name in settings if name in space.choices[model]}
        assert {name: config[name] for name in names} == {name: settings[name] for name in names}
    assert decode(encode(space), Space) == space


def test_values_and_names_are_checked() -> None:
    assert Space.of(["gpcn"], tried={"gamma": ["1", "256"]}).choices["gpcn"]["gamma"] == (1.0, 256.0)
    with pytest.raises(ConfigError, match="expected default or paper"):
        Space.of(["gpcn"], "wide")
    with pytest.raises(ConfigError, match="did you mean gamma"):
        Space.of(["gpcn"], tried={"gama": ["1"]})
    with pytest.raises(ConfigError, match="hidden is 'x'"):
        Space.of(["gpcn"], fixed={"hidden": "x"})
    with pytest.raises(ConfigError, match="no model called"):
        models_of("gpnc")


def test_links_are_read_against_their_direction_where_they_have_one() -> None:
    assert Space.of(["gpcn"]).choices["gpcn"]["direction"] == ("out", "both")
    assert Space.of(["gpcn"], directed=True).choices["gpcn"]["direction"] == ("out", "both", "in")
    assert "direction" not in Space.of(["gpcn"], "paper", directed=True).choices["gpcn"]


def test_a_budget_is_a_number_of_configurations_or_a_time() -> None:
    assert read_budget("200").configurations == 200
    assert read_budget("1.5m").seconds == 90
    assert read_seconds("300") == read_seconds("5m") == 300
    for text in ("", "0", "m", "1.5", "-3", "5 days"):
        with pytest.raises(ConfigError, match="budget is"):
            read_budget(text)


def trials(count: int) -> list[Trial]:
    space = Space.of(["gpcn"], fixed={"hidden": 8})
    return [Trial(n, 0, {}, space.config(propose_point(space, [], n, 0))) for n in range(count)]


def worth(trial: Trial, split: int) -> float:
    return 50 + trial.number + split / 10


def play(generation: list[Trial], plan: Plan, order: random.Random) -> list[str]:
    evaluations = []
    while True:
        step = next_step(generation, plan)
        if not step.tasks:
            for trial, state, _, value in step.ended:
                trial.state, trial.value = state, value
            return evaluations
        tasks = list(step.tasks)
        order.shuffle(tasks)
        for task in tasks[: order.randint(1, len(tasks))]:  # and the rest after a kill, say
            trial = generation[task.trial]
            assert task.key not in trial.outcomes
            score = worth(trial, task.split)
            trial.outcomes[task.key] = {"loss": score, "metric": score - 1, "epochs": task.config["epochs"]}
            evaluations.append(f"{task.trial} {task.key}")


@pytest.mark.parametrize("seed", range(5))
def test_the_same_evaluations_are_made_in_whatever_order_they_end(seed: int) -> None:
    plan = Plan.of(range(10), 300, size=9)
    first, second = trials(9), trials(9)
    evaluations = play(first, plan, random.Random(seed))
    assert sorted(evaluations) == sorted(play(second, plan, random.Random(seed + 100)))
    assert [trial.state for trial in first] == [trial.state for trial in second]
    assert [trial.state for trial in first].count("complete") == 1
    assert first[8].state == "complete"
    assert len(evaluations) == 9 + 3 * 2 + 10  # one split each, two more for three, all ten at full length for the best
    assert first[0].state == "pruned"


def test_an_evaluation_that_ended_by_itself_is_not_made_again_with_more_epochs() -> None:
    plan = Plan.of([0], 300, size=1)
    (trial,) = generation = trials(1)
    (task,) = next_step(generation, plan).tasks
    assert task.config["epochs"] == 100
    trial.outcomes[task.key] = {"loss": 60.0, "metric": 50.0, "epochs": 71}
    step = next_step(generation, plan)
    assert step.tasks == ()
    assert step.ended == ((trial, "complete", 1, 60.0),)


def test_what_diverges_is_marked_and_not_asked_again() -> None:
    plan = Plan.of(range(3), 30, size=2)
    generation = trials(2)
    for task in next_step(generation, plan).tasks:
        failed = task.trial == 1
        generation[task.trial].outcomes[task.key] = (
            {"failed": "the loss became nan"} if failed else {"loss": 1.0, "metric": 1.0, "epochs": 10}
        )
    step = next_step(generation, plan)
    assert {task.trial for task in step.tasks} == {0}
    assert step.ended[0][:2] == (generation[1], "diverged")


def test_proposals_depend_on_the_past_the_number_and_the_seed_alone() -> None:
    space = Space.of(models_of("family"))
    past = []
    for number in range(12):
        point = propose_point(space, [], number, 3)
        past.append(Trial(number, 0, point, space.config(point), state="complete", value=float(number)))
    assert propose_point(space, past, 12, 3) == propose_point(space, past, 12, 3)
    many = [propose_point(space, past, number, seed) for number in (12, 13) for seed in (3, 4)]
    assert len({str(point) for point in many}) == 4
