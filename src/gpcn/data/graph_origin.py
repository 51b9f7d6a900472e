"""Where a graph came from, as data, so that a run can load it again."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from gpcn.data.benchmarks import catalog
from gpcn.data.object_storage import remote_url
from gpcn.data.tables.columns import Columns


def graph_origin(graph: str | Path, nodes: str | Path | None = None, columns: Columns | None = None) -> dict[str, Any]:
    """A dataset's name and a URL as they are, files by where they lie now; and what their columns hold."""
    dataset = graph if isinstance(graph, str) and graph in catalog.names() else None
    location = dataset or remote_url(graph) or str(Path(graph).resolve())
    table = None if nodes is None else str(Path(nodes).resolve())
    return {"graph": location, "nodes": table, "columns": asdict(columns or Columns())}
