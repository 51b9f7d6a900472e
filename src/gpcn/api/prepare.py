"""`prepare`: from what a user names to the graph that is trained on, the same for every face.

The graph is read, split by the plan (or by the usual one, where it has no splits) and judged by the metric. Beside it
stands where it came from, so that a run can load it again.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from gpcn.core.errors import ConfigError, GpcnError
from gpcn.data import native
from gpcn.data.apply_split_plan import apply_split_plan
from gpcn.data.graph_record import GraphSource
from gpcn.data.load import load
from gpcn.data.split_plan import SplitPlan, default_split_plan
from gpcn.data.tables.columns import Columns
from gpcn.graph import Graph
from gpcn.records import layout
from gpcn.tasks.metrics import metric_names


@dataclass(frozen=True)
class PreparedGraph:
    """A graph that can be trained on.

    Args:
        graph: with its splits and metric.
        source: where it came from; `None` for a graph from memory, until `keep_graph` has kept it.
        notes: decisions that were made while it was split, for people to read.
    """

    graph: Graph
    source: GraphSource | None
    notes: tuple[str, ...] = ()

    def kept_in(self, folder: Path) -> PreparedGraph:
        """The same with a source: a graph from memory is written into `folder`, unless it is there already."""
        return self if self.source else PreparedGraph(self.graph, keep_graph(self.graph, folder), self.notes)


def prepare(
    graph: Graph | str | Path,
    plan: SplitPlan | None = None,
    metric: str | None = None,
    seed: int = 0,
    *,
    nodes: str | Path | None = None,
    columns: Columns | None = None,
    mirror: str | Path | None = None,
    needs_splits: bool = True,
    require_labels: bool = True,
) -> PreparedGraph:
    """Return the graph to train on, and where it came from.

    Args:
        graph: a graph, a dataset's name or a path (as for `gpcn.load`).
        plan: how to split, instead of by the splits the graph has.
        metric: what is measured (default: the graph's own).
        seed: of the usual splits, for a graph that has none where nothing is said of them.
        nodes: the table of nodes that goes with a table of edges.
        columns: what the columns of the tables hold.
        mirror: a folder with the raw files of the benchmark datasets.
        needs_splits: whether a graph without splits gets the usual ones.
        require_labels: whether tables must have a label.
    """
    loaded, source = _read(graph, nodes, columns, mirror, require_labels)
    if metric is not None and metric not in metric_names():
        raise ConfigError(f"metric is {metric!r}; expected one of {', '.join(metric_names())}")
    notes: tuple[str, ...] = ()
    if plan is None and needs_splits:
        plan = default_split_plan(loaded, seed)
        if plan is not None:
            shares = f"{plan.train:.0%} of the labelled nodes train, {plan.val:.0%} validate"
            notes = (f"no splits are given: {plan.count} random ones, {shares}",)
    if plan is not None:
        split = apply_split_plan(loaded, plan, source or GraphSource())
        notes += split.notes[len(loaded.notes) :]
        loaded = split
    if metric is not None:
        loaded = loaded.with_metric(metric)
    return PreparedGraph(loaded, source and replace(source, splits=plan), notes)


def keep_graph(graph: Graph, folder: Path) -> GraphSource:
    """Keep a graph that came from no file in `folder`, and say where; another one that is there is refused."""
    file = folder / layout.GRAPH
    if file.exists():
        try:
            same = native.read(file).equals(graph)
        except GpcnError as error:
            raise ConfigError(f"{error}; choose another out") from error
        if not same:
            raise ConfigError(f"{folder} holds results on another graph than this {graph.name}; choose another out")
    else:
        folder.mkdir(parents=True, exist_ok=True)
        native.write(graph, file)
    return GraphSource.of(file)


def _read(
    graph: Graph | str | Path,
    nodes: str | Path | None,
    columns: Columns | None,
    mirror: str | Path | None,
    require_labels: bool,
) -> tuple[Graph, GraphSource | None]:
    if isinstance(graph, Graph):
        for name, given in (("nodes", nodes), ("columns", columns)):
            if given is not None:
                raise ConfigError(f"{name} goes with a path, and the graph is one already; leave it out")
        return graph, None
    if not isinstance(graph, (str, Path)):
        raise ConfigError(f"graph is of type {type(graph).__name__}; expected a Graph, a dataset's name or a path")
    table = None if nodes is None else Path(nodes)
    loaded = load(graph, nodes=table, columns=columns, mirror=mirror, require_labels=require_labels)
    return loaded, GraphSource.of(graph, table, columns)
