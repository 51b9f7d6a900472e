"""The application: its commands, and how failures reach a person."""

from __future__ import annotations

import os
import signal
import sys
from typing import Annotated

import typer

from gpcn.cli import (
    bound,
    compare,
    convert,
    datasets,
    demo,
    explain,
    inspect,
    models,
    predict,
    report,
    reproduce,
    spectrum,
    synth,
    train,
    tune,
)
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
app.command("train")(train.train)
app.command("compare")(compare.compare)
app.command("tune")(tune.tune)
app.command("predict")(predict.predict)
app.command("bound")(bound.bound)
app.command("spectrum")(spectrum.spectrum)
app.command("explain")(explain.explain)
app.command("report")(report.report)
app.command("reproduce")(reproduce.reproduce)
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


class Stopped(BaseException):
    """Somebody asked the process to end: Ctrl-C or SIGTERM."""


def _stop(number: int, frame: object) -> None:
    raise Stopped(128 + number)


def main() -> None:
    """Run the command line; a known failure is one sentence on stderr and exit code 2."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    try:
        app()
    except GpcnError as error:
        complain(str(error))
        sys.exit(2)
    except Stopped as stopped:
        complain("stopped; what was saved is kept, and the same command goes on from there")
        sys.exit(stopped.args[0])
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except MemoryError:
        complain("this machine does not have enough memory for that graph")
        sys.exit(2)
