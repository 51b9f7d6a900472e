"""Text from files and users, made harmless for the three places of a page that it reaches.

In HTML, Jinja escapes it. In a `<script>` of data, nothing may end the script. In a chart, plotly reads a little HTML
of its own (`<b>`, `<a href>`), also on axes and in hover boxes, and `%{...}` in templates, where names are never put.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from gpcn.core.text import printable_text

IN_SCRIPT = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}
IN_CHART = {ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;"}
LONGEST = 24
LONGER = (24, 28, 32, 36)


def script_json(data: Any) -> Markup:
    """JSON that cannot leave the `<script>` it stands in; all that is not ASCII is written as escapes."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return Markup(text.translate(IN_SCRIPT))  # noqa: S704


def chart_text(text: object) -> str:
    """Text that a chart shows as it is."""
    return printable_text(text).translate(IN_CHART)


def chart_label(text: object) -> str:
    """The same, cut to what fits beside an axis."""
    plain = printable_text(text)
    return chart_text(plain if len(plain) <= LONGEST else plain[: LONGEST - 1] + "…")


def chart_labels(names: Sequence[object]) -> list[str]:
    """The same for all names of an axis: where two would look alike, cut in the middle, and as little as need be."""
    labels = [chart_label(name) for name in names]
    full = [printable_text(name) for name in names]
    for longest in LONGER:
        if len(set(labels)) == len(set(full)):
            break
        half = longest // 2
        labels = [chart_text(name if len(name) <= longest else f"{name[: half - 1]}…{name[-half:]}") for name in full]
    return labels


def without_control_characters(value: Any) -> Any:
    """What Jinja is about to escape, without control characters."""
    return printable_text(value) if isinstance(value, str) and not isinstance(value, Markup) else value
