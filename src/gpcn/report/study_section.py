"""A study: how the best came to be, which settings mattered, and where in the space the good configurations lie."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from gpcn.report.escaping import chart_label, chart_text
from gpcn.report.figures import Figure, Trace, category_axis, chart_height, rounded_values
from gpcn.report.materials import StudyMaterial
from gpcn.report.tables import Cell, Table, number_cell
from gpcn.report.templating import render_template
from gpcn.tasks.metrics import find_metric

if TYPE_CHECKING:
    from gpcn.search.summary import FailedTrial, ProposedPoint, RankedTrial, StudySummary

MOST_AXES = 8
MOST_LINES = 300
STATES = {  # colour, and what it means
    "complete": ("$series-1", "went all the way"),
    "pruned": ("$series-5", "stopped early"),
    "running": ("$series-2", "not finished"),
}


def study_section(material: StudyMaterial) -> Markup:
    """The section of one study."""
    summary = material.summary
    scored = any(row.score is not None for row in summary.history)
    height = chart_height(len(summary.importance), 320)
    figures = [_progress(summary, height)] if scored else []
    if summary.importance:
        figures.append(_importance(summary.importance, height))
    wide = _coordinates(summary, material.dimensions)
    return render_template(
        "study.html",
        summary=summary,
        verdict=None if scored else _nothing_yet(summary),
        tiles=_tiles(summary),
        figures=figures,
        wide=[wide] if wide is not None else [],
        best=_best(summary.best, find_metric(summary.metric).digits) if summary.best else None,
        diverged=_diverged(summary.diverged),
        notes=material.notes,
    )


def _nothing_yet(summary: StudySummary) -> str:
    """What there is to say of a study without any score."""
    failed, more = summary.states["diverged"], "go on with gpcn tune --resume and this folder"
    if not failed:
        return f"No configuration has a score yet, so there is nothing to show: {more}."
    return f"No configuration has a score: {failed:,} diverged or failed, as said below. Change the space, or {more}."


def _tiles(summary: StudySummary) -> list[tuple[str, str, str]]:
    """Those tried are those that ended and those that have a score but go on; what was only proposed is not tried."""
    states = summary.states
    metric = find_metric(summary.metric)
    score = f"{summary.best[0].score:.{metric.digits}f}" if summary.best else "–"
    ended = summary.configurations - states["running"]
    unfinished = sum(row.state == "running" and row.score is not None for row in summary.history)
    waiting = states["running"] - unfinished
    words = {"complete": "complete", "pruned": "stopped early", "diverged": "diverged"}
    parts = [f"{states[name]:,} {word}" for name, word in words.items() if states[name]]
    parts += [f"{unfinished:,} more unfinished"] if unfinished else []
    proposed = f"; {waiting:,} more proposed" if waiting else ""
    return [
        ("best", score, f"on validation nodes; {metric.axis}"),
        ("tried", f"{ended + unfinished:,}", f"of {summary.space:,} configurations in the space{proposed}"),
        ("ended", f"{ended:,}", ", ".join(parts) or "none yet"),
        ("evaluations", f"{summary.evaluations:,}", "trainings of one configuration on one split"),
        ("time", f"{summary.seconds:,.0f} s", "of one core, all evaluations together"),
    ]


def _progress(summary: StudySummary, height: int = 320) -> Figure:
    history, metric = summary.history, find_metric(summary.metric)
    traces: list[Trace] = []
    for state, (colour, meaning) in STATES.items():
        in_state = [row for row in history if row.state == state and row.score is not None]
        if in_state:
            dots: Trace = {
                "type": "scatter",
                "mode": "markers",
                "name": meaning,
                "marker": {"color": colour, "size": 7},
            }
            dots |= {"x": [row.number for row in in_state], "y": rounded_values([row.score for row in in_state])}
            words = [f"#{row.number}: {row.score:.{metric.digits}f}, {meaning}" for row in in_state]
            traces.append(dots | {"hovertext": words, "hoverinfo": "text"})
    best = [row for row in history if row.best is not None]
    line = {
        "type": "scatter",
        "mode": "lines",
        "name": "best so far",
        "x": [row.number for row in best],
        "y": rounded_values([row.best for row in best]),
        "line": {"shape": "hv", "color": "$ink", "width": 1.5},
        "hovertemplate": f"best so far %{{y:.{metric.digits}f}}<extra></extra>",
    }
    traces += [line] if best else []
    about = (
        "Every configuration in the order it was proposed. Those stopped early are scored on fewer splits and epochs. "
        "The line is the best of those that went all the way."
    )
    layout = {
        "xaxis": {"title": {"text": "configuration"}, "zeroline": False},
        "yaxis": {"title": {"text": f"validation {metric.axis}"}, "zeroline": False},
        "showlegend": True,
        "dragmode": "zoom",
    }
    return Figure("Progress", about, traces, layout, height)


def _importance(shares: dict[str, float], height: int) -> Figure:
    names, values = list(shares), list(shares.values())
    bars = {
        "type": "bar",
        "orientation": "h",
        "x": rounded_values(values),
        "y": list(range(len(names))),
        "hovertext": [f"{chart_text(name)}: {value:.1%}" for name, value in shares.items()],
        "hoverinfo": "text",
        "marker": {"color": "$series-3"},
    }
    about = "The share of the score's variance that each setting explains by itself (fANOVA), over all that was tried."
    layout = {"yaxis": category_axis(names, downwards=True), "xaxis": {"tickformat": ".0%", "rangemode": "tozero"}}
    return Figure("What mattered", about, [bars], layout, height)


def _coordinates(summary: StudySummary, dimensions: Mapping[str, Sequence[Any]]) -> Figure | None:
    """Parallel coordinates, drawn as lines so that each can be hovered and none needs WebGL."""
    rows = [row for row in summary.history if row.score is not None]
    axes = _axes(summary, dimensions, rows)
    if len(rows) < 2 or not axes:
        return None
    metric = find_metric(summary.metric)
    scored = [(row.score, row) for row in rows if row.score is not None]
    scored = sorted(scored, key=lambda pair: metric.sign * pair[0])[-MOST_LINES:]
    low, high = scored[0][0], scored[-1][0]
    positions = list(range(len(axes) + 1))
    traces: list[Trace] = []
    for score, row in scored:
        share = (score - low) / (high - low) if high != low else 1.0
        heights = [_height(axes[name], row.point[name]) for name in axes] + [share]
        words = "<br>".join(f"{chart_text(name)} {chart_text(_written(row.point[name]))}" for name in axes)
        strong = share > 0.9
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "x": positions,
                "y": rounded_values(heights),
                "line": {"color": "$series-2" if strong else "$series-1", "width": 2 if strong else 1},
                "marker": {"size": 5, "color": "$series-2" if strong else "$series-1"},
                "opacity": round(0.12 + 0.75 * share**2, 3),
                "hovertext": f"#{row.number}: {score:.{metric.digits}f}<br>{words}",
                "hoverinfo": "text",
            }
        )
    notes: list[Trace] = []
    for position, (_, values) in enumerate(axes.items()):
        notes += [_tick(position, _height(values, value), _written(value)) for value in values]
    notes += [
        _tick(len(axes), share, f"{low + share * (high - low):.{metric.digits - 1}f}") for share in (0.0, 0.5, 1.0)
    ]
    layout = {
        "xaxis": category_axis(
            [*axes, "score"], side="top", tickangle=0, range=[-0.35, len(axes) + 0.45], fixedrange=True
        ),
        "yaxis": {"visible": False, "range": [-0.06, 1.06], "fixedrange": True},
        "annotations": notes,
    }
    shown = "" if len(scored) < MOST_LINES else f" The best {MOST_LINES} are shown."
    about = (
        "A line per configuration through the values of the settings that mattered most, to its score on the right; "
        f"the better, the stronger; the top tenth of the range in the second colour.{shown}"
    )
    return Figure("Parallel coordinates", about, traces, layout, 420)


def _axes(
    summary: StudySummary, dimensions: Mapping[str, Sequence[Any]], rows: Sequence[ProposedPoint]
) -> dict[str, Sequence[Any]]:
    varied = [name for name in dimensions if len({row.point[name] for row in rows}) > 1]
    ranked = sorted(varied, key=lambda name: -summary.importance.get(name, 0.0))[:MOST_AXES]
    return {name: dimensions[name] for name in dimensions if name in ranked}


def _height(values: Sequence[Any], value: Any) -> float:
    return list(values).index(value) / max(1, len(values) - 1)


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and value > 0 and value < 1 and math.log2(value).is_integer() and value < 0.1:
        return f"2^{int(math.log2(value))}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _tick(x: float, y: float, text: str) -> Trace:
    return {
        "x": x,
        "y": y,
        "text": chart_label(text),
        "showarrow": False,
        "xanchor": "left",
        "xshift": 5,
        "font": {"size": 10, "color": "$quiet"},
    }


def _best(rows: Sequence[RankedTrial], digits: int) -> Table:
    columns = ("#", "model", "validation", "splits", "test", "settings")
    cells = []
    for row in rows:
        words = ", ".join(f"{name} {_written(value)}" for name, value in row.settings.items())
        numbers = [
            number_cell(row.number, 0),
            Cell(row.model),
            number_cell(row.score, digits),
            number_cell(row.splits, 0),
        ]
        cells.append([*numbers, number_cell(row.test, digits), Cell(f"{words}, epoch chosen by {row.select}")])
    return Table(columns, cells, numeric=frozenset({"#", "validation", "splits", "test"}))


def _diverged(rows: Sequence[FailedTrial]) -> Table | None:
    if not rows:
        return None
    cells = [
        [
            number_cell(row.number, 0),
            Cell(row.why),
            Cell(", ".join(f"{name} {_written(value)}" for name, value in row.settings.items())),
        ]
        for row in rows
    ]
    return Table(("#", "what happened", "settings"), cells, numeric=frozenset({"#"}))
