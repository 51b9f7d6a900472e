"""`gpcn train`: one model on the splits of a graph."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec.structs import replace

from gpcn.cli.auto import Refit, train_auto
from gpcn.cli.shared.option_groups import takes_option_groups
from gpcn.cli.shared.options import GraphArgument, Json
from gpcn.cli.shared.output import console, escaped, number_text, plain_table, print_json
from gpcn.cli.shared.part_training import ClusterOptions, train_parts
from gpcn.cli.shared.training_options import (
    ConfigFile,
    Settings,
    SplitWork,
    TrainingGraph,
    metric_choice_note,
    read_settings,
)
from gpcn.core.errors import ConfigError

if TYPE_CHECKING:
    from gpcn.runs.results import RunResult
    from gpcn.training.config import TrainConfig


@dataclass(frozen=True)
class ModelOptions:
    """The model and its settings."""

    model: Annotated[
        str | None, typer.Option("--model", "-m", help="A name that gpcn models lists, or auto to have it chosen.")
    ] = None
    settings: Settings = None
    config: ConfigFile = None
    recipe: Annotated[
        str | None,
        typer.Option("--recipe", metavar="paper|ours", help="Settings for this benchmark dataset to start from."),
    ] = None

    def read(self, dataset: str, seed: int | None) -> TrainConfig:
        """The configuration that these options describe, as far as it does not depend on the graph."""
        from gpcn.nn import zoo
        from gpcn.training.config import TrainConfig

        changes: dict[str, Any] = read_settings(self.settings)
        if self.recipe is not None:
            changes = {**_recipe_settings(self.model or zoo.DEFAULT, dataset, self.recipe), **changes}
        named = None if self.model == "auto" else self.model
        changes |= {name: value for name, value in (("model", named), ("seed", seed)) if value is not None}
        return TrainConfig.from_toml(self.config, changes) if self.config else TrainConfig.of(**changes)


@takes_option_groups
def train(
    graph: GraphArgument,
    chosen: ModelOptions,
    described: TrainingGraph,
    work: SplitWork,
    cluster: ClusterOptions,
    budget: Annotated[
        str, typer.Option("--budget", metavar="5m", help="Time for --model auto to choose and train.")
    ] = "5m",
    refit: Refit = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder of the run (--engine ray: or a URL); without it nothing is kept."),
    ] = None,
    save_every: Annotated[float, typer.Option("--save-every", min=0, help="Seconds between checkpoints.")] = 10.0,
    json: Json = False,
) -> None:
    """Train a model on the splits of a graph and report the test score, mean ± std.

    The same command again finishes what is missing and repeats nothing.

    Example: [bold]gpcn train texas --model gpcn --set hidden=512 --set layers=1 --splits 0-9 --out runs/texas[/bold]
    """
    from gpcn.cli.shared.prestarted_workers import prestarted_training_workers
    from gpcn.cli.shared.progress import training_progress
    from gpcn.runs.training import train as run
    from gpcn.search.budget import read_seconds
    from gpcn.training.settle import settle

    by_itself = chosen.model == "auto"
    if by_itself and (chosen.settings or chosen.config or chosen.recipe):
        raise ConfigError("--model auto chooses all settings; leave --set, --config and --recipe out, or name a model")
    if by_itself:
        read_seconds(budget)
    if refit and not by_itself:
        raise ConfigError("--refit is for --model auto; leave it out, or have the model chosen with --model auto")
    config, numbers = chosen.read(graph, described.seed), work.numbers()
    if cluster.given:
        train_parts(graph, config, cluster, numbers, out, save_every, json)
        return
    prepared = described.prepare(graph, quiet=json, seed=config.seed)
    if by_itself:
        if out is None:
            raise ConfigError("--model auto keeps what it finds; name a folder with --out, such as --out runs/mine")
        train_auto(prepared, out, budget, numbers, work.jobs, config.seed, json, refit=refit)
        return
    loaded = prepared.graph
    config = settle(config, loaded)
    with (
        prestarted_training_workers(loaded, [config], numbers, work.jobs),
        training_progress(config.model, loaded.metric) as progress,
    ):
        result = run(
            loaded,
            config,
            out=out,
            splits=numbers,
            jobs=work.jobs,
            device=work.device,
            save_every=save_every,
            source=prepared.source,
            progress=progress,
        )
    if json:
        print_json(replace(result, splits=tuple(replace(split, probabilities=None) for split in result.splits)))
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


def print_training_result(result: RunResult, out: str | Path | None, note: str | None = None) -> None:
    """A row per split and the mean."""
    from gpcn.tasks.metrics import find_metric

    to, digits = console(), find_metric(result.metric).digits
    rows = plain_table(
        "split", "test", "val", "epochs", "seconds", numeric=("split", "test", "val", "epochs", "seconds")
    )
    for split in result.splits:
        rows.add_row(
            str(split.split),
            number_text(split.test, digits),
            number_text(split.val, digits),
            str(split.epochs),
            f"{split.seconds:.1f}",
        )
    to.print(rows, highlight=False)
    mean, std = number_text(result.test_mean, digits), number_text(result.test_std, digits)
    to.print(
        f"{escaped(result.model)} on {escaped(result.graph)}: {result.metric} [bold]{mean} ± {std}[/bold]",
        highlight=False,
    )
    if note is not None:
        to.print(f"[dim]note: {escaped(note)}[/dim]", highlight=False)
    if out is not None:
        to.print(
            f"kept in {escaped(out)}; predictions: gpcn predict {escaped(out)} --out predictions.csv",
            highlight=False,
        )
