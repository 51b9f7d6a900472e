"""`gpcn synth`: a graph with the properties one asks for, or messy tables as users have them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gpcn.cli.convert import print_written_graph, write_graph
from gpcn.cli.shared.option_groups import takes_option_groups
from gpcn.cli.shared.options import Json, option_given_besides
from gpcn.cli.shared.output import console, escaped, print_json
from gpcn.core.errors import ConfigError
from gpcn.data.presets import preset as find_preset
from gpcn.data.presets import write_preset
from gpcn.data.synthetic import synthesize

NODES = 1000
WITH_PRESET = {"out", "preset", "nodes", "seed", "json"}


class MixingChoice(StrEnum):
    """Where edges between classes go."""

    uniform = "uniform"
    ring = "ring"


@dataclass(frozen=True)
class GraphDials:
    """Properties of a graph of the contextual stochastic block model."""

    nodes: Annotated[int | None, typer.Option(help=f"Number of nodes (default: {NODES}, or as the preset has it).")] = (
        None
    )
    classes: Annotated[int, typer.Option(help="Number of classes.")] = 4
    degree: Annotated[float, typer.Option(help="Mean number of neighbours.")] = 8.0
    homophily: Annotated[float, typer.Option(help="Share of edges inside a class, 0 to 1.")] = 0.2
    features: Annotated[int, typer.Option(help="Number of features.")] = 16
    signal: Annotated[float, typer.Option(help="How much features tell about the class; 0 is nothing.")] = 1.0
    mixing: Annotated[MixingChoice, typer.Option(help="Where edges between classes go.")] = MixingChoice.uniform
    directed: Annotated[bool, typer.Option("--directed", help="Give edges a direction.")] = False
    unlabelled: Annotated[float, typer.Option(help="Share of nodes whose label is hidden.")] = 0.0
    splits: Annotated[int, typer.Option(help="Number of random splits.")] = 5
    seed: Annotated[int, typer.Option(help="The same seed gives the same graph.")] = 0


@takes_option_groups
def synth(
    context: typer.Context,
    dials: GraphDials,
    out: Annotated[Path, typer.Option("--out", "-o", help="A .npz file, or a folder for CSV tables.")],
    preset: Annotated[
        str | None,
        typer.Option(
            "--preset", metavar="fraud|social|pages", help="Messy tables to try things on, with next month's."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Make a contextual stochastic block model graph, or with [bold]--preset[/bold] messy tables as users have them.

    Example: [bold]gpcn synth --nodes 100000 --homophily 0.1 --mixing ring --out ring.npz[/bold]

    Example: [bold]gpcn synth --preset fraud --out fraud[/bold]
    """
    if preset is not None:
        _refuse_dials(context, preset)
        _write_tables(preset, out, dials.nodes, dials.seed, json)
        return
    graph = synthesize(**asdict(dials) | {"nodes": NODES if dials.nodes is None else dials.nodes})
    write_graph(graph, out)
    print_written_graph(graph, out, json)


def _refuse_dials(context: typer.Context, preset: str) -> None:
    """A preset decides all but its size and seed."""
    option = option_given_besides(context, WITH_PRESET)
    if option is not None:
        raise ConfigError(f"{option} is not for the preset {preset}, which takes --nodes and --seed; leave it out")


def _write_tables(name: str, out: Path, nodes: int | None, seed: int, json: bool) -> None:
    chosen = find_preset(name)
    drawn = write_preset(name, out, nodes=nodes, seed=seed)
    sizes = [len(table[column]) for table, column in ((drawn.now.nodes, chosen.id), (drawn.now.edges, chosen.source))]
    compare, predict = chosen.compare_command(out), chosen.predict_command(out)
    if json:
        facts = {"out": str(out), "preset": name, "nodes": sizes[0], "edges": sizes[1]}
        print_json({**facts, "compare": compare, "predict": predict})
        return
    to = console()
    to.print(
        f"{sizes[0]:,} rows in {escaped(out / chosen.node_file)}, {sizes[1]:,} in {escaped(out / chosen.edge_file)}, "
        f"next month's in {escaped(out / 'next')}; go on with:",
        highlight=False,
        soft_wrap=True,
    )
    for command in (compare, predict):
        to.print(f"  {escaped(command)}", highlight=False, soft_wrap=True)
