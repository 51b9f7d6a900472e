"""Settings under the names they had before: one table, so that old files, runs, recipes and commands are still read.

`symmetrize` (true or false) became `direction` (`out`, `in` or `both`). Keys of what is on disk keep the former name
(`in_former_names`), so that renaming a setting makes nobody train again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gpcn.errors import ConfigError
from gpcn.nn.zoo_entries.hyperparameters import Hyperparameter, Value


@dataclass(frozen=True)
class RenamedSetting:
    """A setting as it was declared, its `name` today, and what each former value is called today."""

    former: Hyperparameter
    name: str
    values: Mapping[Value, Value]

    def current(self, value: Any) -> Value:
        """Today's value; one that was never allowed is refused."""
        return self.values[self.former.check(value)]

    def former_value(self, value: Any) -> Value | None:
        """The former value that meant this, where there was one."""
        return next((former for former, current in self.values.items() if current == value), None)


SYMMETRIZE = RenamedSetting(
    Hyperparameter(name="symmetrize", kind=bool, default=False, about="see every edge in both directions"),
    "direction",
    {False: "out", True: "both"},
)
RENAMED: dict[str, RenamedSetting] = {SYMMETRIZE.former.name: SYMMETRIZE}


def in_current_names(settings: Mapping[str, Any]) -> dict[str, Any]:
    """`settings` with today's names in place of former ones; both at once are refused where they contradict."""
    current: dict[str, Any] = {}
    for name, value in settings.items():
        renamed = RENAMED.get(name)
        if renamed is None:
            current[name] = value
            continue
        meant = renamed.current(value)
        if settings.get(renamed.name, meant) != meant:
            raise ConfigError(
                f"{name}={str(value).lower()} is the former name of {renamed.name}={meant}, and {renamed.name} is "
                f"{settings[renamed.name]!r}; leave {name} out"
            )
        current[renamed.name] = meant
    return current


def choices_in_current_names(choices: Mapping[str, Iterable[Any]]) -> dict[str, tuple[Any, ...]]:
    """The same for several values of each setting; names may have a prefix such as `gpcn:`."""
    current: dict[str, tuple[Any, ...]] = {}
    for name, values in choices.items():
        prefix, _, short = name.rpartition(":")
        renamed = RENAMED.get(short)
        if renamed is None:
            current[name] = tuple(values)
            continue
        title = f"{prefix}:{renamed.name}" if prefix else renamed.name
        if title in choices:
            raise ConfigError(f"{name} is the former name of {title}, and both are given; leave {name} out")
        current[title] = tuple(renamed.current(value) for value in values)
    return current


def in_former_names(settings: Mapping[str, Any]) -> dict[str, Any]:
    """`settings` as they were written before a name changed, where the value existed then."""
    former = dict(settings)
    for renamed in RENAMED.values():
        value = renamed.former_value(former.get(renamed.name))
        if value is not None:
            del former[renamed.name]
            former[renamed.former.name] = value
    return former


def merge_in_current_names(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of several origins in today's names; where they differ, the last says."""
    return {name: value for layer in layers for name, value in in_current_names(layer).items()}
