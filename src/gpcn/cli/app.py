"""The application: its commands, and how failures reach a person."""

from __future__ import annotations

import os
import signal
import sys
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from gpcn.cli.output import complain
from gpcn.errors import GpcnError

SUMMARIES = {
    "datasets": "List the benchmark datasets.",
    "inspect": "Describe a graph: size, classes, homophily, health.",
    "models": "List the models, or describe one.",
    "auto": "Have model and settings chosen, trained and judged within a budget of time; no hyperparameters.",
    "train": "Train a model on the splits of a graph and report the test score, mean ± std.",
    "compare": "Train several models on the same splits and compare them, also with the majority class.",
    "tune": "Search hyperparameters by the validation score; test scores are written down and never used.",
    "predict": "Predict the nodes of a graph with the models of a run, averaged over its splits.",
    "bound": "Compute the generalization bound of a trained model: as the paper prints it, and as its proof "
    "supports it.",
    "spectrum": "Compute Σ|λ|^k of the normalized adjacency for k = 1..POWERS, and draw where its spectrum lies.",
    "explain": "Take a prediction apart: features, neighbours at each hop, links.",
    "report": "Write one HTML page that works offline: graph, comparison, search, learning, predictions, what "
    "carries them.",
    "reproduce": "Measure the paper's tables and ablations again, beside the paper's own numbers.",
    "convert": "Convert a graph to the native .npz, which loads fastest, or to a folder of CSV tables.",
    "synth": "Make a contextual stochastic block model graph, or with [bold]--preset[/bold] messy tables as users "
    "have them.",
    "demo": "Make a graph whose neighbours disagree, describe it, compare models on it, predict its unlabelled "
    "nodes, report.",
}
"""What each command is for, the first sentence of its own help: `gpcn --help` imports none of them."""
FUNCTIONS = {"inspect": "inspect_graph"}
"""The function of a command, where it is not called like it."""


class Commands(TyperGroup):
    """Commands whose modules are imported when they are called."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command that `args` begin with, ready to be invoked."""
        name, stand_in, rest = super().resolve_command(ctx, args)
        return name, stand_in if name is None else command(name), rest


def command(name: str) -> Any:
    """The command called `name`, from its module."""
    alone = typer.Typer(add_completion=False, rich_markup_mode="rich", pretty_exceptions_enable=False)
    alone.command(name)(getattr(import_module(f"gpcn.cli.{name}"), FUNCTIONS.get(name, name)))
    return typer.main.get_command(alone)


app = typer.Typer(
    name="gpcn",
    cls=Commands,
    help="Node classification on graphs whose neighbours disagree.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _name, _summary in SUMMARIES.items():
    app.command(_name, help=_summary)(lambda: None)


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
