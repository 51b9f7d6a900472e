"""Names that a spreadsheet would run, and names that a terminal would obey."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from gpcn import Graph, save, synthesize
from gpcn.runs.predictions.spreadsheets import is_formula, without_formulas
from tests.faults.commands import Answer, refused, run_command

EVIL = '=HYPERLINK("http://x","y")'


def test_cells_that_a_spreadsheet_would_run_are_formulas() -> None:
    for cell in (EVIL, "+1+1", "-2+3", "@SUM(A1)", " =1", "\t=1", "\tx", "＝1", "--1", "-x"):
        assert is_formula(cell), cell
    for cell in ("", "a", "a=1", "-3", "+4.5", "-1e-5", "-.5", "'=1", "x@y"):
        assert not is_formula(cell), cell
    assert without_formulas(["a", "=1"]) == ["a", "'=1"]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A graph whose every name is an attack, and a run on it."""
    folder = tmp_path_factory.mktemp("hostile")
    graph: Graph = synthesize(nodes=60, degree=4, classes=2, features=2, splits=1)
    ids = [EVIL, "\x1b[31mred\x1b[0m", "\u202etxt", "[bold]x[/bold]", "\x07", "a\nb", *map(str, range(54))]
    named = replace(
        graph,
        node_ids=ids,
        label_names=["@no\x1b[2J", "[red]yes"],
        feature_names=["\x1b]0;owned\x07", "x\u202e"],
        name="\x1b[5mblink",
        notes=("\x1b[1mnote",),
    )
    save(named, folder / "g.npz")
    assert run_command("train", folder / "g.npz", "--set", "epochs=3", "--out", folder / "run").code == 0
    return folder / "g.npz", folder / "run"


def test_formulas_are_noted_and_made_harmless_on_request(hostile: tuple[Path, Path], tmp_path: Path) -> None:
    _, run = hostile
    plain = run_command("predict", run, "--out", tmp_path / "p.csv")
    assert "begin like a formula" in " ".join(plain.stdout.split())
    with (tmp_path / "p.csv").open(newline="") as stream:
        assert next(csv.DictReader(stream))["node"] == EVIL
    safe = run_command("predict", run, "--out", tmp_path / "s.csv", "--safe-csv")
    assert safe.code == 0
    assert "begin like" not in safe.stdout
    with (tmp_path / "s.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert rows[0]["node"] == "'" + EVIL
    assert not any(is_formula(row["node"]) or is_formula(row["predicted"]) for row in rows)
    assert "--safe-csv is about .csv files" in refused(
        "predict", run, "--out", tmp_path / "p.npz", "--safe-csv", "--json"
    )


def test_no_name_reaches_the_terminal_as_a_command(hostile: tuple[Path, Path], tmp_path: Path) -> None:
    graph, run = hostile
    answers: list[Answer] = [
        run_command("inspect", graph),
        run_command("convert", graph, "--out", tmp_path / "c.npz"),
        run_command("predict", run, "--out", tmp_path / "p.csv"),
        run_command("explain", run, "--node", "\x1b[31mred\x1b[0m"),
        run_command("explain", run, "--node", "\x1b[31mnobody"),
        run_command("compare", graph, "--models", "gpcn,logistic", "--set", "epochs=2"),
        run_command("inspect", tmp_path / "\x1b[31m.csv"),
        run_command("train", graph, "--set", "\x1b[31m=1"),
        run_command("train", graph, "--\x1b[31m"),
    ]
    for answer in answers:
        for letter in ("\x1b", "\x07", "\u202e", "\x9b"):
            assert letter not in answer.stdout + answer.stderr
