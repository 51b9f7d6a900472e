"""`gpcn predict`: labels and probabilities from a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gpcn.cli.options import ChangedGraph, Json, Mirror, Nodes, RunArgument
from gpcn.cli.output import console, print_json, print_notes, safe
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
    from gpcn.training import threshold as thresholds
    from gpcn.training.out_of_fold import predict_out_of_fold
    from gpcn.training.runs import Run
    from gpcn.training.source import graph_of
    from gpcn.tuning.auto import members

    rule = None if threshold is None else thresholds.read_threshold(threshold)
    runs = members(run) if (run / "auto.json").is_file() else [Run.open(run)]
    if rule is not None:
        thresholds.check_two_classes(runs[0])
    numbers = read_splits(splits)
    loaded = graph_of(runs[0], graph, nodes, mirror)
    if out_of_fold:
        if graph is not None or unlabelled:
            raise ConfigError("--out-of-fold is for the labelled nodes trained on; leave GRAPH and --unlabelled out")
        predictions = predict_out_of_fold(runs, loaded, splits=numbers)
    else:
        predictions = prediction.vote(runs, loaded, splits=numbers, only_unlabelled=unlabelled)
    decision = None
    if rule is not None:
        trained_on = loaded if graph is None or rule.kind != "f1" else graph_of(runs[0], mirror=mirror)
        validation = thresholds.validation_nodes(runs, trained_on, numbers) if rule.kind == "f1" else ()
        predictions, decision = thresholds.decide(predictions, rule, validation)
    if sort:
        predictions = predictions.sorted()
    prediction.write(predictions, out, safe_csv=safe_csv)
    notes = [*(loaded.notes if graph is not None else ()), *predictions.notes]
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
