"""The run of a command that predicts, whose graph may lie elsewhere now."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gpcn.errors import ConfigError

if TYPE_CHECKING:
    from gpcn.workspace.folder import RunFolder


def open_run_and_nodes(
    run: Path, changed: str | None, moved: str | None, nodes: Path | None, mirror: Path | None
) -> tuple[RunFolder, Path | None]:
    """Return the run at `run`, and the table of nodes of a `changed` graph: `nodes`, if not of the `moved` one."""
    from gpcn.workspace.folder import open_run

    if changed is not None and moved is not None and nodes is not None:
        raise ConfigError(
            "--graph names where the graph trained on lies now and GRAPH (or --edges) a changed one, and --nodes can "
            "belong to one of them only; name a folder with edges.* and nodes.* as one of them"
        )
    if moved is None or changed is not None:
        return open_run(run, graph=moved, mirror=mirror), nodes
    return open_run(run, graph=moved, nodes=nodes, mirror=mirror), None
