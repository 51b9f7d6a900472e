"""`gpcn compare`: several models on the same splits, with significance."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gpcn.cli.grouped import grouped
from gpcn.cli.options import GraphArgument, GraphOptions, Json
from gpcn.cli.output import console, number, print_json, safe, table
from gpcn.cli.training_options import (
    Device,
    Jobs,
    Seed,
    Settings,
    SplitNumbers,
    SplitOptions,
    read_settings,
    read_splits,
)
from gpcn.errors import ConfigError
from gpcn.graph import Graph

DEFAULT = "mlp,gcn,link,gpcn,gpcn-link,agpcn,agpcn-link"


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
    json: Json = False,
) -> None:
    """Train several models on the same splits and compare them.

    A setting applies to every model that has it.

    Example: [bold]gpcn compare texas --models mlp,gcn,gpcn --splits 0-4 --out runs/texas[/bold]
    """
    loaded = options.load(graph)
    told = options.origin(graph)
    loaded = parts.split(loaded, told, seed or 0, quiet=json)
    chosen = [name.strip() for name in models.split(",") if name.strip()]
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
        show(found)


def run_models(
    graph: Graph, names: list[str], settings: dict[str, Any], *, out: Path | None, seed: int, **options: Any
) -> dict[str, Any]:
    """Train each model and compare; settings that no model knows are refused."""
    from gpcn.cli.progress import training_progress
    from gpcn.nn import zoo
    from gpcn.training.comparison import compare as compare_results
    from gpcn.training.config import TRAINING, TrainConfig
    from gpcn.training.runs import train

    known = {name: {each.name for each in (*zoo.entry(name).hyperparameters, *TRAINING)} for name in names}
    stray = [key for key in settings if not any(key in own for own in known.values())]
    if stray:
        raise ConfigError(f"none of {', '.join(names)} has a setting {stray[0]!r}; see gpcn models NAME")
    results = []
    for name in names:
        config = TrainConfig.of(
            name, seed=seed, **{key: value for key, value in settings.items() if key in known[name]}
        )
        with training_progress(name) as tick:
            results.append(train(graph, config, out=None if out is None else out / name, tick=tick, **options))
    return compare_results(graph, results)


def show(found: dict[str, Any]) -> None:
    """A row per model, best first."""
    to = console()
    numeric = ("test", "val", "seconds", "parameters")
    rows = table("model", *numeric, "against the best on validation", numeric=numeric)
    for row in found["models"]:
        test = f"{number(row['test_mean'], 2)} ± {number(row['test_std'], 2)}"
        rows.add_row(
            safe(row["model"]),
            test,
            number(row["val_mean"], 2),
            f"{row['seconds']:.1f}",
            f"{row['parameters']:,}",
            _against(row),
        )
    to.print(rows, highlight=False)
    to.print(f"{found['metric']} on {safe(found['graph'])}; mean ± std over splits, test nodes", highlight=False)


def _against(row: dict[str, Any]) -> str:
    if row["best"]:
        return "best on validation"
    paired = row["against_best"]
    if paired is None or paired["p"] is None:
        return "–"
    mark = "" if paired["p"] >= 0.05 else "  *"
    return f"{paired['difference']:+.2f} [{paired['low']:+.2f}, {paired['high']:+.2f}], p = {paired['p']:.3f}{mark}"
