"""`benchmarks/golden.py`: what two recordings differ in, and that recording again makes nothing again."""

from __future__ import annotations

import importlib
import json
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks import golden
from benchmarks.golden_compare import Allowed, differences, read_exceptions, report

PROBABILITIES = np.array([[0.25, 0.75], [0.5, np.nan]], dtype=np.float32)
SCORES = {"test": 81.25, "model": "gpcn", "mix": None, "confusion": [[3, 1], [0, 4]], "splits": [{"seed": 0}, {}]}
HISTORY = "epoch,loss,best\n0,1.5,\n1,1.25,yes\n"


def cell(
    folder: Path, probabilities: Any = PROBABILITIES, scores: Any = SCORES, history: str = HISTORY, name: str = "gpcn"
) -> Path:
    """A folder of golden results with one cell."""
    where = folder / "train" / name
    where.mkdir(parents=True)
    np.savez(where / "predictions.npz", probabilities=probabilities)
    (where / "train.json").write_text(json.dumps(scores))
    (where / "epochs.csv").write_text(history)
    return folder


@pytest.fixture
def before(tmp_path: Path) -> Path:
    return cell(tmp_path / "before")


def test_the_same_values_are_no_difference(before: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    after = cell(tmp_path / "after")
    (after / ".about.json").write_text("{}")
    assert report(before, after, ()) == 0
    assert capsys.readouterr().out == "the same\n"


def test_one_bit_is_a_difference_with_its_place_and_size(before: Path, tmp_path: Path) -> None:
    moved = PROBABILITIES.copy()
    moved[1, 0] = np.nextafter(moved[1, 0], np.float32(1))
    (found,) = differences(before, cell(tmp_path / "after", probabilities=moved))
    assert found.place == "train/gpcn/predictions.npz:probabilities"
    assert found.size == float(moved[1, 0]) - 0.5
    assert "1 of 4 differ" in found.found and "at [1, 0]" in found.found


@pytest.mark.parametrize(
    ("changed", "place", "size"),
    [
        ({"probabilities": PROBABILITIES.astype(np.float64)}, "predictions.npz:probabilities", 0.0),
        ({"probabilities": np.nan_to_num(PROBABILITIES)}, "predictions.npz:probabilities", math.inf),
        ({"probabilities": PROBABILITIES[:1]}, "predictions.npz:probabilities", math.inf),
        ({"scores": {**SCORES, "test": 81.5}}, "train.json:test", 0.25),
        ({"scores": {**SCORES, "model": "gcn"}}, "train.json:model", math.inf),
        ({"scores": {**SCORES, "mix": 0.5}}, "train.json:mix", math.inf),
        ({"scores": {**SCORES, "confusion": [[3, 1], [2, 2]]}}, "train.json:confusion", 2.0),
        ({"scores": {**SCORES, "splits": [{"seed": 1}, {}]}}, "train.json:splits[0].seed", 1.0),
        ({"scores": {**SCORES, "more": 1}}, "train.json:more", math.inf),
        ({"history": HISTORY.replace("1.25", "1.5")}, "epochs.csv:loss", 0.25),
        ({"history": HISTORY.replace("yes", "no")}, "epochs.csv:best", math.inf),
        ({"history": HISTORY.replace("\n0,", "\n00,")}, "epochs.csv:epoch", math.inf),
    ],
)
def test_every_kind_of_value_is_compared(
    changed: dict[str, Any], place: str, size: float, before: Path, tmp_path: Path
) -> None:
    (found,) = differences(before, cell(tmp_path / "after", **changed))
    assert (found.place, found.size) == (f"train/gpcn/{place}", size)


def test_a_cell_that_one_side_lacks_is_a_difference(before: Path, tmp_path: Path) -> None:
    after = cell(cell(tmp_path / "after"), name="gcn")
    found = differences(before, after)
    assert {difference.place for difference in found} == {
        f"train/gcn/{file}" for file in ("epochs.csv", "predictions.npz", "train.json")
    }
    assert all(f"only in {after}" in difference.found and math.isinf(difference.size) for difference in found)


def test_exceptions_allow_what_they_name_up_to_their_tolerance(
    before: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    after = cell(tmp_path / "after", scores={**SCORES, "test": 81.25 + 1e-12, "model": "gcn"})
    toml = tmp_path / "exceptions.toml"
    toml.write_text(
        '[[allowed]]\npattern = "train/*:test"\nreason = "sums were reordered"\n'
        '[[allowed]]\npattern = "train/*:model"\nreason = "a text is no matter of tolerance"\n'
        '[[allowed]]\npattern = "tune/*"\nreason = "nothing is so"\ntolerance = inf\n'
    )
    exceptions = read_exceptions(toml)
    assert [exception.tolerance for exception in exceptions] == [1e-10, 1e-10, math.inf]
    assert report(before, after, exceptions) == 1
    printed = capsys.readouterr().out
    assert "train/gpcn/train.json:model: 'gpcn', now 'gcn'" in printed
    assert "allowed, 1 of train/*:test: sums were reordered\n" in printed
    assert "allowed, 0 of tune/*: nothing is so (remove it)" in printed
    assert report(before, after, (*exceptions, Allowed("*:model", "it is called so now", math.inf))) == 0


@pytest.mark.parametrize("text", ["[[allowed", "allowed = 1", '[[allowed]]\npattern = "x"', ""])
def test_what_is_no_list_of_exceptions_is_one_sentence(text: str, tmp_path: Path) -> None:
    (tmp_path / "exceptions.toml").write_text(text)
    with pytest.raises(SystemExit, match="is no list of exceptions"):
        read_exceptions(tmp_path / "exceptions.toml")


def test_a_folder_that_is_not_there_is_one_sentence(before: Path, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="is no folder of golden results"):
        differences(before, tmp_path / "after")


def test_recording_goes_on_after_a_kill_and_gives_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    src, first, second = golden.HERE.parent / "src", tmp_path / "first", tmp_path / "second"
    assert golden.record(src, first, "inputs/*") == 0
    shutil.copytree(first, second)
    shutil.rmtree(second / "inputs" / "tiny")
    (second / ".work" / "kept").mkdir(parents=True)
    capsys.readouterr()
    assert golden.record(src, second, "inputs/*") == 0
    made, total = capsys.readouterr().out.splitlines()
    assert "inputs/tiny" in made
    assert total == f"3 of 3 cells are in {second}"
    assert differences(first, second) == []
    (first / golden.ABOUT).write_text(json.dumps({"digest": "of other sources"}))
    with pytest.raises(SystemExit, match="holds results of other sources"):
        golden.record(src, first, "inputs/*")


def test_a_command_that_fails_is_said_and_the_other_cells_are_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = golden.Cell("inspect/nothing", (golden.gpcn("inspect", "no-such-graph"),))
    described = golden.Cell("models", (golden.gpcn("models", "gpcn"),))
    monkeypatch.setattr(golden, "cells", lambda models: iter((refused, described)))
    assert golden.record(golden.HERE.parent / "src", tmp_path / "out", "*") == 1
    assert "inspect/nothing: -m gpcn inspect no-such-graph --json failed: error: " in capsys.readouterr().out
    assert (tmp_path / "out" / "models" / "models.json").is_file()
    assert not (tmp_path / "out" / "inspect").exists()


def test_the_adapter_finds_what_it_imports() -> None:
    importlib.import_module("benchmarks.golden_adapter")
