"""The colours of the page, by what they are for, in light and in dark; colour-blind readers can tell the series apart.

Charts name them (`"$series-1"`) and take their values when drawn, so that one switch changes everything.
"""

from __future__ import annotations

COLOURS: dict[str, tuple[str, str]] = {  # light, dark
    "page": ("#fbfbf9", "#15171b"),
    "surface": ("#ffffff", "#1c1f25"),
    "sunken": ("#f3f3ef", "#24282f"),
    "ink": ("#1f2328", "#e7e8ea"),
    "quiet": ("#5c636d", "#a2a9b4"),
    "line": ("#e3e3dd", "#343942"),
    "shade": ("#1f232830", "#00000090"),
    "accent": ("#0b62a4", "#6cb8f0"),
    "warning": ("#9a5b00", "#f0b04f"),
    "series-1": ("#0b6bb0", "#5fb3ee"),
    "series-2": ("#d2700a", "#f2a444"),
    "series-3": ("#0a8a66", "#3fc79b"),
    "series-4": ("#a8447f", "#e291c1"),
    "series-5": ("#6a6f78", "#b6bcc6"),
    "series-6": ("#7a5a1e", "#d8c07a"),
    "heat-low": ("#f1f5f9", "#22272f"),
    "heat-high": ("#5a9bd1", "#2a6fae"),
    "minus": ("#e3a05c", "#a05c12"),
    "plus": ("#5a9bd1", "#2a6fae"),
    "middle": ("#f6f6f3", "#24282f"),
}
SERIES = 6


def series_colour(index: int) -> str:
    """The name of the colour of trace number `index`, from 0."""
    return f"$series-{index % SERIES + 1}"


def colour_declarations(dark: bool) -> str:
    """All colours as CSS custom properties."""
    return " ".join(f"--{name}: {pair[dark]};" for name, pair in COLOURS.items())
