"""What `auto.json` must look like."""

from __future__ import annotations

import re
from typing import Any

from gpcn.files.schema import Check, count, fields, flag, list_of, mapping_of, name, number, one_of, optional, record
from gpcn.files.sealed import FORMAT
from gpcn.tasks.metrics import metric_names

_MEMBER = re.compile(r"[0-9]{4,}-(loss|metric)")
_score = optional(number())


def _member(value: Any, where: str) -> None:
    name(value, where)
    if not _MEMBER.fullmatch(value):
        raise ValueError(f"{where} is {value[:40]!r}; expected a member such as 0007-loss")


_choice = {
    "format": one_of(FORMAT),
    "graph": name,
    "metric": one_of(*metric_names()),
    "model": one_of("auto"),
    **dict.fromkeys(("test_mean", "test_std", "val_mean"), _score),
    "splits": list_of(fields({"split": count(), **dict.fromkeys(("train", "val", "test"), _score)})),
    "chosen": name,
    "config": record,
    "why": list_of(name),
    "members": list_of(_member),
    "complete": flag,
}
_tried = fields(
    {
        **dict.fromkeys(("number", "epochs"), count()),
        **dict.fromkeys(("title", "model", "origin"), name),
        **dict.fromkeys(("score", "first_score"), _score),
        "select": optional(name),
        "judged_in": list_of(name),
        "seconds": number(0),
    }
)
_account: dict[str, Check] = {
    **dict.fromkeys(("refitted", "above_majority"), flag),
    **dict.fromkeys(("budget", "seconds"), number(0)),
    **dict.fromkeys(("judged", "best_single"), number()),
    **dict.fromkeys(("configurations", "evaluations"), count()),
    "judged_by": name,
    "expected": fields(dict.fromkeys(("score", "low", "high"), number())),
    "signals": mapping_of(number()),
    "tried": list_of(_tried),
    **dict.fromkeys(("skipped", "failed"), mapping_of(name)),
    "warnings": list_of(name),
}


def check_choice_record(payload: Any, where: str) -> None:
    """`auto.json`: scores, members and why; of a search that came to its end also all that was tried."""
    fields(_choice, {"refitted_members": list_of(_member)})(payload, where)
    if not payload["members"]:
        raise ValueError("it names no members")
    if payload["complete"] or payload.keys() & _account.keys():
        fields(_account)(payload, where)
