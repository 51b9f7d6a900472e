"""The table beyond the paper: which cells are trained, which rows are borrowed, how it is shown."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace

import pytest

from gpcn.nn.zoo import FAMILY
from gpcn.paper import rows
from gpcn.paper.evaluations import Question
from gpcn.paper.measurements import operators, reproduction
from gpcn.paper.measurements.reproduction import Measured
from gpcn.paper.reference import recipes


def row(dataset: str, method: str, mean: float, **fields: object) -> rows.Row:
    usual = {"recipe": "ours", "std": 1.0, "chosen": "yes", "splits": 10, "seeds": 0, "commit": "c", "settings": "{}"}
    return {"dataset": dataset, "method": method, "mean": mean, **usual, **fields}


def test_what_the_paper_has_is_not_trained_again() -> None:
    trained = {(cell.dataset, cell.method) for cell in operators.trained_cells(operators.DATASETS, operators.METHODS)}
    assert {method for dataset, method in trained if dataset == "chameleon"} == {
        "multi-gpcn",
        "multi-gpcn-link",
        "deep-gpcn",
        "trees",
        "deep-gcn",
        "deep-sage",
    }
    assert ("minesweeper", "link") in trained
    assert operators.trained_cells(["chameleon"], ["link"]) == []


def test_deep_models_have_three_splits_where_their_epochs_take_long() -> None:
    cells = operators.trained_cells(["tolokers", "texas"], ["deep-gpcn", "trees"])
    assert {(cell.dataset, cell.method): cell.most_splits for cell in cells} == {
        ("tolokers", "deep-gpcn"): 3,
        ("tolokers", "trees"): None,
        ("texas", "deep-gpcn"): None,
        ("texas", "trees"): None,
    }


def test_a_cell_is_trained_on_no_more_splits_than_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    splits: list[int] = []

    class Answers:
        def answer(self, questions: Iterable[Question], progress: object = None) -> list[dict[str, object]]:
            numbers = [question.split for question in questions]
            splits.extend(numbers)
            return [{"test": 1.0, "val": 1.0, "seconds": 1.0, "commit": "c", "epochs": 1} for _ in numbers]

    monkeypatch.setattr(reproduction, "why_dataset_missing", lambda dataset: "")
    monkeypatch.setattr(reproduction, "load_once", lambda dataset: SimpleNamespace(splits=range(10)))
    cell = operators.trained_cells(["tolokers"], ["deep-gpcn"])[0]
    measured = reproduction.measure([cell], Answers())  # type: ignore[arg-type]
    assert splits == [0, 1, 2] * 2
    assert [line["split"] for line in measured.splits] == [0, 1, 2]
    assert measured.table[0]["splits"] == 3


def test_rows_of_the_reproduction_stand_beside_the_new_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scores = {"gpcn": 70.0, "agpcn": 72.0, "link": 75.0, "multi-gpcn": 71.0, "multi-gpcn-link": 76.0}
    monkeypatch.setattr(operators, "recipe_validation_score", lambda given: scores[given["method"]])
    measured = [row("chameleon", name, scores[name] + 1) for name in ("gpcn", "agpcn", "link")]
    rows.write(tmp_path / "reproduction.csv", rows.REPRODUCTION, measured, ("dataset", "method", "recipe"))
    new = [row("chameleon", name, scores[name] + 1) for name in ("multi-gpcn", "multi-gpcn-link")]
    operators.save(Measured(new, []), tmp_path)
    table = rows.read(tmp_path / operators.TABLE, rows.REPRODUCTION)
    assert {line["method"] for line in table} == {"agpcn", "link", "multi-gpcn", "multi-gpcn-link"}
    text = operators.section(table)
    assert "73.00 ± 1.00<br>agpcn" in text
    assert "**77.00 ± 1.00**" in text
    assert text.count("**") == 2
    assert "minesweeper |" not in text


def test_every_new_model_has_a_recipe_or_its_defaults() -> None:
    for method in operators.METHODS:
        if method not in FAMILY:
            assert recipes.recipe(method, "reed98") is not None
