"""One self-contained HTML page from runs, comparisons and graphs: `write`."""

from gpcn.report.page import is_installed, write

__all__ = ["is_installed", "write"]
