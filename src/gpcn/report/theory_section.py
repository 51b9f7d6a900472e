"""Theory: where a graph's spectrum lies, and what the bounds of a model on it are made of."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from markupsafe import Markup

from gpcn.report.figures import Figure, Trace, category_axis, chart_height, rounded_values, whiskers
from gpcn.report.materials import TheoryMaterial
from gpcn.report.tables import Cell, Table, number_cell
from gpcn.report.templating import render_template
from gpcn.theory.document import StoredBound, TheoryDocument

SIDES = (("printed", "as printed", "$series-5"), ("corrected", "as the proof supports", "$series-1"))


def theory_section(material: TheoryMaterial) -> Markup:
    """The section of one document."""
    document = material.document
    figures = [_density(document), _sums(document)]
    bounds = document.bounds
    return render_template(
        "theory.html",
        document=document,
        tiles=[] if bounds is None else _tiles(document, bounds),
        figures=figures,
        terms=None if bounds is None else _chart(bounds),
        table=None if bounds is None else _table(bounds),
        sums=_sums_table(document),
    )


def _spectrum_values(document: TheoryDocument) -> str:
    return "singular values" if document.spectrum.of == "singular" else "eigenvalues"


def _density(document: TheoryDocument) -> Figure:
    density = document.spectrum.density
    widths = [high - low for low, high in pairwise(density.edges)]
    middles = [low + width / 2 for low, width in zip(density.edges[:-1], widths, strict=True)]
    bars: Trace = {
        "type": "bar",
        "x": rounded_values(middles),
        "y": rounded_values([share or None for share in density.shares]),
        "width": rounded_values(widths),
        "marker": {"color": "$series-1"},
        "hovertemplate": "%{y:.2%} near %{x:.2f}<extra></extra>",
    }
    what = _spectrum_values(document)
    about = f"The share of all {what} of the normalized adjacency that lie in each range, on a logarithmic scale."
    layout = {
        "bargap": 0,
        "xaxis": {"title": {"text": what[:-1]}, "zeroline": False},
        "yaxis": {"type": "log", "dtick": 1, "tickformat": "~%", "title": {"text": "share of all"}},
    }
    return Figure("Spectrum", about, [bars], layout)


def _sums(document: TheoryDocument) -> Figure:
    powers = list(range(1, len(document.spectrum.power_sums)))
    line: Trace = {
        "type": "scatter",
        "mode": "lines+markers",
        "x": powers,
        "y": rounded_values(document.spectrum.power_sums[1:]),
        "error_y": whiskers(document.spectrum.errors[1:]),
        "line": {"color": "$series-3"},
        "marker": {"color": "$series-3", "size": 7},
        "hovertemplate": "k = %{x}: %{y:,.5g}<extra></extra>",
    }
    values = _spectrum_values(document)
    about = f"The sum of the k-th powers of {values}, which the printed bound grows with; {document.spectrum.method}."
    ticks = {"title": {"text": "k"}, "dtick": max(1, len(powers) // 8), "zeroline": False}
    layout = {"xaxis": ticks, "yaxis": {"rangemode": "tozero", "title": {"text": "Σ|λ|^k"}}}
    return Figure("Sums of powers", about, [line], layout)


def _tiles(document: TheoryDocument, bounds: dict[str, StoredBound]) -> list[tuple[str, str, str]]:
    tiles = []
    if document.train is not None and document.test is not None:
        tiles.append(("measured gap", f"{document.train - document.test:.2f}", "training minus test score, points"))
        tiles.append(("test", f"{document.test:.2f}", f"training {document.train:.2f}; split {document.split}"))
    for name, words, _ in SIDES:
        tiles.append(
            (f"bound {words}", f"{bounds[name].total:,.3g}", f"over Q; largest: {_term_title(bounds[name].dominant)}")
        )
    if document.reached is not None:
        mean, error = document.reached
        tiles.append(("reached", f"{mean:,.3g}", f"± {error:.2g} by random signs; a lower estimate"))
    return tiles


def _terms(bounds: dict[str, StoredBound]) -> list[str]:
    return list(dict.fromkeys(name for side, _, _ in SIDES for name in bounds[side].terms))


def _chart(bounds: dict[str, StoredBound]) -> Figure:
    names = _terms(bounds)
    traces: list[Trace] = []
    for side, words, colour in SIDES:
        values: Sequence[float | None] = [bounds[side].terms.get(name) or None for name in names]
        bar: Trace = {"type": "bar", "orientation": "h", "name": words, "marker": {"color": colour}}
        bar |= {
            "x": rounded_values(values),
            "y": list(range(len(names))),
            "hovertemplate": f"%{{x:,.4g}} {words}<extra></extra>",
        }
        traces.append(bar)
    about = (
        "What each term adds to the bound, on a logarithmic scale: a term that is ten times another is all that counts."
    )
    layout = {
        "barmode": "group",
        "showlegend": True,
        "xaxis": {"type": "log", "dtick": 1, "title": {"text": "complexity over Q"}, "exponentformat": "power"},
        "yaxis": category_axis([_term_title(name) for name in names], downwards=True),
    }
    return Figure("Terms of the bound", about, traces, layout, chart_height(2 * len(names), 320))


def _table(bounds: dict[str, StoredBound]) -> Table:
    def cells(label: str, values: Sequence[float | None]) -> list[Cell]:
        return [Cell(label), *(Cell("–") if value is None else Cell(f"{value:,.4g}", value) for value in values)]

    rows = [cells(_term_title(name), [bounds[side].terms.get(name) for side, _, _ in SIDES]) for name in _terms(bounds)]
    rows.append(cells("sum, over Q", [bounds[side].total for side, _, _ in SIDES]))
    rows.append(cells("test error exceeds training error by at most", [bounds[side].gap for side, _, _ in SIDES]))
    columns = ("term", *(words for _, words, _ in SIDES))
    return Table(columns, rows, numeric=frozenset(columns[1:]))


def _sums_table(document: TheoryDocument) -> Table:
    columns = ("k", "Σ|λ|^k", "within")
    rows = [
        [number_cell(k, 0), Cell(f"{value:,.6g}", value), Cell(f"± {error:.2g}" if error else "exact", error)]
        for k, (value, error) in enumerate(zip(document.spectrum.power_sums, document.spectrum.errors, strict=True))
        if k
    ]
    return Table(columns, rows, numeric=frozenset(columns))


def _term_title(term: str) -> str:
    return term.replace("_bounded_outputs", ", outputs bounded").replace("_", " ")
