"""One encoder per role: fitted on the values of a column, applied to any other table, stored as plain JSON.

Every encoder has `names` (what its features are called), `how` (for people), `encode(column, rows)` (`[rows, width]`,
dense or sparse; a column that is not there counts as missing everywhere) and `state()`, from which `load_encoder` makes
it again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeAlias, get_args

from gpcn.preparation import values
from gpcn.preparation.roles import Guess
from gpcn.preparation.scalar_encoders import CALENDAR, Dates, Flags, Numbers, Scale
from gpcn.preparation.text_encoders import Levels, Tags, Words, category_texts

Encoder: TypeAlias = Numbers | Flags | Levels | Dates | Tags | Words
KINDS: dict[str, type[Encoder]] = {kind.role: kind for kind in (Numbers, Flags, Levels, Dates, Tags, Words)}


def load_encoder(role: str, state: Mapping[str, Any]) -> Encoder:
    """The encoder of that `role` with that `state`."""
    fields: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in state.items()}
    if role == "date":
        fields["days"] = Numbers(**state["days"])
    encoder = KINDS["boolean" if role == "count" else role](**fields)
    _check(encoder)
    return encoder


def _check(encoder: Encoder) -> None:
    """Refuse a state whose values are not of the kind that fitting gives."""
    for name, value in vars(encoder).items():
        if name == "days":
            _check(value)
        elif not _is_fine(name, value):
            raise ValueError(f"{name} of column {encoder.column!r} is {str(value)[:60]!r}")
    if isinstance(encoder, Words) and len(encoder.idf) != len(encoder.words):
        raise ValueError(f"column {encoder.column!r} has {len(encoder.words)} words and {len(encoder.idf)} weights")


def _is_fine(name: str, value: Any) -> bool:
    if name in ("missing", "other"):
        return isinstance(value, bool)
    if name in ("median", "spread", "mean", "std"):
        return _is_number(value) and (name in ("median", "mean") or value > 0)
    if name == "idf":
        return isinstance(value, tuple) and all(map(_is_number, value))
    if name in ("levels", "tags", "words", "parts"):
        recognized = name != "parts" or set(value) <= set(CALENDAR)
        return isinstance(value, tuple) and all(isinstance(item, str) for item in value) and recognized
    if name == "scale":
        return value in get_args(Scale)
    return isinstance(value, str) or (name in ("separator", "also") and value is None)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and not math.isnan(value)


def fit_encoder(name: str, column: Any, guess: Guess, scale: Scale) -> Encoder:
    """The encoder for a column of that role."""
    if guess.role in ("boolean", "count"):
        flags = values.column_flags(column)
        return Flags.fit(name, flags if flags is not None else _numbers(column))
    if guess.role == "date":
        seconds, format = values.column_times(column, guess.options.get("format")) or (_numbers(column), "timestamp")
        return Dates.fit(name, seconds, format, scale, values.fits_other_order(column, format))
    if guess.role == "tags":
        separator = guess.options.get("separator")
        return Tags.fit(name, values.column_tag_lists(column, separator), separator)
    if guess.role == "text":
        return Words.fit(name, values.column_word_lists(column))
    if guess.role == "category":
        return Levels.fit(name, values.plain_whole_numbers(category_texts(column)))
    return Numbers.fit(name, _numbers(column), scale)


def _numbers(column: Any) -> values.Floats:
    numbers = values.column_numbers(column)
    if numbers is None:
        raise ValueError("a column of this role holds numbers")
    return numbers
