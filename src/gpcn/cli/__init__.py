"""The command line. One file per command; what a command does lives elsewhere in the package."""

from gpcn.cli.app import main

__all__ = ["main"]
