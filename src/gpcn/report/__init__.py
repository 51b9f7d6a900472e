"""One self-contained HTML page from runs, comparisons and graphs: `write`."""

from gpcn.report.page import write

__all__ = ["write"]
