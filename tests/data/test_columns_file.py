"""A file that says what the columns of tables hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpcn import ConfigError
from gpcn.cli.shared.options import GraphOptions
from gpcn.data.tables.columns_file import read_columns_file
from tests.commands import document, refused

TOML = """
source = "payer"
target = "payee"
id = "person"
label = "role"
scale = "standard"
structure = "full"
unknown = "drop"
undirected = true
category = ["age"]
drop = ["likes", "since"]
"""
OPTIONS = (
    *("--source", "payer", "--target", "payee", "--id", "person", "--label", "role", "--scale", "standard"),
    *("--structure", "full", "--unknown", "drop", "--undirected", "--category", "age", "--drop", "likes,since"),
)


def test_a_file_of_columns_says_the_same_as_options(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "columns.toml").write_text(TOML)
    by_file = document("inspect", folder, "--columns", tmp_path / "columns.toml")
    assert by_file == document("inspect", folder, *OPTIONS)
    roles = {column["column"]: column["role"] for column in by_file["columns"]}
    assert (roles["age"], roles["likes"], roles["city"]) == ("category", "drop", "category")
    assert not by_file["directed"]


def test_options_win_over_the_file(tmp_path: Path) -> None:
    (tmp_path / "columns.toml").write_text(TOML + 'split = ["fold"]\nfeatures = ["age"]\n')
    columns = GraphOptions(columns_file=tmp_path / "columns.toml", label="city", text="likes", scale="none").columns()
    assert (columns.label, columns.scale, columns.source, columns.undirected) == ("city", "none", "payer", True)
    assert dict(columns.roles) == {"age": "category", "likes": "text", "since": "drop"}
    assert (columns.splits, columns.features) == (("fold",), ("age",))


BAD = {
    "an unknown key": ('sources = "a"', r"there is no 'sources'; .*source"),
    "a number for a text": ("label = 3", "label is 3; expected text"),
    "a text for a list": ('drop = "age"', r"drop is 'age'; expected a list"),
    "numbers in a list": ("numeric = [1, 2]", r"numeric\[0\] is 1; expected text"),
    "a text for a flag": ('undirected = "yes"', "undirected is 'yes'; expected true or false"),
    "no TOML": ("label: x", "is not a TOML file"),
    "bytes": (b"\xff\xfe", "is not a TOML file"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_of_columns_is_refused_in_one_sentence(case: str, tmp_path: Path) -> None:
    content, message = BAD[case]
    path = tmp_path / "columns.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ConfigError, match=message) as caught:
        read_columns_file(path)
    assert "columns.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_command_line_refuses_bad_files_of_columns(folder: Path, tmp_path: Path) -> None:
    assert "cannot read" in refused("inspect", folder, "--columns", tmp_path / "none.toml")
    (tmp_path / "c.toml").write_text('scale = "log"\n')
    assert "--scale is 'log'; expected robust or standard or none" in refused(
        "inspect", folder, "--columns", tmp_path / "c.toml"
    )
