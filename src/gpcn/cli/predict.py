"""`gpcn predict`: labels and probabilities from a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gpcn.cli.options import Json, Mirror, Nodes
from gpcn.cli.output import console, print_json, safe
from gpcn.cli.training_options import SplitNumbers, read_splits
from gpcn.graph import Graph


def predict(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A folder written by gpcn train.")],
    graph: Annotated[
        str | None, typer.Argument(metavar="[GRAPH]", help="A changed graph (default: the one trained on).")
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="A .csv, .parquet or .npz file.")] = Path("predictions.csv"),
    unlabelled: Annotated[bool, typer.Option("--unlabelled", help="Only nodes without a label.")] = False,
    splits: SplitNumbers = None,
    nodes: Nodes = None,
    mirror: Mirror = None,
    json: Json = False,
) -> None:
    """Predict the nodes of a graph with the models of a run, averaged over its splits.

    Example: [bold]gpcn predict runs/mine new-folder --unlabelled --out predictions.csv[/bold]
    """
    from gpcn.training import prediction
    from gpcn.training.runs import Run

    opened = Run.open(run)
    loaded = _load(opened.graph.get("source") or {}, graph, nodes, mirror)
    found = prediction.predict(opened, loaded, splits=read_splits(splits), only_unlabelled=unlabelled)
    prediction.write(found, out)
    facts = {
        "out": str(out),
        "predictions": len(found.nodes),
        "new_nodes": found.new_nodes,
        "notes": list(found.notes),
    }
    if json:
        print_json(facts)
        return
    to = console()
    to.print(f"{len(found.nodes):,} prediction(s) → {safe(out)}", highlight=False)
    for note in found.notes:
        to.print(f"[dim]note: {safe(note)}[/dim]", highlight=False)


def _load(told: dict[str, Any], graph: str | None, nodes: Path | None, mirror: Path | None) -> Graph:
    from gpcn.data.columns import Columns
    from gpcn.data.load import load
    from gpcn.errors import ConfigError

    columns = Columns()
    if told.get("columns"):
        stored: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in told["columns"].items()
        }
        columns = Columns(**stored)
    if graph is None:
        if not told.get("graph"):
            raise ConfigError("this run does not say where its graph came from; name the graph: gpcn predict RUN GRAPH")
        graph, nodes = told["graph"], nodes or (Path(told["nodes"]) if told.get("nodes") else None)
    plain = graph.endswith(".npz") or not Path(graph).exists()
    return load(graph, nodes=nodes, columns=Columns() if plain else columns, mirror=mirror, require_labels=False)
