"""Outcomes as a study keeps them: with a checksum, and of a form that is checked when they are read."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from gpcn.records.reading import Count, Number, Seconds, decode
from gpcn.records.sealed import SEAL, content_digest
from gpcn.search.tasks import Outcome


class RuleScores(Struct, frozen=True):
    """Scores of test nodes at the epochs that each rule chose."""

    loss: Number | None
    metric: Number | None


class ScoredOutcome(Struct, frozen=True):
    """An evaluation that came to its end: validation scores by rule, and how long it trained."""

    loss: Number
    metric: Number
    test: RuleScores
    epochs: Count
    seconds: Seconds


class FailedOutcome(Struct, frozen=True):
    """An evaluation that failed, and why."""

    failed: str
    seconds: Seconds


def outcome_with_checksum(outcome: Outcome) -> dict[str, Any]:
    """What is written down."""
    return {**outcome, SEAL: content_digest(outcome)}


def checked_outcome(stored: Any, where: str) -> Outcome:
    """Return what was written down; `ValueError` where it was altered since."""
    try:
        outcome = {name: value for name, value in decode(stored, dict[str, Any]).items() if name != SEAL}
        decode(outcome, FailedOutcome if "failed" in outcome else ScoredOutcome)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error
    if stored.get(SEAL) != content_digest(outcome):
        raise ValueError(f"{where} does not have its checksum, so it was altered")
    return outcome
