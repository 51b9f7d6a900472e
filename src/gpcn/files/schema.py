"""What JSON from a file must look like: small checks that compose, and say in words what does not fit.

A check takes a value and where it stands, and raises `ValueError` with what was found there and what was expected.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

Check = Callable[[Any, str], None]


def text(value: Any, where: str) -> None:
    """A string."""
    _expect(isinstance(value, str), value, where, "text")


def name(value: Any, where: str) -> None:
    """A string that can be printed and written."""
    _expect((isinstance(value, str) and value.isascii()) or _encodes(value), value, where, "text")


def flag(value: Any, where: str) -> None:
    """True or false."""
    _expect(isinstance(value, bool), value, where, "true or false")


def anything(value: Any, where: str) -> None:
    """Whatever it is; somebody else checks it."""


def record(value: Any, where: str) -> None:
    """Names and values, whatever they are."""
    _expect(isinstance(value, dict), value, where, "names and values")


def number(low: float = -math.inf, high: float = math.inf) -> Check:
    """A finite number from `low` to `high`."""

    def check(value: Any, where: str) -> None:
        fits = isinstance(value, (int, float)) and not isinstance(value, bool)
        _expect(fits and math.isfinite(value) and low <= value <= high, value, where, _between("a number", low, high))

    return check


def count(low: float = 0, high: float = 2**63 - 1) -> Check:
    """A whole number from `low` to `high`."""

    def check(value: Any, where: str) -> None:
        fits = isinstance(value, int) and not isinstance(value, bool)
        _expect(fits and low <= value <= high, value, where, _between("a whole number", low, high))

    return check


def one_of(*choices: Any) -> Check:
    """One of these."""

    def check(value: Any, where: str) -> None:
        fits = any(type(value) is type(choice) and value == choice for choice in choices)
        _expect(fits, value, where, " or ".join(map(str, choices)))

    return check


def optional(inner: Check) -> Check:
    """Null, or what `inner` accepts."""

    def check(value: Any, where: str) -> None:
        if value is not None:
            inner(value, where)

    return check


def list_of(inner: Check, length: int | None = None) -> Check:
    """A list, of `length` where given, of what `inner` accepts."""

    def check(value: Any, where: str) -> None:
        _expect(isinstance(value, list), value, where, "a list")
        if length is not None and len(value) != length:
            raise ValueError(f"{where} has {len(value)} entries; expected {length}")
        for position, entry in enumerate(value):
            inner(entry, f"{where}[{position}]")

    return check


def mapping_of(inner: Check) -> Check:
    """Names, each with a value that `inner` accepts."""

    def check(value: Any, where: str) -> None:
        record(value, where)
        for key, entry in value.items():
            inner(entry, f"{where}.{key}")

    return check


def fields(required: Mapping[str, Check], others: Mapping[str, Check] | None = None) -> Check:
    """Names and values: all of `required`, any of `others`, and whatever else a later version adds."""

    def check(value: Any, where: str) -> None:
        record(value, where)
        prefix = f"{where}." if where else ""
        for key, inner in required.items():
            if key not in value:
                raise ValueError(f"{prefix}{key} is missing")
            inner(value[key], prefix + key)
        for key, inner in (others or {}).items():
            if key in value:
                inner(value[key], prefix + key)

    return check


def _expect(fits: bool, value: Any, where: str, expected: str) -> None:
    if not fits:
        shown = repr(value) if len(repr(value)) <= 40 else repr(value)[:40] + "…"
        raise ValueError(f"{where or 'its content'} is {shown}; expected {expected}")


def _between(what: str, low: float, high: float) -> str:
    lowest = "" if low == -math.inf else f" from {low:g}"
    highest = "" if high in (math.inf, 2**63 - 1) else f" to {high:g}"
    return what + lowest + highest


def _encodes(value: Any) -> bool:
    try:
        value.encode()
    except (AttributeError, UnicodeEncodeError):
        return False
    return True
