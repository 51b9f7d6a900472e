"""How `benchmarks/portfolio.py` puts a portfolio in order from evaluations, and leaves a graph out."""

from __future__ import annotations

import json
from typing import Any

import pytest
from benchmarks.portfolio import build

from gpcn.core.errors import ConfigError


def row(dataset: str, title: str, score: float | None, model: str = "gpcn", seconds: float = 1.0) -> dict[str, Any]:
    about = {"dataset": dataset, "title": title, "model": model, "settings": json.dumps({}), "directed": "0"}
    return {**about, "metric": "accuracy", "score": "" if score is None else str(score), "seconds": str(seconds)}


TABLE = [
    row("film", "majority", 20, "label-propagation"),
    row("film", "good on film", 90),
    row("film", "good on chameleon", 30),
    row("film", "everywhere second", 80),
    row("film", "mlp", 25, "mlp"),
    row("chameleon", "majority", 20, "label-propagation"),
    row("chameleon", "good on film", 30),
    row("chameleon", "good on chameleon", 90),
    row("chameleon", "everywhere second", 80),
    row("chameleon", "mlp", 25, "mlp"),
    row("chameleon-filtered", "good on chameleon", 90),
    row("chameleon-filtered", "everywhere second", 20),
]


def titles(*about: Any, **options: Any) -> list[str]:
    return [entry.title for entry in build(*about, **options)]


def test_the_majority_first_then_who_brings_most_over_all_graphs() -> None:
    assert titles(TABLE)[:3] == ["majority", "good on chameleon", "good on film"]


def test_who_takes_long_has_to_be_better() -> None:
    slow = [entry | {"seconds": "60"} if entry["title"] == "good on chameleon" else entry for entry in TABLE]
    assert titles(slow)[1] == "everywhere second"


def test_a_graph_is_left_out_with_its_kin() -> None:
    assert titles(TABLE, "chameleon")[1] == "good on film"
    assert titles(TABLE, "chameleon-filtered") == titles(TABLE, "chameleon")


def test_models_that_bring_nothing_are_there_before_more_of_the_same() -> None:
    same = [row(dataset, f"more {number}", 60) for dataset in ("film", "chameleon") for number in range(9)]
    ordered = titles([*TABLE, *same], size=5)
    assert "mlp" in ordered and len(ordered) == 5


def test_without_evaluations_it_says_what_to_run() -> None:
    with pytest.raises(ConfigError, match=r"portfolio\.py evaluate"):
        build([row("film", "failed", None)])
