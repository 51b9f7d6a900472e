"""Tables of measured rows, the page and the figures made from them."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from gpcn.core.errors import ConfigError, DataError
from gpcn.paper import rows
from gpcn.paper.measurements import ablation
from gpcn.paper.measurements.reproduction import choose_names, recipe_cells
from gpcn.paper.results_page import figures, page

ANSWERS = [
    {"test": 80.0, "val": 82.0, "epochs": 100, "seconds": 1.0, "commit": "abc"},
    {"test": 84.0, "val": 80.0, "epochs": 200, "seconds": 2.0, "commit": "abc"},
]


def test_a_row_is_the_mean_and_deviation_of_its_splits() -> None:
    row = rows.summarize(ANSWERS)
    assert (row["mean"], row["std"], row["val_mean"], row["epochs"], row["seconds"]) == (82.0, 2.0, 81.0, 150.0, 3.0)
    assert row["status"] == ""


def test_a_failed_split_is_in_the_status() -> None:
    row = rows.summarize([*ANSWERS, {"failed": "the loss became nan", "seconds": 0.5, "commit": "def"}])
    assert row["status"] == "failed on 1 of 3 splits: the loss became nan"
    assert row["commit"] == "abc def"
    assert row["mean"] == 82.0


def test_rows_of_earlier_commands_stay(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    columns, key = ("name", "value"), ("name",)
    rows.write(path, columns, [{"name": "a", "value": 1}, {"name": "b", "value": None}], key)
    merged = rows.write(path, columns, [{"name": "b", "value": 2.5}, {"name": "c, d", "value": 3.0}], key)
    assert rows.read(path, columns) == merged
    assert [row["value"] for row in merged] == ["1", "2.5", "3"]


def test_a_foreign_table_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x,y\n1,2\n")
    with pytest.raises(DataError, match="expected name, value; move it away"):
        rows.write(path, ("name", "value"), [], ("name",))
    assert path.read_text() == "x,y\n1,2\n"


def test_names_are_checked() -> None:
    assert choose_names("cornell, texas", ("texas", "cornell", "film"), "dataset") == ("texas", "cornell")
    with pytest.raises(ConfigError, match="did you mean texas"):
        choose_names("texs", ("texas", "cornell"), "dataset")
    with pytest.raises(ConfigError, match="no dataset is named"):
        choose_names(",", ("texas",), "dataset")


def test_cells_are_what_has_a_recipe() -> None:
    listed = [
        (cell.method, cell.recipe.origin) for cell in recipe_cells(["penn94"], ["mlp", "gpcn"], ["paper", "ours"])
    ]
    assert listed == [("mlp", "ours"), ("gpcn", "paper")]


def table_row(**changes: object) -> dict[str, object]:
    row: dict[str, object] = {"dataset": "texas", "method": "gpcn", "recipe": "paper", "mean": 81.0, "std": 5.0}
    row |= {"paper_mean": 79.45, "paper_std": 6.3, "chosen": "yes", "splits": 10, "seeds": 0, "seconds": 7200.0}
    return row | {"commit": "abc", "settings": '{"lr": 0.01}', "status": ""} | changes


def test_the_page_shows_ours_beside_the_paper(tmp_path: Path) -> None:
    table = [table_row(), table_row(method="mlp", recipe="ours", mean=70.0, paper_mean=79.18)]
    table.append(table_row(dataset="penn94", mean=None, status="not available: no files"))
    table.append(table_row(recipe="ours", mean=90.0, chosen=""))
    rows.write(tmp_path / "reproduction.csv", rows.REPRODUCTION, table, ("dataset", "method", "recipe"))
    text = page.save_page(tmp_path).read_text()
    assert "| gpcn | **81.00 ± 5.00**<br>paper 79.45 ± 6.30 |" in text
    assert "| mlp | 70.00 ± 5.00<br>paper 79.18 ± 6.28 |" in text
    assert "not available" in text
    assert "at or above | ours: 90.00 ± 5.00 | `lr=0.01`" in text  # chosen on validation, not by the higher test mean
    assert "| texas | gpcn (paper) | 81.00 ± 5.00 | gprgnn 87.56 ± 1.41 | -6.56 | the same |" in text
    assert "40 trainings, 8.00 hours" in text
    assert "two cores need 4.0" in text


@pytest.mark.parametrize(
    ("mean", "expected"), [(80.0, "at or above"), (75.0, "within one std below"), (74.9, "**below**")]
)
def test_the_verdict_compares_a_mean_with_the_papers(mean: float, expected: str) -> None:
    assert page.verdict_against_paper(mean, 80.0, 5.0) == expected


def test_the_figure_has_a_line_per_method_and_is_the_same_each_time(tmp_path: Path) -> None:
    table = []
    for point in ablation.points(*ablation.STUDIES["figure-1"]):
        key = {"dataset": "chameleon", "method": point.method, "setting": point.setting, "value": point.value}
        table.append({**key, "mean": "60", "std": "1"})
    figures.draw_ablation("chameleon", table, tmp_path / "a.svg")
    figures.draw_ablation("chameleon", table, tmp_path / "b.svg")
    text = (tmp_path / "a.svg").read_text()
    assert text == (tmp_path / "b.svg").read_text()
    for colour in figures.COLOURS.values():
        assert text.count(f"stroke: {colour}") >= 2
    assert "test accuracy on chameleon" in text


def test_the_ablation_varies_one_setting_at_a_time() -> None:
    points = ablation.points(*ablation.STUDIES["figure-2"])
    assert len(points) == 4 * (5 + 5 + 4) + (5 + 4)  # GPRGNN has no γ
    for method in ablation.METHODS:
        for setting, values in ablation.SWEEPS.items():
            line = [point for point in points if (point.method, point.setting) == (method, setting)]
            assert [point.config[setting] for point in line] == list(values)[: len(line)]
            fixed = {settings_without(point.config, setting) for point in line}
            assert len(fixed) <= 1


def settings_without(config: object, setting: str) -> str:
    settings = config.to_json()  # type: ignore[attr-defined]
    settings["hyperparameters"] = {k: v for k, v in settings["hyperparameters"].items() if k != setting}
    return str(settings)


def test_on_messy_tables_the_family_is_above_the_majority_and_level_with_boosted_trees() -> None:
    root = Path(__file__).resolve().parents[2]
    table = list(csv.DictReader((root / "results" / "tables.csv").read_text().splitlines()))
    cells = {(row["preset"], row["seed"]) for row in table}
    assert {preset for preset, _ in cells} == {"fraud", "social", "pages"}
    for cell in cells:
        rows = {row["model"]: row for row in table if (row["preset"], row["seed"]) == cell}
        family = [rows[name] for name in ("gpcn", "gpcn-link", "agpcn", "agpcn-link")]
        assert all(row["above_majority"] and "+changes" not in row["commit"] for row in family)
        best = max(family, key=lambda row: float(row["mean"]))
        trees = rows["trees"]
        assert float(best["mean"]) >= float(trees["mean"]) - max(float(best["std"]), float(trees["std"]))
