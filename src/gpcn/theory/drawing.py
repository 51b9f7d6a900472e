"""Figures as SVG: the same text for the same numbers, whole or not at all."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gpcn.core.atomic import replacing
from gpcn.core.extras import require_library


@contextmanager
def figure_at(path: Path, width: float, height: float) -> Iterator[Any]:
    """A matplotlib figure to draw on, in inches; it is at `path` afterwards."""
    matplotlib = require_library("matplotlib", "drawing a figure")
    from matplotlib.figure import Figure

    with matplotlib.rc_context({"svg.hashsalt": "gpcn", "svg.fonttype": "none", "font.size": 10}):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure
        for axes in figure.axes:
            axes.grid(alpha=0.25)
            axes.spines[["top", "right"]].set_visible(False)
        text = io.BytesIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
    with replacing(path) as stream:
        stream.write(text.getvalue())
