"""Which features count: their mean share in the lead of the predicted class, and class by class."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gpcn.explanation import can_be_explained, why_unexplainable
from gpcn.explanation.explained_model import ExplainedModel
from gpcn.explanation.per_class import class_lead, class_lead_shares
from gpcn.graph import Graph
from gpcn.report.escaping import chart_text
from gpcn.report.figures import Figure, Trace, category_axis, chart_height, heat_map, rounded_values
from gpcn.report.materials import RunMaterial
from gpcn.report.tables import signed_number

SHOWN = 15
MOST_CLASSES = 12
MOST_EXACT, MOST_BY_GRADIENTS = 20_000_000, 1_000_000  # features of nodes that a page waits for
Floats = npt.NDArray[np.float64]


def importance_figures(material: RunMaterial) -> list[Figure]:
    """Two charts by the model of the first split; none where it has no features, or would take long."""
    run, graph = material.run, material.graph
    names = run.label_names()
    if graph is None or why_unexplainable(run) is not None or graph.num_features == 0 or len(names) > MOST_CLASSES:
        return []
    exact = can_be_explained(run)
    if feature_entries(graph) > (MOST_EXACT if exact else MOST_BY_GRADIENTS):
        return []
    explained = ExplainedModel.of(run, graph, run.finished()[0])
    predicted = explained.logits().argmax(1).numpy()
    by_class: dict[int, Floats] = {}
    for label in np.unique(predicted).tolist():
        nodes = np.flatnonzero(predicted == label).tolist()
        by_class[label] = class_lead_shares(explained, nodes, class_lead(label, len(names))).features.numpy()
    sizes = np.bincount(predicted, minlength=len(names)) / predicted.size
    mean = sum((sizes[label] * shares for label, shares in by_class.items()), np.zeros((2, graph.num_features)))
    order = [int(index) for index in np.argsort(-np.abs(mean.sum(axis=0)), kind="stable")[:SHOWN]]
    order = [index for index in order if mean[:, index].any()]
    if not order:
        return []
    feature_names = [explained.feature_name(feature) for feature in order]
    how = "" if exact else " Shares are integrated gradients, so they are approximate."
    table = {names[label]: shares.sum(axis=0)[order] for label, shares in by_class.items()}
    return [_bars(mean[:, order], feature_names, exact, how), _by_class(table, feature_names, how)]


def feature_entries(graph: Graph) -> int:
    """How many features of nodes there are that can have a share."""
    return graph.features.size if isinstance(graph.features, np.ndarray) else int(graph.features.nnz)


def _bars(mean: Floats, feature_names: list[str], exact: bool, how: str) -> Figure:
    kinds = (("directly", "$series-1"), ("through links", "$series-2")) if exact else (("share", "$series-1"),)
    bars: list[Trace] = [
        {
            "type": "bar",
            "orientation": "h",
            "name": kind,
            "x": rounded_values(values.tolist()),
            "y": list(range(len(feature_names))),
            "hovertext": [
                f"{chart_text(name)}: {signed_number(value, 3)} {kind}"
                for name, value in zip(feature_names, values, strict=True)
            ],
            "hoverinfo": "text",
            "marker": {"color": colour},
        }
        for (kind, colour), values in zip(kinds, mean, strict=False)
    ]
    about = (
        "Mean share of each feature in the lead of the predicted class over the mean of the others, over all nodes: "
        f"as a node's own feature, and as one of the nodes it is linked to. The first split's model.{how}"
    )
    layout = {
        "yaxis": category_axis(feature_names, downwards=True),
        "xaxis": {"title": {"text": "share of the lead"}, "zeroline": True},
        "barmode": "relative",
        "showlegend": True,
    }
    return Figure("Which features count", about, bars, layout, chart_height(len(feature_names), 320))


def _by_class(table: dict[str, Floats], feature_names: list[str], how: str) -> Figure:
    values = [rounded_values(list(row), 4) for row in np.stack(list(table.values()), axis=1).tolist()]
    written = [["–" if value is None else signed_number(value) for value in row] for row in values]
    data, layout = heat_map(
        values, feature_names, list(table), written=written, hover="{0}, predicted {1}: {2}", diverging=True
    )
    if len(feature_names) > 12:  # the numbers fit beside few columns
        data[0] |= {"texttemplate": "%{text}", "textfont": {"color": "$ink"}, "showscale": False}
    about = f"The same for the nodes predicted to be of each class. Blue speaks for the class, orange against it.{how}"
    return Figure("Features, class by class", about, data, layout, chart_height(len(feature_names), 320))
