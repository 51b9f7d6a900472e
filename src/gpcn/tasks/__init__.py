"""What is asked of a node: tasks, and the metrics that judge their predictions."""

from gpcn.tasks import class_metrics  # its metrics are known from here on

__all__ = ["class_metrics"]
