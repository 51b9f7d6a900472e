"""What a folder is, by the files in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpcn.core.errors import ConfigError
from gpcn.records import layout


def made(folder: Path, *files: str) -> Path:
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).touch()
    return folder


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        (("config.json", "split-00/result.json"), "run"),
        (("study.json", "study.db"), "study"),
        (("auto.json", "members/0007-loss/config.json"), "auto"),
        (("gcn/config.json", "mlp/config.json"), "comparison"),
        (("manifest.json", "part-0000/part.json"), "parts"),
        (("manifest.json",), None),
        (("edges.csv",), None),
    ],
)
def test_a_folder_is_what_its_files_say(files: tuple[str, ...], kind: str | None, tmp_path: Path) -> None:
    assert layout.kind_of(made(tmp_path, *files)) == kind
    if kind in layout.WRITERS:
        layout.refuse_folder_of_other_kind(tmp_path, kind)  # type: ignore[arg-type]
        with pytest.raises(ConfigError, match=f"holds {layout.WRITERS[kind]}; choose another"):
            layout.refuse_folder_of_other_kind(tmp_path)


def test_nothing_is_no_folder_of_any_kind(tmp_path: Path) -> None:
    assert layout.kind_of(tmp_path / "nothing") is None


def test_finished_splits_are_those_with_a_result(tmp_path: Path) -> None:
    made(tmp_path, "split-10/result.json", "split-02/result.json", "split-03/model.json", "split-x/result.json")
    assert layout.finished_splits(tmp_path) == {2: tmp_path / "split-02", 10: tmp_path / "split-10"}
    assert layout.finished_splits(tmp_path / "nothing") == {}
