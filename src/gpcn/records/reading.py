"""Plain data as typed records and back: what does not fit is one sentence, with where, what was found and expected.

A record is a frozen `msgspec.Struct` or dataclass. A class with `to_json` and `from_json` may be a field of one. Fields
that a record does not know are passed over.
"""

from __future__ import annotations

import re
import sys
from typing import Annotated, Any, TypeAlias, TypeVar

import msgspec
from msgspec import Meta

from gpcn.core.errors import GpcnError

T = TypeVar("T")
LARGEST = sys.float_info.max
Number: TypeAlias = Annotated[float, Meta(ge=-LARGEST, le=LARGEST)]
"""A finite number."""
Seconds: TypeAlias = Annotated[float, Meta(ge=0, le=LARGEST)]
Count: TypeAlias = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Size: TypeAlias = Annotated[int, Meta(ge=1, le=2**63 - 1)]

WORDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "names and values",
}
OF_A_FIELD = re.compile(r"\w+ (has|is) ")  # what a record says of one of its own
BOUND_OF_ALL = re.compile(rf" [<>]= (-?{re.escape(repr(LARGEST))}|{2**63 - 1})")


def decode(payload: Any, kind: type[T]) -> T:
    """Return `payload` as a record of `kind`; a `ValueError` says in words what does not fit."""
    try:
        return msgspec.convert(payload, kind, dec_hook=_from_json)
    except msgspec.ValidationError as error:
        raise ValueError(_in_words(str(error), payload)) from error
    except GpcnError as error:  # of a dataclass that checks itself
        raise ValueError(str(error)) from error


def encode(record: Any) -> Any:
    """Return `record`, or what holds records, as plain data."""
    return msgspec.to_builtins(record, enc_hook=_to_json)


def parse(text: bytes | str) -> Any:
    """Return a JSON document as plain data; neither NaN nor half a character is one."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(str(error)) from error


def _from_json(kind: Any, payload: Any) -> Any:
    if not hasattr(kind, "from_json"):
        raise NotImplementedError(f"{kind!r} is no field of a record")
    try:
        return kind.from_json(payload)
    except GpcnError as error:
        raise ValueError(str(error)) from error


def _to_json(value: Any) -> Any:
    if not hasattr(value, "to_json"):
        raise NotImplementedError(f"{type(value)} is no field of a record")
    return value.to_json()


def _in_words(message: str, payload: Any) -> str:
    """Say what msgspec says of `payload`, as in "graph.name is 3; expected text"."""
    problem, _, path = message.partition(" - at ")
    where = path[path.find("$") + 1 :].rstrip("`").lstrip(".")
    missing = re.fullmatch(r"Object missing required field `(.*)`", problem)
    if missing:
        return f"{where}.{missing[1]} is missing".lstrip(".")
    place = where or "its content"
    expected = re.fullmatch(r"Expected (.*?)(?:, got (.*))?", problem)
    if expected is None and problem != "Number out of range" and not problem.startswith("Invalid enum value"):
        return f"{where}{'.' if OF_A_FIELD.match(problem) else ': '}{problem}" if where else problem
    value = _value_at(where, payload)
    found = f"{place} holds an entry that does not fit" if value is ... else f"{place} is {_shown(value)}"
    if expected is None:
        return f"{found}; expected {'a smaller number' if 'range' in problem else 'one of the values it can have'}"
    kinds = re.sub(r"`([^`]*)`", lambda match: _kinds(match[1]), expected[1])
    return f"{found}; expected {BOUND_OF_ALL.sub('', kinds)}"


def _kinds(names: str) -> str:
    return " or ".join(WORDS.get(name, name) for name in names.split(" | "))


def _value_at(where: str, payload: Any) -> Any:
    """Return the value at a path such as `splits[3].train`; `...` in a mapping, of which msgspec names no key."""
    for step in re.findall(r"[^.\[\]]+|\[\.\.\.\]", where):
        if step == "[...]":
            return ...
        payload = payload[int(step)] if isinstance(payload, list | tuple) else payload[step]
    return payload


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:40] + "…"
