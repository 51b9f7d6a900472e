"""Tasks, that is, questions asked of every node, and the metrics that judge their predictions."""

from gpcn.tasks import class_metrics  # its metrics are known from here on

__all__ = ["class_metrics"]
