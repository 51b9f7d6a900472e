"""The package's own names: each is there, imported when first asked for, and listed."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

import gpcn


def test_every_name_is_there_and_is_what_its_module_calls_it() -> None:
    assert sorted(gpcn._HOME) == sorted(gpcn.__all__)
    for name, module in gpcn._HOME.items():
        there = getattr(importlib.import_module(module), gpcn._NAMED_THERE.get(name, name))
        assert getattr(gpcn, name) is there
        assert name in dir(gpcn)


def test_type_checkers_see_the_same_names() -> None:
    tree = ast.parse(Path(gpcn.__file__).read_text())
    typed = next(node for node in tree.body if isinstance(node, ast.If))
    imported = {alias.asname or alias.name for node in typed.body for alias in node.names}  # type: ignore[attr-defined]
    assert imported == set(gpcn.__all__)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = gpcn.nothing  # type: ignore[attr-defined]
