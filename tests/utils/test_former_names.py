"""Documented functions and classes that were renamed: their former names work for one more version."""

from __future__ import annotations

import importlib

import pytest

FORMER_NAMES = [
    ("gpcn.explanation", "carried", "lead_parts"),
    ("gpcn.explanation", "Carried", "LeadParts"),
    ("gpcn.explanation", "chosen_split", "explained_split"),
    ("gpcn.explanation", "why_not", "why_unexplainable"),
    ("gpcn.tuning.summary", "describe", "describe_study"),
    ("gpcn.tuning.summary", "history", "study_score_history"),
    ("gpcn.tuning.summary", "importance", "setting_importance"),
    ("gpcn.tuning.auto.ensemble", "select", "select_ensemble"),
    ("gpcn.tuning.auto.expected_score", "Expectation", "ExpectedScore"),
    ("gpcn.tuning.auto.expected_score", "expect", "expected_score"),
]


@pytest.mark.parametrize(("module", "former", "current"), FORMER_NAMES)
def test_a_former_name_is_the_current_one_with_a_warning(module: str, former: str, current: str) -> None:
    room = importlib.import_module(module)
    with pytest.warns(DeprecationWarning, match=f"{module}.{former} is now called {current};") as warned:
        assert getattr(room, former) is getattr(room, current)
    assert warned[0].filename == __file__


def test_a_name_that_never_was_is_missing_as_ever() -> None:
    explanation = importlib.import_module("gpcn.explanation")
    with pytest.raises(AttributeError, match=r"module 'gpcn\.explanation' has no attribute 'nothing'"):
        _ = explanation.nothing
