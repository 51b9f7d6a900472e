"""The command line. One file per command; what a command does lives elsewhere in the package."""

from gpcn.cli.stopping import stoppable

__all__ = ["main"]


def main() -> None:
    """Run the command line."""
    with stoppable():
        from gpcn.cli.app import main as run

        run()
