"""`gpcn train`: one model on the splits of a graph."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gpcn.cli.auto import Refit, train_auto
from gpcn.cli.shared.option_groups import takes_option_groups
from gpcn.cli.shared.options import GraphArgument, GraphOptions, Json
from gpcn.cli.shared.output import console, escaped, number_text, plain_table, print_json
from gpcn.cli.shared.training_options import (
    ConfigFile,
    Device,
    Jobs,
    MetricName,
    Seed,
    Settings,
    SplitNumbers,
    SplitOptions,
    metric_choice_note,
    prepare_graph,
    read_settings,
    read_splits,
)
from gpcn.errors import ConfigError


@takes_option_groups
def train(
    graph: GraphArgument,
    options: GraphOptions,
    parts: SplitOptions,
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="A name that gpcn models lists, or auto to have it chosen.")
    ] = None,
    budget: Annotated[
        str, typer.Option("--budget", metavar="5m", help="Time for --model auto to choose and train.")
    ] = "5m",
    refit: Refit = False,
    settings: Settings = None,
    config: ConfigFile = None,
    recipe: Annotated[
        str | None,
        typer.Option("--recipe", metavar="paper|ours", help="Settings for this benchmark dataset to start from."),
    ] = None,
    splits: SplitNumbers = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder of the run (--engine ray: or a URL); without it nothing is kept."),
    ] = None,
    jobs: Jobs = None,
    device: Device = "auto",
    seed: Seed = None,
    metric: MetricName = None,
    save_every: Annotated[float, typer.Option("--save-every", min=0, help="Seconds between checkpoints.")] = 10.0,
    engine: Annotated[
        str | None,
        typer.Option("--engine", metavar="ray", help="ray: a worker per part of a graph that gpcn shard wrote."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", min=1, help="Workers of --engine ray (default: one per part).")
    ] = None,
    address: Annotated[
        str | None,
        typer.Option("--address", metavar="HOST:PORT", help="Of a running Ray cluster (default: one started here)."),
    ] = None,
    timeout: Annotated[
        float,
        typer.Option(
            "--timeout",
            min=1,
            help="Seconds that a worker of --engine ray waits for another before all are started again.",
        ),
    ] = 300.0,
    log_format: Annotated[
        str | None,
        typer.Option("--log-format", metavar="text|json", help="--engine ray: a line per step on stderr."),
    ] = None,
    json: Json = False,
) -> None:
    """Train a model on the splits of a graph and report the test score, mean ± std.

    The same command again finishes what is missing and repeats nothing.

    Example: [bold]gpcn train texas --model gpcn --set hidden=512 --set layers=1 --splits 0-9 --out runs/texas[/bold]
    """
    from gpcn.cli.shared.prestarted_workers import prestarted_training_workers
    from gpcn.cli.shared.progress import training_progress
    from gpcn.nn import zoo
    from gpcn.training.config import TrainConfig
    from gpcn.training.runs.training import train as run
    from gpcn.training.settle import settle
    from gpcn.tuning.budget import read_seconds

    if model == "auto" and (settings or config or recipe):
        raise ConfigError("--model auto chooses all settings; leave --set, --config and --recipe out, or name a model")
    if model == "auto":
        read_seconds(budget)
    if refit and model != "auto":
        raise ConfigError("--refit is for --model auto; leave it out, or have the model chosen with --model auto")
    changes: dict[str, Any] = read_settings(settings)
    if recipe is not None:
        changes = _recipe_settings(model or zoo.DEFAULT, graph, recipe) | changes
    named = None if model == "auto" else model
    changes |= {name: value for name, value in (("model", named), ("seed", seed)) if value is not None}
    resolved = TrainConfig.from_toml(config, changes) if config else TrainConfig.of(**changes)
    if (engine, workers, address, log_format) != (None, None, None, None):
        from gpcn.cli.shared.part_training import train_parts

        numbers = read_splits(splits)
        train_parts(graph, resolved, engine, workers, address, numbers, out, save_every, timeout, json, log_format)
        return
    prepared, numbers = prepare_graph(graph, options, parts, metric, resolved.seed, quiet=json), read_splits(splits)
    if model == "auto":
        if out is None:
            raise ConfigError("--model auto keeps what it finds; name a folder with --out, such as --out runs/mine")
        train_auto(prepared, out, budget, numbers, jobs, resolved.seed, json, refit=refit)
        return
    loaded = prepared.graph
    resolved = settle(resolved, loaded)
    with (
        prestarted_training_workers(loaded, [resolved], numbers, jobs),
        training_progress(resolved.model, loaded.metric) as progress,
    ):
        result = run(
            loaded,
            resolved,
            out=out,
            splits=numbers,
            jobs=jobs,
            device=device,
            save_every=save_every,
            source=prepared.source,
            progress=progress,
        )
    for split_result in result["splits"]:
        split_result.pop("probabilities", None)
    if json:
        print_json(result)
    else:
        print_training_result(result, out, metric_choice_note(loaded))


def _recipe_settings(model: str, dataset: str, origin: str) -> dict[str, Any]:
    from gpcn.paper.reference.recipes import ORIGINS, recipe

    if origin not in ORIGINS:
        raise ConfigError(f"--recipe is {origin!r}; expected paper or ours")
    chosen = recipe(model, dataset, origin)
    if chosen is None:
        raise ConfigError(f"there is no {origin} recipe for {model} on {dataset}; leave --recipe out")
    return dict(chosen.settings)


def print_training_result(result: dict[str, Any], out: str | Path | None, note: str | None = None) -> None:
    """A row per split and the mean."""
    from gpcn.tasks.metrics import find_metric

    to, digits = console(), find_metric(result["metric"]).digits
    rows = plain_table(
        "split", "test", "val", "epochs", "seconds", numeric=("split", "test", "val", "epochs", "seconds")
    )
    for split in result["splits"]:
        rows.add_row(
            str(split["split"]),
            number_text(split["test"], digits),
            number_text(split["val"], digits),
            str(split["epochs"]),
            f"{split['seconds']:.1f}",
        )
    to.print(rows, highlight=False)
    mean, std = number_text(result["test_mean"], digits), number_text(result["test_std"], digits)
    to.print(
        f"{escaped(result['model'])} on {escaped(result['graph'])}: {result['metric']} [bold]{mean} ± {std}[/bold]",
        highlight=False,
    )
    if note is not None:
        to.print(f"[dim]note: {escaped(note)}[/dim]", highlight=False)
    if out is not None:
        to.print(
            f"kept in {escaped(out)}; predictions: gpcn predict {escaped(out)} --out predictions.csv",
            highlight=False,
        )
