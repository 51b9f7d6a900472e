"""Outcomes as a study keeps them: with a checksum, and of a form that is checked when they are read."""

from __future__ import annotations

from typing import Any

from gpcn.files.schema import Check, count, fields, number, optional, record, text
from gpcn.files.sealed import SEAL, content_digest
from gpcn.training.loop import RULES
from gpcn.tuning.tasks import Outcome

FAILED: Check = fields({"failed": text, "seconds": number(0)})
SCORED: Check = fields(
    {
        **dict.fromkeys(RULES, number()),
        "test": fields(dict.fromkeys(RULES, optional(number()))),
        "epochs": count(),
        "seconds": number(0),
    }
)


def outcome_with_checksum(outcome: Outcome) -> dict[str, Any]:
    """What is written down."""
    return {**outcome, SEAL: content_digest(outcome)}


def checked_outcome(stored: Any, where: str) -> Outcome:
    """Return what was written down; `ValueError` where it was altered since."""
    record(stored, where)
    outcome = {name: value for name, value in stored.items() if name != SEAL}
    (FAILED if "failed" in outcome else SCORED)(outcome, where)
    if stored.get(SEAL) != content_digest(outcome):
        raise ValueError(f"{where} does not have its checksum, so it was altered")
    return outcome
