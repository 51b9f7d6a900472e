"""Several models on the same splits: every split as a dot, differences with their uncertainty, what each costs."""

from __future__ import annotations

from markupsafe import Markup

from gpcn.report.figures import Figure, Trace, category_axis, chart_height, rounded_values, whiskers
from gpcn.report.materials import ComparisonMaterial
from gpcn.report.tables import Cell, Table, mean_and_deviation, number_cell
from gpcn.report.templating import render_template
from gpcn.runs.comparison import ComparedModel, Comparison
from gpcn.tasks.metrics import find_metric

LEVEL = 0.05
APART = 0.16  # of a row's height, so that the mean hides no split
COLUMNS = ("model", "test", "validation", "against the best", "95 % interval", "p", "seconds", "parameters")


def comparison_section(material: ComparisonMaterial) -> Markup:
    """The section of one comparison."""
    comparison = material.table
    kinds = {run.name: run.run.config.model for run in material.runs}
    best = next((row for row in comparison.models if row.best), None)
    return render_template(
        "comparison.html",
        comparison=comparison,
        metric=comparison.metric.replace("_", " "),
        best=best and best.model,
        score=best and mean_and_deviation(best.test_mean, best.test_std, find_metric(comparison.metric).digits),
        splits=max(len(row.splits) for row in comparison.models),
        worse=_significant(comparison, -1),
        better=_significant(comparison, 1),
        idle=[row.model for row in comparison.models if row.is_idle],
        figures=[_scores(comparison), *_differences(comparison)],
        table=_table(comparison, kinds),
        notes=material.notes,
    )


def _significant(comparison: Comparison, sign: int) -> list[str]:
    """The models that are clearly better (`sign` 1) or worse (-1) than the best on validation."""
    direction = sign * find_metric(comparison.metric).sign

    def clear(row: ComparedModel) -> bool:
        paired = row.against_best
        if paired is None or paired.certainty is None or row.reference:
            return False
        return paired.certainty[2] < LEVEL and paired.difference * direction > 0

    return [row.model for row in comparison.models if clear(row)]


def _scores(comparison: Comparison) -> Figure:
    rows, metric = comparison.models, find_metric(comparison.metric)
    dots: Trace = {"x": [], "y": [], "hovertext": []}
    for index, row in enumerate(rows):
        for split in row.splits:
            if split.test is not None:
                dots["x"].append(split.test)
                dots["y"].append(index - APART)
                dots["hovertext"].append(f"split {split.split}: {split.test:.{metric.digits}f}")
    scored = [(index, row) for index, row in enumerate(rows) if row.test_mean is not None]
    means: Trace = {
        "x": rounded_values([row.test_mean for _, row in scored]),
        "y": [index + APART for index, _ in scored],
        "error_x": whiskers([row.test_std or 0.0 for _, row in scored]),
        "hovertext": [f"mean {mean_and_deviation(row.test_mean, row.test_std, metric.digits)}" for _, row in scored],
        "marker": {
            "size": 9,
            "symbol": "diamond",
            "color": ["$series-2" if row.best else "$ink" for _, row in scored],
        },
    }
    shared = {"type": "scatter", "mode": "markers", "hoverinfo": "text"}
    return Figure(
        "Test score of every split",
        "A dot is a split; the diamond is the mean with one standard deviation. The coloured one was chosen on "
        "validation nodes.",
        [
            {**shared, **dots, "name": "splits", "marker": {"size": 8, "opacity": 0.6, "color": "$series-1"}},
            {**shared, **means, "name": "mean ± std"},
        ],
        {
            "yaxis": category_axis([row.model for row in rows], downwards=True),
            "xaxis": {"title": {"text": metric.axis}, "zeroline": False},
            "showlegend": True,
        },
        chart_height(len(rows), 260),
    )


def _differences(comparison: Comparison) -> list[Figure]:
    pairs = [
        (row.model, row.against_best.difference, row.against_best.certainty)
        for row in comparison.models
        if row.against_best is not None and row.against_best.certainty is not None
    ]
    if not pairs:
        return []
    metric = find_metric(comparison.metric)
    trace: Trace = {
        "type": "scatter",
        "mode": "markers",
        "x": rounded_values([difference for _, difference, _ in pairs]),
        "y": list(range(len(pairs))),
        "error_x": whiskers([high - difference for _, difference, (_, high, _) in pairs]),
        "marker": {"size": 9, "color": ["$series-4" if p < LEVEL else "$series-5" for _, _, (_, _, p) in pairs]},
        "hovertext": [
            f"{difference:+.{metric.digits}f} {_interval(low, high, metric.digits)}, p {_chance(p)}"
            for _, difference, (low, high, p) in pairs
        ],
        "hoverinfo": "text",
    }
    return [
        Figure(
            "Difference to the best on validation",
            "Mean over the same splits with its 95 % interval, corrected for splits that overlap. Where the interval "
            "leaves zero out (coloured), chance is an unlikely explanation.",
            [trace],
            {
                "yaxis": category_axis([model for model, _, _ in pairs], downwards=True),
                "xaxis": {"title": {"text": "points" if metric.percent else metric.axis}, "zeroline": True},
            },
            chart_height(len(comparison.models), 260),
        )
    ]


def _chance(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _interval(low: float, high: float, digits: int) -> str:
    return f"[{low:+.{digits}f}, {high:+.{digits}f}]"


def _table(comparison: Comparison, kinds: dict[str, str]) -> Table:
    cells, digits = [], find_metric(comparison.metric).digits
    for row in comparison.models:
        pair, name = row.against_best, row.model
        certainty = pair and pair.certainty
        kind = name if row.reference else kinds[name]
        difference = number_cell(pair.difference if pair else None, digits, sign=True)
        cells.append(
            [
                Cell((name if kind == name else f"{name} ({kind})") + " †" * row.is_idle),
                Cell(mean_and_deviation(row.test_mean, row.test_std, digits), row.test_mean),
                number_cell(row.val_mean, digits),
                Cell("best on validation", 0.0) if row.best else difference,
                Cell(_interval(*certainty[:2], digits), certainty[0]) if certainty else Cell("–"),
                Cell(_chance(certainty[2]) + (" *" * (certainty[2] < LEVEL)), certainty[2]) if certainty else Cell("–"),
                number_cell(row.seconds, 1),
                number_cell(row.parameters, 0),
            ]
        )
    return Table(COLUMNS, cells, numeric=frozenset(COLUMNS[1:]))
