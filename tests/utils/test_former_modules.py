"""Documented modules that moved: their former names work for one more version."""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import PathFinder

import pytest

from gpcn.utils.former_modules import FORMER_MODULES


@pytest.mark.parametrize("former", FORMER_MODULES)
def test_a_former_name_is_the_module_itself_with_a_warning(former: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, former, raising=False)
    current = importlib.import_module(FORMER_MODULES[former])
    name, spec = current.__name__, current.__spec__
    with pytest.warns(DeprecationWarning, match=f"^{former} is now called {name};") as warned:
        assert importlib.import_module(former) is current
    assert warned[0].filename.endswith(("test_former_modules.py", "importlib/__init__.py"))
    assert (current.__name__, current.__spec__) == (name, spec)


def test_a_former_name_can_be_imported_from_its_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "gpcn.nn.bank", raising=False)
    monkeypatch.delattr("gpcn.nn.bank", raising=False)
    with pytest.warns(DeprecationWarning, match=r"gpcn\.nn\.engine\.bank") as warned:
        from gpcn.nn import bank
    assert warned[0].filename == __file__
    from gpcn.nn.engine import bank as current

    assert bank is current


def test_a_module_that_never_was_is_missing_as_ever() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'gpcn\.nothing'"):
        importlib.import_module("gpcn.nothing")
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'gpcn\.training\.nothing'"):
        importlib.import_module("gpcn.training.nothing")


@pytest.mark.parametrize("former", FORMER_MODULES)
def test_no_module_of_today_has_a_former_name(former: str) -> None:
    """Python's own importers come first, so that such an entry would never be read."""
    room = importlib.import_module(former.rpartition(".")[0])
    assert PathFinder.find_spec(former, room.__path__) is None
