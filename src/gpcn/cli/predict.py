"""`gpcn predict`: labels and probabilities from a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gpcn.cli.options import ChangedGraph, Json, Mirror, Nodes, RunArgument
from gpcn.cli.output import console, print_json, print_notes, safe
from gpcn.cli.training_options import SplitNumbers, read_splits


def predict(
    run: RunArgument,
    graph: ChangedGraph = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="A .csv, .parquet or .npz file.")] = Path("predictions.csv"),
    unlabelled: Annotated[bool, typer.Option("--unlabelled", help="Only nodes without a label.")] = False,
    out_of_fold: Annotated[
        bool,
        typer.Option("--out-of-fold", help="Each labelled node by the models for which it was a test node."),
    ] = False,
    threshold: Annotated[
        str | None,
        typer.Option(
            "--threshold",
            metavar="0.3|f1|top=100",
            help="Two classes: the probability that makes a node one of the rarer; f1: as validation nodes choose.",
        ),
    ] = None,
    sort: Annotated[
        bool, typer.Option("--sort", help="Most probable first: of the rarer of two classes, else of any.")
    ] = False,
    safe_csv: Annotated[
        bool,
        typer.Option("--safe-csv", help="CSV: an apostrophe before names that a spreadsheet would run as formulas."),
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
    from gpcn.workspace.folder import open_run

    predictions = open_run(run, mirror=mirror).predict(
        graph, nodes, splits=read_splits(splits), unlabelled=unlabelled, out_of_fold=out_of_fold, threshold=threshold
    )
    decision = predictions.decision
    if sort:
        predictions = predictions.sorted()
    predictions.save(out, safe_csv=safe_csv)
    notes = list(predictions.notes)
    formulas = None if safe_csv else prediction.formula_note(predictions, out)
    notes += [formulas] if formulas else []
    facts = {
        "out": str(out),
        "predictions": len(predictions.nodes),
        "new_nodes": predictions.new_nodes,
        "threshold": decision,
        "notes": notes,
    }
    if json:
        print_json(facts)
        return
    to = console()
    to.print(f"{len(predictions.nodes):,} prediction(s) → {safe(out)}", highlight=False)
    if decision is not None:
        to.print(_sentence(decision), highlight=False)
    print_notes(notes, to)


def _sentence(decision: dict[str, Any]) -> str:
    """What the threshold did."""
    limit = "" if decision["threshold"] is None else f": probability of {decision['threshold']:.4f} or more"
    chosen = f" (F1 on validation nodes {decision['validation_f1']:.1%})" if "validation_f1" in decision else ""
    return f"{decision['predicted_positive']:,} are predicted {safe(decision['positive'])}{limit}{chosen}"
