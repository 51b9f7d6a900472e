"""`gpcn compare`: several models on the same splits, with significance."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gpcn.cli.grouped import grouped
from gpcn.cli.options import GraphArgument, GraphOptions, Json
from gpcn.cli.output import console, number, print_json, print_notes, safe, table
from gpcn.cli.training_options import (
    Device,
    Jobs,
    MetricName,
    Seed,
    Settings,
    SplitNumbers,
    SplitOptions,
    judge_by,
    metric_note,
    read_settings,
    read_splits,
    reading_notes,
)
from gpcn.errors import ConfigError
from gpcn.graph import Graph

MARK = " †"
DEFAULT = "logistic,trees,link,gcn,gpcn,gpcn-link,multi-gpcn,multi-gpcn-link,deep-gpcn"


@grouped
def compare(
    graph: GraphArgument,
    options: GraphOptions,
    parts: SplitOptions,
    models: Annotated[str, typer.Option("--models", metavar="A,B,…", help="Names that gpcn models lists.")] = DEFAULT,
    settings: Settings = None,
    splits: SplitNumbers = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder for a run per model.")] = None,
    jobs: Jobs = None,
    device: Device = "auto",
    seed: Seed = None,
    metric: MetricName = None,
    json: Json = False,
) -> None:
    """Train several models on the same splits and compare them, also with the majority class.

    A setting applies to every model that has it.

    Example: [bold]gpcn compare texas --models mlp,gcn,gpcn --splits 0-4 --out runs/texas[/bold]
    """
    loaded = options.load(graph)
    if not json:
        print_notes(reading_notes(loaded))
    told = options.origin(graph)
    loaded = judge_by(parts.split(loaded, told, seed or 0, quiet=json), told, metric)
    chosen = [name.strip() for name in models.split(",") if name.strip() not in ("", "majority")]  # always a row
    if not chosen:
        raise ConfigError("--models names no model; expected names such as mlp,gpcn")
    found = run_models(
        loaded,
        chosen,
        read_settings(settings),
        out=out,
        splits=read_splits(splits),
        jobs=jobs,
        device=device,
        seed=seed or 0,
        source=told,
    )
    if json:
        print_json(found)
    else:
        show(found, metric_note(loaded))


def run_models(
    graph: Graph, names: list[str], settings: dict[str, Any], *, out: Path | None, seed: int, **options: Any
) -> dict[str, Any]:
    """Train each model and compare; settings that no model knows are refused."""
    from gpcn.cli.progress import training_progress
    from gpcn.training.comparison import compare as compare_results
    from gpcn.training.config import TrainConfig, setting_names
    from gpcn.training.folders import refuse_other_kinds
    from gpcn.training.parallel import Helpers
    from gpcn.training.runs import train
    from gpcn.training.usual import usual_settings

    known = {name: setting_names(name) for name in names}
    stray = [key for key in settings if not any(key in own for own in known.values())]
    if stray:
        raise ConfigError(f"none of {', '.join(names)} has a setting {stray[0]!r}; see gpcn models NAME")
    if out is not None:
        refuse_other_kinds(out)
    results = []
    with Helpers(graph) as helpers:
        for helpers.ahead, name in zip(reversed(range(len(names))), names, strict=True):
            chosen = {key: value for key, value in settings.items() if key in known[name]}
            config = TrainConfig.of(name, seed=seed, **{**usual_settings(graph, name), **chosen})
            folder = None if out is None else out / name
            with training_progress(name, graph.metric) as tick:
                results.append(train(graph, config, out=folder, tick=tick, helpers=helpers, **options))
    return compare_results(graph, results)


def show(found: dict[str, Any], note: str | None = None) -> None:
    """A row per model, best first, and what knowing only the class shares achieves."""
    from gpcn.training.metrics import definition

    to, metric = console(), definition(found["metric"])
    numeric = ("test", "val", "seconds", "parameters")
    rows = table("model", *numeric, "against the best on validation", numeric=numeric)
    for row in found["models"]:
        test = f"{number(row['test_mean'], metric.digits)} ± {number(row['test_std'], metric.digits)}"
        rows.add_row(
            safe(row["model"]) + MARK * _is_idle(row),
            test,
            number(row["val_mean"], metric.digits),
            f"{row['seconds']:.1f}",
            f"{row['parameters']:,}",
            _against(row, metric.digits),
        )
    to.print(rows, highlight=False)
    better = "" if metric.greater_is_better else ", lower is better"
    to.print(
        f"{found['metric']} on {safe(found['graph'])}{better}; mean ± std over splits, test nodes", highlight=False
    )
    if found["chosen_on_validation"] is None:
        to.print(
            f"[dim]note: no model has a {metric.title} on validation nodes, which are all of one class, so none is the "
            "best there; use other splits, or another --metric[/dim]",
            highlight=False,
        )
    if any(_is_idle(row) for row in found["models"]):
        to.print(f"{MARK.strip()} no better than the majority", highlight=False)
    if note is not None:
        to.print(f"[dim]note: {safe(note)}[/dim]", highlight=False)


def _is_idle(row: dict[str, Any]) -> bool:
    """Whether a model is no better than the majority."""
    return row["beats_majority"] is False and not row["reference"]


def _against(row: dict[str, Any], digits: int) -> str:
    if row["best"]:
        return "best on validation"
    paired = row["against_best"]
    if paired is None or paired["p"] is None:
        return "–"
    mark = "" if paired["p"] >= 0.05 else "  *"
    difference, low, high = (f"{paired[key]:+.{digits}f}" for key in ("difference", "low", "high"))
    return f"{difference} [{low}, {high}], p = {paired['p']:.3f}{mark}"
