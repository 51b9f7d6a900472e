"""How long to search, as people write it: `200` configurations, `90s`, `30m`, `2h`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpcn.core.errors import ConfigError, Option

UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "": 1.0}
SHORTEST, LONGEST = 1.0, 366 * 24 * 3600.0  # seconds; in less than one nothing can be trained
MOST_CONFIGURATIONS = 10_000_000
MANY, LONG = 12, 20.0  # configurations, seconds


@dataclass(frozen=True)
class Budget:
    """How long: so many configurations in all, or so many seconds, of which some were `spent` before."""

    configurations: int | None = None
    seconds: float | None = None
    spent: float = 0.0

    @property
    def lasts(self) -> bool:
        """Whether such a search is likely to be worth more than one process."""
        return (self.configurations or MANY) >= MANY and (self.seconds or LONG) >= LONG


def read_budget(text: str) -> Budget:
    """`200` configurations, or `90s`, `30m`, `2h`."""
    wanted = "a number of configurations or a time, such as 200 or 30m"
    amount, unit = _amount(text, wanted)
    if unit:
        return Budget(seconds=_seconds(text, amount * UNITS[unit], wanted))
    if "." in text or amount > MOST_CONFIGURATIONS:
        raise ConfigError(f"{Option('budget')} is {_short(text)}; expected {wanted}, at most {MOST_CONFIGURATIONS:,}")
    return Budget(configurations=int(amount))


def read_seconds(text: str) -> float:
    """`300`, `300s`, `5m`, `1h` as seconds."""
    wanted = "a time, such as 300s or 5m"
    amount, unit = _amount(text, wanted)
    return _seconds(text, amount * UNITS[unit], wanted)


def _amount(text: str, wanted: str) -> tuple[float, str]:
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([smh]?)\s*", text)
    if match is None or float(match[1]) <= 0:
        raise ConfigError(f"{Option('budget')} is {_short(text)}; expected {wanted}")
    return float(match[1]), match[2]


def _seconds(text: str, seconds: float, wanted: str) -> float:
    if not SHORTEST <= seconds <= LONGEST:
        raise ConfigError(
            f"{Option('budget')} is {_short(text)}; expected {wanted}, from {SHORTEST:g} second to a year"
        )
    return seconds


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:40] + "…")
