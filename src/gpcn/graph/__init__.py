"""Graph and Split: what flows through everything, validated when it is made."""

from gpcn.graph.graph import Graph, Split

__all__ = ["Graph", "Split"]
