"""The application: its commands, and how failures reach a person."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from gpcn.cli import convert, datasets, demo, inspect, models, synth
from gpcn.cli.output import complain
from gpcn.errors import GpcnError

app = typer.Typer(
    name="gpcn",
    help="Node classification on graphs whose neighbours disagree.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("datasets")(datasets.datasets)
app.command("inspect")(inspect.inspect_graph)
app.command("models")(models.models)
app.command("convert")(convert.convert)
app.command("synth")(synth.synth)
app.command("demo")(demo.demo)


def _print_version(wanted: bool) -> None:
    if wanted:
        from gpcn import __version__

        typer.echo(f"gpcn {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line; a known failure is one sentence on stderr and exit code 2."""
    try:
        app()
    except GpcnError as error:
        complain(str(error))
        sys.exit(2)
    except KeyboardInterrupt:
        complain("stopped")
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except MemoryError:
        complain("this machine does not have enough memory for that graph")
        sys.exit(2)
