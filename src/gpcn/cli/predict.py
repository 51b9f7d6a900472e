"""`gpcn predict`: labels and probabilities from a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gpcn.cli.options import ChangedGraph, Json, Mirror, Nodes, RunArgument
from gpcn.cli.output import console, print_json, safe
from gpcn.cli.training_options import SplitNumbers, read_splits
from gpcn.errors import ConfigError


def predict(
    run: RunArgument,
    graph: ChangedGraph = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="A .csv, .parquet or .npz file.")] = Path("predictions.csv"),
    unlabelled: Annotated[bool, typer.Option("--unlabelled", help="Only nodes without a label.")] = False,
    out_of_fold: Annotated[
        bool,
        typer.Option("--out-of-fold", help="Each labelled node by the models for which it was a test node."),
    ] = False,
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
    from gpcn.training.source import graph_of
    from gpcn.tuning.auto import members

    runs = members(run) if (run / "auto.json").is_file() else [Run.open(run)]
    loaded = graph_of(runs[0], graph, nodes, mirror)
    if out_of_fold:
        from gpcn.training.out_of_fold import predict_out_of_fold

        if graph is not None or unlabelled:
            raise ConfigError("--out-of-fold is for the labelled nodes trained on; leave GRAPH and --unlabelled out")
        found = predict_out_of_fold(runs, loaded, splits=read_splits(splits))
    else:
        found = prediction.vote(runs, loaded, splits=read_splits(splits), only_unlabelled=unlabelled)
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
