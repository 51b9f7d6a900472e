"""A split plan carried out on a graph that was loaded; plans that name columns need the table of nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpcn.errors import ConfigError
from gpcn.graph import Graph
from gpcn.split_plan import SplitPlan


def split_as_planned(graph: Graph, plan: SplitPlan, origin: Mapping[str, Any]) -> Graph:
    """`graph` with the splits of `plan`; `origin` says which files it came from."""
    return split_by_columns(graph, plan, origin) if plan.needs_columns else plan.make(graph)


def split_by_columns(graph: Graph, plan: SplitPlan, origin: Mapping[str, Any]) -> Graph:
    """`graph` split by the times or groups in a column of its table of nodes: the one place where they are read.

    TO CONNECT: read `plan.by` as float64 times (NaN where unknown), or `plan.group` as texts ("" where none), in the
    order of the graph's nodes, from the node table that `origin` names, and return
    `plan.make(graph, times=times, groups=groups)`.
    """
    option, column = ("--split-by", plan.by) if plan.by else ("--split-group", plan.group)
    raise ConfigError(
        f"{option} {column} needs the table of nodes of {origin.get('graph') or graph.name}, which is not read for it "
        "yet; put train, val and test into a split column, or use --random-splits or --folds"
    )
