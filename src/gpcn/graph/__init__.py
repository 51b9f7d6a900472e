"""Graph and Split: what flows through everything, validated when it is made."""

from gpcn.graph.graph import Graph
from gpcn.graph.split import Split

__all__ = ["Graph", "Split"]
