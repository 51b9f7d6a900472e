"""JSON documents with one thing wrong, as a slip of the hand, a bug or somebody's malice would leave them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from gpcn.records.sealed import SEAL, content_digest

WRONG: tuple[Any, ...] = (..., None, "text", -1, 10**400, float("nan"), [], {"a": {}})
"""What is put in the place of a value; `...` takes it away."""
NESTED = 100_000


def keys_of(payload: Any, prefix: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every value in a JSON document."""
    inner = payload.items() if isinstance(payload, dict) else enumerate(payload) if isinstance(payload, list) else ()
    return [prefix, *(way for key, value in inner for way in keys_of(value, (*prefix, key)))]


def replaced(payload: Any, way: tuple[Any, ...], value: Any) -> Any:
    """A document with another value there, or with none."""
    if not way:
        return value
    key, *rest = way
    changed = dict(payload) if isinstance(payload, dict) else list(payload)
    if value is ... and not rest:
        del changed[key]
    else:
        changed[key] = replaced(changed[key], tuple(rest), value)
    return changed


def damages(payload: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The way to a value and what to put there, for every value; of a list the first stands for all."""
    for way in keys_of(payload):
        if way and all(not isinstance(key, int) or key < 1 for key in way):
            yield from ((way, wrong) for wrong in WRONG)


def damaged_texts(text: str) -> Iterator[tuple[str, str]]:
    """What was done, and the document after it, with its checksum computed again wherever that can be done."""
    payload = json.loads(text)
    payload.pop(SEAL, None)
    for way, wrong in damages(payload):
        yield f"{way} is {'gone' if wrong is ... else repr(wrong)[:40]}", sealed(replaced(payload, way, wrong))
    yield "no checksum", json.dumps(payload)
    yield "cut off", text[: len(text) // 2]
    yield "nested too deeply", "[" * NESTED + "]" * NESTED
    yield "a list", "[]"
    yield "nothing", ""


def sealed(payload: Any) -> str:
    """A document as it is written to a file, with a checksum if it can have one."""
    if not isinstance(payload, dict):
        return json.dumps(payload)
    try:
        return json.dumps({**payload, SEAL: content_digest(payload)})
    except ValueError:  # NaN
        return json.dumps({**payload, SEAL: "0" * 64})
