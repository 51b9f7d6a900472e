"""The application: its commands, and how failures reach a person."""

from __future__ import annotations

import os
import signal
import sys
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from gpcn.cli.shared.guard import guarded
from gpcn.cli.shared.stopping import handle_stop_signal
from gpcn.core.errors import ConfigError

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
    "explain": "Take a prediction apart: features, neighbours at each hop, links; exactly, to the single feature.",
    "report": "Write one HTML page that works offline: graph, comparison, search, learning, predictions, what "
    "carries them.",
    "export": "Write a run as a program of PyTorch that needs nothing of gpcn, with the tensors of a graph to give it.",
    "reproduce": "Measure the paper's tables and ablations again, beside the paper's own numbers.",
    "shard": "Cut a graph into parts on disk, for training on a cluster.",
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


class Command(TyperCommand):
    """A command that refuses an option given twice where it takes one value, of which the parser keeps the last."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Give every parameter the value that `args` have for it."""
        _, _, given = self.make_parser(ctx).parse_args(args=list(args))
        options = [each for each in given if isinstance(each, TyperOption)]
        single = [option for option in options if not (option.multiple or option.is_flag)]
        twice = next((option for option in single if single.count(option) > 1), None)
        if twice is not None:
            several = ", several names between commas" if "," in (twice.metavar or "") else ""
            raise ConfigError(
                f"{max(twice.opts, key=len)} is given {single.count(twice)} times; expected it once{several}"
            )
        return super().parse_args(ctx, args)


def command(name: str) -> Any:
    """The command called `name`, from its module."""
    single = typer.Typer(add_completion=False, rich_markup_mode="rich", pretty_exceptions_enable=False)
    single.command(name, cls=Command)(getattr(import_module(f"gpcn.cli.{name}"), FUNCTIONS.get(name, name)))
    return typer.main.get_command(single)


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
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of a failure; may stand anywhere in a command.")
    ] = False,
) -> None:
    pass


def _invoke(words: list[str]) -> int:
    """Run what `words` say; the parser's own errors are raised, not shown."""
    root, code = typer.main.get_command(app), 0
    if "_GPCN_COMPLETE" in os.environ:
        return int(root.main(prog_name="gpcn") or 0)
    if not words:
        words, code = ["--help"], 2
    try:
        with root.make_context("gpcn", words) as context:
            root.invoke(context)
    except typer.Exit as ended:
        return code or ended.exit_code
    return code


def main() -> None:
    """Run the command line; a failure is one sentence on stderr, with exit code 2 or, for a bug of gpcn, 1."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handle_stop_signal)
    code = guarded(_invoke, sys.argv[1:])
    if code:
        sys.exit(code)
