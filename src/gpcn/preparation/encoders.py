"""One encoder per role: fitted on the values of a column, applied to any other table, stored as plain JSON.

Every encoder has `names` (what its features are called), `how` (for people), `encode(column, rows)` (`[rows, width]`,
dense or sparse; a column that is not there counts as missing everywhere) and `state()`, from which `load` makes it
again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from gpcn.preparation import values
from gpcn.preparation.roles import Guess
from gpcn.preparation.scalars import Dates, Flags, Numbers, Scale
from gpcn.preparation.symbols import Levels, Tags, Words, category_cells

Encoder: TypeAlias = Numbers | Flags | Levels | Dates | Tags | Words
KINDS: dict[str, type[Encoder]] = {kind.role: kind for kind in (Numbers, Flags, Levels, Dates, Tags, Words)}


def load(role: str, state: Mapping[str, Any]) -> Encoder:
    """The encoder of that `role` with that `state`."""
    fields: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in state.items()}
    if role == "date":
        fields["days"] = Numbers(**state["days"])
    return KINDS["boolean" if role == "count" else role](**fields)


def fit(name: str, column: Any, guess: Guess, scale: Scale) -> Encoder:
    """The encoder for a column of that role."""
    if guess.role in ("boolean", "count"):
        flags = values.flags(column)
        return Flags.fit(name, flags if flags is not None else _numbers(column))
    if guess.role == "date":
        seconds, format = values.moments(column, guess.options.get("format")) or (_numbers(column), "timestamp")
        return Dates.fit(name, seconds, format, scale)
    if guess.role == "tags":
        separator = guess.options.get("separator")
        return Tags.fit(name, values.tag_lists(column, separator), separator)
    if guess.role == "text":
        return Words.fit(name, values.word_lists(column))
    if guess.role == "category":
        return Levels.fit(name, category_cells(column))
    return Numbers.fit(name, _numbers(column), scale)


def _numbers(column: Any) -> values.Floats:
    numbers = values.numbers(column)
    if numbers is None:
        raise ValueError("a column of this role holds numbers")
    return numbers
