"""The run of a command that predicts, and the graph it is asked about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpcn.cli.shared.options import ChangedGraph, Mirror, MovedGraph, Nodes, RunArgument
from gpcn.core.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from gpcn.api.folder import RunFolder


@dataclass(frozen=True)
class RunOptions:
    """A run, a changed graph to ask it about, and where the graph trained on lies now."""

    run: RunArgument
    graph: ChangedGraph = None
    moved_graph: MovedGraph = None
    nodes: Nodes = None
    mirror: Mirror = None

    def open(self, changed: str | None = None) -> tuple[RunFolder, Path | None]:
        """Return the run, and the table of nodes of the `changed` graph: `nodes`, if not of the moved one."""
        from gpcn.api.folder import open_run

        changed, moved = changed or self.graph, self.moved_graph
        if changed is not None and moved is not None and self.nodes is not None:
            raise ConfigError(
                "--graph names where the graph trained on lies now and GRAPH (or --edges) a changed one, and --nodes "
                "can belong to one of them only; name a folder with edges.* and nodes.* as one of them"
            )
        if moved is None or changed is not None:
            return open_run(self.run, graph=moved, mirror=self.mirror), self.nodes
        return open_run(self.run, graph=moved, nodes=self.nodes, mirror=self.mirror), None
