from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands import TINY, document, refused
from tests.commands import in_process as gpcn


@pytest.fixture
def run(folder: Path, tmp_path: Path) -> Path:
    document("train", folder, "--model", "gpcn-link", *TINY, "--random-splits", 2, "--out", tmp_path / "run")
    return tmp_path / "run"


def test_a_node_is_explained_alike_in_text_and_json(run: Path, folder: Path) -> None:
    explanation = document("explain", run, "--node", 5, "--split", 1)
    assert (explanation["node"], explanation["split"], explanation["model"]) == ("5", 1, "gpcn-link")
    assert explanation["role"] in ("train", "val", "test", None)
    assert [part["part"] for part in explanation["parts"]] == ["features", "hop 1", "hop 2", "links"]
    shown = gpcn("explain", run, "--node", 5, "--split", 1)
    assert shown.returncode == 0
    assert f"is predicted {explanation['predicted']}" in shown.stdout
    assert f"{explanation['sum']['margin']:+.3f}" in shown.stdout
    assert document("explain", run, folder, "--node", 5)["node"] == "5"


def test_random_splits_are_made_again(run: Path) -> None:
    roles = {document("explain", run, "--node", node)["role"] for node in range(6)}
    assert roles - {None}


def test_explain_refuses_in_one_sentence(run: Path, folder: Path, tmp_path: Path) -> None:
    assert "there is no node '99'" in refused("explain", run, "--node", 99)
    assert "finished: 0, 1" in refused("explain", run, "--node", 5, "--split", 4)
    assert "is not a run" in refused("explain", folder, "--node", 5)
    document("train", folder, "--model", "label-propagation", "--splits", "0", "--out", tmp_path / "spread")
    assert "spreads the labels of training nodes" in refused("explain", tmp_path / "spread", "--node", 5)


def test_a_class_is_explained_alike_in_text_and_json(run: Path) -> None:
    label = document("explain", run, "--node", 5)["predicted"]
    account = document("explain", run, "--class", label, "--top", 2)
    assert (account["class"], account["run"], len(account["typical"])) == (label, str(run), 2)
    shown = gpcn("explain", run, "--class", label)
    assert shown.returncode == 0
    assert f"{account['lead']:+.3f}" in shown.stdout
    assert "most typical nodes" in shown.stdout
    assert "has no class 'nobody'" in refused("explain", run, "--class", "nobody")
    assert "needs a node or a class" in refused("explain", run)
    assert "needs a node or a class" in refused("explain", run, "--node", 5, "--class", label)


def test_the_picture_of_a_node_is_written_as_svg(run: Path, tmp_path: Path) -> None:
    account = document("explain", run, "--node", 5, "--picture", tmp_path / "ego.svg")
    assert account["picture"] == str(tmp_path / "ego.svg")
    assert (tmp_path / "ego.svg").read_text().startswith("<svg ")
    assert "ends in .svg" in refused("explain", run, "--node", 5, "--picture", tmp_path / "ego.png")
    assert "give --node ID" in refused("explain", run, "--class", account["predicted"], "--picture", tmp_path / "e.svg")
