"""What can be set on a model: a name, a type, a default, where to search, and one sentence."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, TypeAlias, cast

from gpcn.core.errors import ConfigError

Value: TypeAlias = int | float | bool | str
WHOLE = re.compile(r"[+-]?[0-9]{1,100}")
LONGEST = 100  # characters of a value in a message


@dataclass(frozen=True)
class Hyperparameter:
    """One setting.

    Args:
        name: the same word everywhere: command line, configuration, results.
        default: its value where nothing is said; of the same type as all others.
        about: one sentence.
        choices: the values it may have, where these are few.
        space: the values a search tries; empty where a search leaves it alone.
        low: the smallest value allowed.
        below: values must stay below this.
        high: the largest value allowed.
        grammar: for a text: raises a `ConfigError` where it cannot be read.
    """

    name: str
    default: Value
    about: str
    _: KW_ONLY
    choices: tuple[Value, ...] = ()
    space: tuple[Value, ...] = ()
    low: float | None = None
    below: float | None = None
    high: float | None = None
    grammar: Callable[[str], object] | None = None

    @property
    def kind(self) -> type:
        """Its type."""
        return type(self.default)

    def check(self, value: Any) -> Value:
        """`value` as this hyperparameter's type, or a `ConfigError` that says what is expected."""
        wanted = self.expectation()
        checked: Value
        if self.kind is bool and isinstance(value, str) and value.lower() in ("true", "false"):
            checked = value.lower() == "true"
        elif self.kind in (int, float) and not isinstance(value, bool):
            checked = self._number(value, wanted)
        elif type(value) is self.kind:
            checked = cast(Value, value)
        else:
            raise ConfigError(f"{self.name} is {_short(value)}; expected {wanted}")
        if (self.choices and checked not in self.choices) or not self._inside(checked):
            raise ConfigError(f"{self.name} is {_short(value)}; expected {wanted}")
        if self.grammar is not None and isinstance(checked, str):
            self.grammar(checked)
        return checked

    def _inside(self, value: Value) -> bool:
        if isinstance(value, str):
            return True
        return (
            (self.low is None or value >= self.low)
            and (self.high is None or value <= self.high)
            and (self.below is None or value < self.below)
        )

    def _number(self, value: Any, wanted: str) -> int | float:
        if self.kind is int and type(value) is int:
            return value
        try:
            if self.kind is int and isinstance(value, str) and WHOLE.fullmatch(value):
                return int(value)  # to the last digit, which a float would lose
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            raise ConfigError(f"{self.name} is {_short(value)}; expected {wanted}") from None
        if not math.isfinite(number) or (self.kind is int and number != int(number)):
            raise ConfigError(f"{self.name} is {_short(value)}; expected {wanted}")
        return int(number) if self.kind is int else number

    def expectation(self) -> str:
        """What may stand here, in words."""
        if self.choices:
            return " or ".join(str(choice) for choice in self.choices)
        words = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}[self.kind]
        if self.low is not None:
            words += f" from {self._bound(self.low)}"
        if self.high is not None:
            words += f" to {self._bound(self.high)}"
        return words + (f" to below {self.below:g}" if self.below is not None else "")

    def _bound(self, value: float) -> str:
        return f"{int(value):,}" if abs(value) >= 1000 else f"{value:g}"

    def describe(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "name": self.name,
            "type": self.kind.__name__,
            "default": self.default,
            "choices": list(self.choices),
            "space": list(self.space),
            "about": self.about,
        }


def _short(value: Any) -> str:
    """A value for a message, whatever its size."""
    if type(value) is int and value.bit_length() > LONGEST * 3:
        return f"a number of about {value.bit_length() * 3 // 10} digits"
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def resolve_settings(declared: tuple[Hyperparameter, ...], given: Mapping[str, Any], whose: str) -> dict[str, Value]:
    """Every declared hyperparameter with its given or default value; an unknown name is refused with near matches."""
    names = [setting.name for setting in declared]
    for name in given:
        if name not in names:
            close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
            hint = f"did you mean {close[0]}?" if close else f"it has {', '.join(names) or 'none'}"
            raise ConfigError(f"{whose} has no hyperparameter {name!r}; {hint}")
    return {setting.name: setting.check(given.get(setting.name, setting.default)) for setting in declared}
