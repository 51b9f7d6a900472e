"""The command line. One file per command; what a command does lives elsewhere in the package."""

import gc
import sys

from gpcn.cli.shared.stopping import stoppable

__all__ = ["main"]

ALLOCATIONS = 10_000  # between two looks for garbage; Python's own 700 are many looks at all that imports have made


def main() -> None:
    """Run the command line."""
    gc.set_threshold(ALLOCATIONS)
    with stoppable():
        from gpcn.cli.app import main as run

        try:
            run()
        finally:
            if "duckdb" not in sys.modules:  # which lists on the terminal whatever is left
                gc.freeze()  # what is left ends with the process: looking through it takes a quarter of a second
