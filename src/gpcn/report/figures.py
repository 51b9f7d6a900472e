"""Charts as plain data for plotly: shapes that several sections draw. Colours are names of the palette.

Categories stand at whole numbers with their names as tick labels: two names that look alike after shortening stay two
rows, and no name is ever taken for a number or a date.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpcn.report.escaping import chart_labels, chart_text

READABLE = 12
MOST_CLASSES = 100  # rows and columns of a heat map of classes; a page of all pairs of 2,000 would have 400 MB
Trace = dict[str, Any]
"""A part of a document that plotly.js reads."""


@dataclass(frozen=True)
class Figure:
    """A chart, its title, and in words what it shows, for people who see it and for those who do not."""

    title: str
    about: str
    data: Sequence[Trace]
    layout: Trace
    height: int = 320

    @property
    def spec(self) -> Trace:
        """What is drawn."""
        return {"data": list(self.data), "layout": {**self.layout, "height": self.height}}


def category_axis(names: Sequence[object], *, downwards: bool = False, **more: Any) -> Trace:
    """An axis of categories; `downwards` the first is on top."""
    last = len(names) - 0.5
    span = [last, -0.5] if downwards else [-0.5, last]
    ticks = {"tickvals": list(range(len(names))), "ticktext": chart_labels(names)}
    return {**ticks, "range": span, "showgrid": False, "zeroline": False, "automargin": True, **more}


def chart_height(rows: int, least: int = 200) -> int:
    """Room for a row per category."""
    return max(least, min(1400, 90 + 30 * rows))


def largest_classes(sizes: Sequence[float]) -> tuple[list[int], str]:
    """Which classes a heat map has room for, in their order, and a sentence where these are not all."""
    if len(sizes) <= MOST_CLASSES:
        return list(range(len(sizes))), ""
    chosen = sorted(sorted(range(len(sizes)), key=lambda number: -sizes[number])[:MOST_CLASSES])
    return chosen, f" Of the {len(sizes):,} classes, the {MOST_CLASSES} with most nodes are shown."


def heat_map(
    values: Sequence[Sequence[float | None]],
    rows: Sequence[object],
    columns: Sequence[object],
    *,
    written: Sequence[Sequence[str]],
    hover: str,
    down: str = "",
    across: str = "",
    diverging: bool = False,
) -> tuple[list[Trace], Trace]:
    """A heat map with its numbers written in where there is room; `hover` is a format of row, column and number."""
    finite = [abs(value) for row in values for value in row if value is not None]
    top = max(finite, default=1.0) or 1.0
    scale = [[0, "$minus"], [0.5, "$middle"], [1, "$plus"]] if diverging else [[0, "$heat-low"], [1, "$heat-high"]]
    small = len(rows) <= READABLE and len(columns) <= READABLE
    trace: Trace = {
        "type": "heatmap",
        "z": values,
        "zmin": -top if diverging else 0,
        "zmax": top if diverging else max(top, 1.0),
        "colorscale": scale,
        "showscale": not small,
        "xgap": 2,
        "ygap": 2,
        "text": written,
        "hovertext": [
            [
                hover.format(chart_text(row), chart_text(column), text)
                for column, text in zip(columns, texts, strict=True)
            ]
            for row, texts in zip(rows, written, strict=True)
        ],
        "hoverinfo": "text",
    }
    if small:
        trace |= {"texttemplate": "%{text}", "textfont": {"color": "$ink"}}
    layout = {
        "xaxis": category_axis(columns, title={"text": across}, side="top"),
        "yaxis": category_axis(rows, downwards=True, title={"text": down}),
    }
    return [trace], layout


def dotted_line(name: str, x: Sequence[float | None], y: Sequence[float | None]) -> Trace:
    """A thin dotted line, for what others are compared with."""
    line = {"dash": "dot", "color": "$quiet", "width": 1}
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": list(x),
        "y": list(y),
        "line": line,
        "hoverinfo": "skip",
    }


def whiskers(reach: Sequence[float | None]) -> Trace:
    """Lines as long as `reach` to both sides of a point."""
    return {"type": "data", "array": rounded_values(reach), "thickness": 1.5, "width": 4, "color": "$quiet"}


def rounded_values(values: Sequence[float | None], digits: int = 5) -> list[float | None]:
    """Numbers with as many digits as a chart can show; what is no number is left out."""
    return [None if value is None or not math.isfinite(value) else float(f"{value:.{digits}g}") for value in values]
