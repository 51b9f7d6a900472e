"""`gpcn compare`: several models on the same splits, with significance."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpcn.cli.shared.option_groups import takes_option_groups
from gpcn.cli.shared.options import GraphArgument, Json, comma_separated
from gpcn.cli.shared.output import console, escaped, number_text, plain_table, print_json
from gpcn.cli.shared.training_options import Settings, SplitWork, TrainingGraph, metric_choice_note, read_settings

if TYPE_CHECKING:
    from gpcn.runs.comparison import ComparedModel, Comparison

MARK = " †"


@takes_option_groups
def compare(
    graph: GraphArgument,
    described: TrainingGraph,
    work: SplitWork,
    models: Annotated[
        str | None,
        typer.Option(
            "--models",
            metavar="A,B,…",
            help="Names that gpcn models lists (default: nine, from logistic and trees to deep-gpcn).",
        ),
    ] = None,
    settings: Settings = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder for a run per model.")] = None,
    json: Json = False,
) -> None:
    """Train several models on the same splits and compare them, also with the majority class.

    A setting applies to every model that has it.

    Example: [bold]gpcn compare texas --models mlp,gcn,gpcn --splits 0-4 --out runs/texas[/bold]
    """
    from gpcn.cli.shared.prestarted_workers import prestarted_training_workers
    from gpcn.cli.shared.progress import training_progress
    from gpcn.nn import zoo
    from gpcn.runs.comparison import MAJORITY
    from gpcn.runs.model_comparison import train_models
    from gpcn.training.config import TrainConfig

    prepared = described.prepare(graph, quiet=json)
    loaded = prepared.graph
    names = list(zoo.USUAL) if models is None else comma_separated(models) or []
    chosen, numbers = read_settings(settings), work.numbers()
    epochs = {name: value for name, value in chosen.items() if name == "epochs"}
    configs = [TrainConfig.of(name, **epochs) for name in names if name != MAJORITY]
    with prestarted_training_workers(loaded, configs, numbers, work.jobs):
        result = train_models(
            loaded,
            names,
            chosen,
            out=out,
            splits=numbers,
            jobs=work.jobs,
            device=work.device,
            seed=described.seed or 0,
            source=prepared.source,
            progress=training_progress,
        )
    if json:
        print_json(result)
    else:
        print_comparison(result, metric_choice_note(loaded))


def print_comparison(comparison: Comparison, note: str | None = None) -> None:
    """A row per model, best first, and what knowing only the class shares achieves."""
    from gpcn.tasks.metrics import find_metric

    to, metric = console(), find_metric(comparison.metric)
    numeric = ("test", "val", "seconds", "parameters")
    rows = plain_table("model", *numeric, "against the best on validation", numeric=numeric)
    for row in comparison.models:
        test = f"{number_text(row.test_mean, metric.digits)} ± {number_text(row.test_std, metric.digits)}"
        rows.add_row(
            escaped(row.model) + MARK * row.is_idle,
            test,
            number_text(row.val_mean, metric.digits),
            f"{row.seconds:.1f}",
            f"{row.parameters:,}",
            _against(row, metric.digits),
        )
    to.print(rows, highlight=False)
    better = "" if metric.greater_is_better else ", lower is better"
    to.print(
        f"{comparison.metric} on {escaped(comparison.graph)}{better}; mean ± std over splits, test nodes",
        highlight=False,
    )
    if comparison.chosen_on_validation is None:
        to.print(
            f"[dim]note: no model has a {metric.title} on validation nodes, which are all of one class, so none is the "
            "best there; use other splits, or another --metric[/dim]",
            highlight=False,
        )
    if any(row.is_idle for row in comparison.models):
        to.print(f"{MARK.strip()} no better than the majority", highlight=False)
    if note is not None:
        to.print(f"[dim]note: {escaped(note)}[/dim]", highlight=False)


def _against(row: ComparedModel, digits: int) -> str:
    if row.best:
        return "best on validation"
    paired = row.against_best
    if paired is None or paired.certainty is None:
        return "–"
    low, high, p = paired.certainty
    mark = "" if p >= 0.05 else "  *"
    return f"{paired.difference:+.{digits}f} [{low:+.{digits}f}, {high:+.{digits}f}], p = {p:.3f}{mark}"
