"""`gpcn predict`: labels and probabilities from a run."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpcn.cli.shared.opened_run import RunOptions
from gpcn.cli.shared.option_groups import takes_option_groups
from gpcn.cli.shared.options import Json
from gpcn.cli.shared.output import console, escaped, print_json, print_notes
from gpcn.cli.shared.step_log import LogFormat, step_log
from gpcn.cli.shared.training_options import SplitNumbers, read_splits
from gpcn.core.errors import ConfigError

if TYPE_CHECKING:
    from gpcn.runs.predictions.prediction import Decision


@dataclass(frozen=True)
class PredictionOptions:
    """The nodes to predict, the models that do, and the probability that makes a node one of the rarer class."""

    unlabelled: Annotated[bool, typer.Option("--unlabelled", help="Only nodes without a label.")] = False
    out_of_fold: Annotated[
        bool,
        typer.Option("--out-of-fold", help="Each labelled node by the models for which it was a test node."),
    ] = False
    threshold: Annotated[
        str | None,
        typer.Option(
            "--threshold",
            metavar="0.3|f1|top=100",
            help="Two classes: the probability that makes a node one of the rarer; f1: as validation nodes choose.",
        ),
    ] = None
    splits: SplitNumbers = None
    unknown: Annotated[
        str | None,
        typer.Option(
            "--unknown",
            metavar="drop|add",
            help="Edges whose ends are not in the table of nodes (default: as in training).",
        ),
    ] = None
    only: Annotated[
        str | None, typer.Option("--only", metavar="new", help="Only nodes that were not there in training.")
    ] = None


@takes_option_groups
def predict(
    asked: RunOptions,
    wanted: PredictionOptions,
    out: Annotated[Path, typer.Option("--out", "-o", help="A .csv, .parquet or .npz file.")] = Path("predictions.csv"),
    sort: Annotated[
        bool, typer.Option("--sort", help="Most probable first: of the rarer of two classes, else of any.")
    ] = False,
    safe_csv: Annotated[
        bool,
        typer.Option("--safe-csv", help="CSV: an apostrophe before names that a spreadsheet would run as formulas."),
    ] = False,
    edges: Annotated[
        str | None, typer.Option("--edges", metavar="FILE", help="A table of edges: the same as GRAPH.")
    ] = None,
    log_format: LogFormat = None,
    json: Json = False,
) -> None:
    """Predict the nodes of a graph with the models of a run, averaged over its splits.

    Example: [bold]gpcn predict runs/mine --edges new.csv --nodes people.csv --only new --out predictions.csv[/bold]
    """
    from gpcn.runs.predictions import prediction

    if asked.graph is not None and edges is not None:
        raise ConfigError("GRAPH and --edges both name a graph; expected one of them")
    log = step_log(log_format, quiet=json)
    changed = asked.graph if edges is None else edges
    folder, table = asked.open(changed)
    options = asdict(wanted) | {"splits": read_splits(wanted.splits)}
    predictions = folder.predict(changed, table, **options, log=log)
    log(f"predicted {len(predictions.nodes):,} node(s), {predictions.new_nodes:,} of them new")
    decision = predictions.decision
    if sort:
        predictions = predictions.sorted()
    predictions.save(out, safe_csv=safe_csv)
    log(f"wrote {out}")
    notes = list(predictions.notes)
    formulas = None if safe_csv else prediction.spreadsheet_formula_note(predictions, out)
    notes += [f"{formulas}; --safe-csv puts an apostrophe before them"] if formulas else []
    facts = {
        "out": str(out),
        "predictions": len(predictions.nodes),
        "new_nodes": predictions.new_nodes,
        "threshold": decision,
        "notes": notes,
    }
    if predictions.drift is not None:
        facts |= {"vanished_nodes": predictions.vanished_nodes, "drift": predictions.drift}
    if json:
        print_json(facts)
        return
    to = console()
    to.print(f"{len(predictions.nodes):,} prediction(s) → {escaped(out)}", highlight=False)
    if decision is not None:
        to.print(_sentence(decision), highlight=False)
    print_notes(notes, to)


def _sentence(decision: Decision) -> str:
    """What the threshold did."""
    limit = "" if decision.threshold is None else f": probability of {decision.threshold:.4f} or more"
    chosen = "" if decision.validation_f1 is None else f" (F1 on validation nodes {decision.validation_f1:.1%})"
    return f"{decision.predicted_positive:,} are predicted {escaped(decision.positive)}{limit}{chosen}"
