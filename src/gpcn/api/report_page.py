"""The page of `gpcn report`, with a section about new tables where there are any to compare with those of training."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gpcn.api.folder import open_run
from gpcn.core.errors import ConfigError, Option
from gpcn.records import layout


def write_report_page(
    paths: Sequence[str | Path],
    out: str | Path,
    *,
    edges: str | None = None,
    nodes: Path | None = None,
    graph: str | None = None,
    mirror: Path | None = None,
    names_nodes: bool = True,
) -> dict[str, Any]:
    """`report.write`; `edges` and `nodes` are new tables that the runs among `paths` predict, and compare with theirs.

    Without `edges`, `nodes` goes with `graph`, which says where the graph trained on lies now.
    """
    from gpcn import report
    from gpcn.data.object_storage import local_copy, remote_url
    from gpcn.distributed.assembled_run import assemble_run

    paths = [path if remote_url(path) is None else local_copy(path) for path in paths]
    for path in paths:
        assemble_run(Path(path))
    if edges is None:
        return report.write(paths, out, mirror=mirror, graph=graph, nodes=nodes, names_nodes=names_nodes)
    if graph is not None:
        raise ConfigError(
            f"{Option('edges')} names new tables and {Option('graph')} where the old ones are now, and "
            f"{Option('nodes')} can belong to one of them only; leave {Option('graph')} out: drift needs "
            "no more than the run"
        )
    from gpcn.report.materials import NewTablesMaterial

    new_tables = []
    for path in dict.fromkeys(map(str, paths)):
        if not _holds_a_run(Path(path)):
            continue
        folder = open_run(path, mirror=mirror)
        predictions = folder.predict(edges, nodes)
        new_tables.append(NewTablesMaterial(Path(edges).name, folder.path.resolve().name, predictions, names_nodes))
    if not new_tables:
        raise ConfigError(
            f"{Option('edges')} is scored by a run, and {', '.join(map(str, paths))} holds none; name a run, too"
        )
    return report.write(paths, out, mirror=mirror, names_nodes=names_nodes, new_tables=new_tables)


def _holds_a_run(path: Path) -> bool:
    """A run, a comparison or a choice of `auto`; a study has no models, a graph or a document neither."""
    return layout.kind_of(path) in ("run", "comparison", "auto")
