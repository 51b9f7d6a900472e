"""What `auto` chose: what to expect of it, what it is made of, and everything it was chosen from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from gpcn.report.escaping import chart_text
from gpcn.report.figures import Figure, Trace, rounded_values
from gpcn.report.materials import AutoMaterial
from gpcn.report.tables import Cell, Table, mean_and_deviation, number_cell
from gpcn.report.templating import render_template
from gpcn.search.auto.choice_record import AutoChoice, FinishedChoice, TriedCandidate
from gpcn.tasks.metrics import find_metric


def auto_section(material: AutoMaterial) -> Markup:
    """The section of one choice."""
    choice = material.choice
    metric = find_metric(choice.metric)
    finished = choice if isinstance(choice, FinishedChoice) else None
    tried = finished.tried if finished else ()
    sentences = [text[:1].upper() + text[1:] + "." for text in choice.why]
    return render_template(
        "auto.html",
        choice=choice,
        tiles=_tiles(choice, metric.digits, metric.axis),
        verdict=f"Chosen: {choice.chosen}.",
        why=sentences,
        warnings=finished.warnings if finished else (),
        figures=[_progress(tried, metric)] if tried else [],
        tried=_tried(tried, choice.members, metric.digits) if tried else None,
        passed_over=_passed_over(finished) if finished else None,
        notes=material.notes,
    )


def _tiles(choice: AutoChoice, digits: int, axis: str) -> list[tuple[str, str, str]]:
    over = "" if choice.test_std is None else "mean ± std over splits; "
    tiles = [("test", mean_and_deviation(choice.test_mean, choice.test_std, digits), f"{over}{axis}")]
    if isinstance(choice, FinishedChoice):
        expected = choice.expected
        reach = f"{expected.low:.{digits}f} to {expected.high:.{digits}f}"
        tiles += [
            ("expected", f"{expected.score:.{digits}f}", f"{reach}, before looking at test nodes"),
            ("configurations", f"{choice.configurations:,}", f"judged by {choice.judged_by}"),
            ("members", f"{len(set(choice.members)):,}", "whose probabilities are averaged"),
            ("time", f"{choice.seconds:,.0f} s", f"of a budget of {choice.budget:,.0f} s"),
        ]
    return tiles


def _progress(tried: Sequence[TriedCandidate], metric: Any) -> Figure:
    scored = [row for row in tried if row.first_score is not None]
    words = [f"#{row.number} {chart_text(row.title)}: {row.first_score:.{metric.digits}f}" for row in scored]
    dots: Trace = {
        "type": "scatter",
        "mode": "markers",
        "name": "tried",
        "x": [row.number for row in scored],
        "y": rounded_values([row.first_score for row in scored]),
        "hovertext": words,
        "hoverinfo": "text",
        "marker": {"color": "$series-1", "size": 7},
    }
    about = "Every configuration in the order it was tried, by its score on the nodes that judged it first."
    layout = {
        "xaxis": {"title": {"text": "configuration"}, "zeroline": False},
        "yaxis": {"title": {"text": f"judged {metric.axis}"}, "zeroline": False},
    }
    return Figure("What was tried", about, [dots], layout)


def _tried(tried: Sequence[TriedCandidate], members: Sequence[str], digits: int) -> Table:
    counts = {int(name.split("-")[0]): members.count(name) for name in members}
    columns = ("#", "configuration", "model", "judged", "judged first", "epochs", "seconds", "counts")
    rows = [
        [
            number_cell(row.number, 0),
            Cell(row.title),
            Cell(row.model),
            number_cell(row.score, digits),
            number_cell(row.first_score, digits),
            number_cell(row.epochs, 0),
            number_cell(row.seconds, 1),
            number_cell(counts.get(row.number, 0), 0),
        ]
        for row in sorted(tried, key=lambda row: (row.number not in counts, row.number))
    ]
    return Table(columns, rows, numeric=frozenset(set(columns) - {"configuration", "model"}))


def _passed_over(choice: FinishedChoice) -> Table | None:
    both = choice.skipped | choice.failed
    if not both:
        return None
    return Table(("configuration", "why not"), [[Cell(title), Cell(why)] for title, why in both.items()])
