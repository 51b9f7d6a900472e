"""The paper's tables as data, and the recipes made from them."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import pytest

from gpcn.nn.zoo import FAMILY
from gpcn.paper.reference import published
from gpcn.paper.reference.published import BASELINES, DATASETS, METHODS
from gpcn.paper.reference.recipes import COLUMNS, printed_settings, recipe
from gpcn.training.config import declared_settings

SHARED = Path(__file__).resolve().parents[3] / "shared" / "paper"


def test_every_model_of_the_family_has_a_printed_recipe_for_every_dataset() -> None:
    for model in FAMILY:
        for dataset in DATASETS:
            chosen = recipe(model, dataset, "paper")
            assert chosen is not None
            config = chosen.config(seed=3)
            assert config.model == model
            assert config.seed == 3
            assert {config[name] for name in ("hidden",)} <= {64, 512}


@pytest.mark.skipif(not SHARED.is_dir(), reason="the paper's tables are not beside the project")
def test_the_packaged_tables_are_the_papers() -> None:
    for row in csv.DictReader((SHARED / "hyperparameters.csv").read_text().splitlines()):
        settings = printed_settings(row["model"].lower(), row["dataset"])
        assert settings is not None
        if (row["model"], row["dataset"]) == ("GPCN", "cornell"):
            continue
        for column, (name, kind) in COLUMNS.items():
            assert settings.get(name) == (kind(row[column]) if row[column] else None)
    for row in csv.DictReader((SHARED / "results.csv").read_text().splitlines()):
        printed_score = published.published_score(row["dataset"], row["method"].lower())
        assert (None if printed_score is None else printed_score.mean) == (float(row["mean"]) if row["mean"] else None)


def test_columns_are_read_as_the_design_says() -> None:
    texas = printed_settings("gpcn", "texas")
    assert texas is not None
    assert (texas["layers"], texas["mlp_layers"], texas["gamma"]) == (1, 3, 2.0**-6)  # the table's "T" is L


def test_cornell_takes_what_the_table_does_not_print_from_the_authors_script() -> None:
    cornell = printed_settings("gpcn", "cornell")
    assert cornell is not None
    assert (cornell["gamma"], cornell["layers"], cornell["mlp_layers"]) == (2.0**-6, 4, 2)


def test_the_papers_grid_has_7680_points_a_model() -> None:
    assert math.prod(len(setting.space) for setting in declared_settings("gpcn").values() if setting.space) == 7680


def test_the_best_published_row_is_of_any_method() -> None:
    best = published.best_published("film")
    assert best is not None
    assert best[0] == "mlp"
    assert best[1].mean == 37.38
    assert published.published_score("penn94", "h2gcn") is None  # ran out of memory
    assert published.best_published("nowhere") is None


def test_tables_name_what_they_hold() -> None:
    assert published.TABLES["table-1"].datasets == ("squirrel", "film")
    assert len(published.TABLES["table-2"].methods) == len(METHODS) == 14


@pytest.mark.parametrize("dataset", DATASETS)
def test_all_methods_have_a_recipe_that_builds(dataset: str) -> None:
    for model in METHODS:
        chosen = recipe(model, dataset, "ours")
        if chosen is not None:
            assert chosen.how
            assert chosen.config().model == model
        else:
            assert model in FAMILY
    assert all(recipe(model, dataset, "paper") is None for model in BASELINES)


AT_HAND = ("chameleon", "squirrel", "film", "cornell", "texas", "wisconsin", "cora", "citeseer", "twitch-de")


@pytest.mark.parametrize("dataset", AT_HAND)
def test_datasets_at_hand_have_recipes_of_ours_with_their_validation_score(dataset: str) -> None:
    for model in METHODS:
        chosen = recipe(model, dataset, "ours")
        assert chosen is not None
        assert chosen.validation is not None
        assert chosen.settings["select"] in ("loss", "metric")
        assert "crossed validation score" in chosen.how
    for model in FAMILY:
        paper = recipe(model, dataset, "paper")
        assert paper is not None
        assert paper.validation is not None
        assert {**paper.settings, **(printed_settings(model, dataset) or {})} == dict(
            paper.settings
        )  # printed ones are kept
