"""Errors name what can be set as data, and each face has its own words for it."""

from __future__ import annotations

import pickle

import pytest

from gpcn.cli.shared.option_words import command_line_words
from gpcn.core.errors import ConfigError, DataError, Option
from tests.commands import refused


@pytest.mark.parametrize(
    ("option", "python", "command_line"),
    [
        (Option("out"), "out", "--out"),
        (Option("structure", "none"), "structure='none'", "--structure none"),
        (Option("random_splits", 5), "gpcn.random_splits(graph, count=5)", "--random-splits 5"),
        (Option("folds"), "gpcn.folds", "--folds"),
        (Option("drop", "my age"), "roles={'my age': 'drop'}", "--drop 'my age'"),
        (Option("split_by"), "by", "--split-by"),
        (Option("parts", 3, command="shard"), "shard(parts=3)", "gpcn shard --parts 3"),
        (Option("resume", command="tune"), "tune(resume)", "gpcn tune --resume"),
    ],
)
def test_an_option_has_words_in_python_and_on_the_command_line(option: Option, python: str, command_line: str) -> None:
    error = DataError(f"it is so; use {option}, or not")
    assert str(error) == f"it is so; use {python}, or not"
    assert error.worded(command_line_words) == f"it is so; use {command_line}, or not"


def test_an_error_about_another_and_one_of_another_process_keep_the_options() -> None:
    inner = DataError(f"no labels; name them with {Option('label')}")
    outer: ConfigError = pickle.loads(pickle.dumps(ConfigError(f"table.csv: {inner}")))
    assert str(outer) == "table.csv: no labels; name them with label"
    assert outer.worded(command_line_words) == "table.csv: no labels; name them with --label"


def test_a_sentence_that_holds_something_else_is_left_alone() -> None:
    assert str(DataError("a \x1a b \x1a {c} 100%")) == "a \x1a b \x1a {c} 100%"


def test_the_command_line_speaks_of_its_options(tmp_path) -> None:
    (tmp_path / "edges.csv").write_text("source,target\na,b\nb,c\n")
    assert "give the table of nodes with --nodes" in refused("train", tmp_path / "edges.csv", "--model", "gpcn")
