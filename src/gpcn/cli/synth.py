"""`gpcn synth`: a graph with the properties one asks for."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gpcn.cli.convert import report_written, write_graph
from gpcn.cli.options import Json
from gpcn.data.synthetic import synthesize


class MixingChoice(StrEnum):
    """Where edges between classes go."""

    uniform = "uniform"
    ring = "ring"


def synth(
    out: Annotated[Path, typer.Option("--out", "-o", help="A .npz file, or a folder for edges.csv and nodes.csv.")],
    nodes: Annotated[int, typer.Option(help="Number of nodes.")] = 1000,
    classes: Annotated[int, typer.Option(help="Number of classes.")] = 4,
    degree: Annotated[float, typer.Option(help="Mean number of neighbours.")] = 8.0,
    homophily: Annotated[float, typer.Option(help="Share of edges inside a class, 0 to 1.")] = 0.2,
    features: Annotated[int, typer.Option(help="Number of features.")] = 16,
    signal: Annotated[float, typer.Option(help="How much features tell about the class; 0 is nothing.")] = 1.0,
    mixing: Annotated[MixingChoice, typer.Option(help="Where edges between classes go.")] = MixingChoice.uniform,
    directed: Annotated[bool, typer.Option("--directed", help="Give edges a direction.")] = False,
    unlabelled: Annotated[float, typer.Option(help="Share of nodes whose label is hidden.")] = 0.0,
    splits: Annotated[int, typer.Option(help="Number of random splits.")] = 5,
    seed: Annotated[int, typer.Option(help="The same seed gives the same graph.")] = 0,
    json: Json = False,
) -> None:
    """Make a contextual stochastic block model graph.

    Example: [bold]gpcn synth --nodes 100000 --homophily 0.1 --mixing ring --out ring.npz[/bold]
    """
    graph = synthesize(
        nodes=nodes,
        classes=classes,
        degree=degree,
        homophily=homophily,
        features=features,
        signal=signal,
        mixing=mixing.value,
        directed=directed,
        unlabelled=unlabelled,
        splits=splits,
        seed=seed,
    )
    write_graph(graph, out)
    report_written(graph, out, json)
