"""`gpcn tune`: search hyperparameters on this machine or on a Ray cluster."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpcn.cli.grouped import grouped
from gpcn.cli.options import GraphOptions, Json
from gpcn.cli.output import console, number, print_json, print_notes, safe, table
from gpcn.cli.training_options import (
    MetricName,
    Seed,
    Settings,
    SplitNumbers,
    SplitOptions,
    judge_by,
    read_settings,
    read_splits,
)
from gpcn.errors import ConfigError
from gpcn.tuning import require_search

if TYPE_CHECKING:
    from gpcn.tuning.wish import Wish

ENGINES = ("local", "ray")
DEFAULT = "100"  # configurations
ANY_TIME = {"graph", "budget", "resume", "show", "engine", "address", "jobs", "storage", "json", "mirror"}


@grouped
def tune(
    context: typer.Context,
    options: GraphOptions,
    parts: SplitOptions,
    graph: Annotated[str | None, typer.Argument(metavar="GRAPH", help="A dataset, or a file of edges.")] = None,
    model: Annotated[str, typer.Option("--model", "-m", help="A model, family (GPCN and its kin), or all.")] = "family",
    budget: Annotated[
        str | None,
        typer.Option(
            "--budget", metavar="200|30m", help="Configurations in all, or time from now (100; resumed: as before)."
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder of the study.")] = None,
    space: Annotated[str, typer.Option("--space", help="default, or paper: the exact grid of the paper.")] = "default",
    settings: Settings = None,
    tried: Annotated[
        list[str] | None, typer.Option("--try", metavar="KEY=A,B,…", help="Other values for a setting; repeat it.")
    ] = None,
    splits: SplitNumbers = None,
    generation: Annotated[int, typer.Option("--generation", min=2, help="Configurations proposed at a time.")] = 12,
    engine: Annotated[str, typer.Option("--engine", help="local, or ray.")] = "local",
    address: Annotated[
        str | None, typer.Option("--address", help="Of a Ray cluster, or auto; without it one is started here.")
    ] = None,
    jobs: Annotated[int | None, typer.Option("--jobs", min=1, help="Processes (default: one per core).")] = None,
    storage: Annotated[
        str | None, typer.Option("--storage", metavar="URL", help="Any Optuna storage instead of OUT/study.db.")
    ] = None,
    resume: Annotated[Path | None, typer.Option("--resume", metavar="DIR", help="Go on with a study.")] = None,
    show: Annotated[Path | None, typer.Option("--show", metavar="DIR", help="What a study found so far.")] = None,
    seed: Seed = None,
    metric: MetricName = None,
    json: Json = False,
) -> None:
    """Search hyperparameters by the validation score; test scores are written down and never used.

    Poor configurations are stopped after one split, then after three. Stop it at any time; [bold]--resume[/bold] goes
    on.

    Example: [bold]gpcn tune texas --model family --budget 10m --out studies/texas[/bold]
    """
    require_search("gpcn tune")
    from gpcn.training.source import load_again, source_of
    from gpcn.tuning.budget import read_budget
    from gpcn.tuning.ledger import Ledger, read_header
    from gpcn.tuning.schedule import Plan
    from gpcn.tuning.study import header
    from gpcn.tuning.summary import describe
    from gpcn.tuning.wish import Wish, check_place, last_wish

    if engine not in ENGINES:
        raise ConfigError(f"--engine is {engine!r}; expected local or ray")
    if budget is not None:
        read_budget(budget)
    if sum(each is not None for each in (graph, resume, show)) != 1:
        raise ConfigError("name one of: a GRAPH to search on, --resume DIR, --show DIR")
    there = resume or show
    if there is not None:
        _refuse_what_a_study_has(context, there)
        check_place(there, storage)
    if show is not None:
        _report(describe(Ledger.read(show, storage)), show, json)
        return
    if resume is not None:
        folder, told = resume, read_header(resume)
        loaded = load_again(source_of(told["graph"]), resume, mirror=options.mirror)
        if loaded.fingerprint() != told["graph"]["fingerprint"]:
            raise ConfigError(f"the graph of the study in {resume} has changed since; start another with --out")
    else:
        if out is None:
            raise ConfigError("a study needs a folder; name one with --out, such as --out studies/texas")
        folder = out
        wanted = model, space, read_settings(settings), _read_tried(tried)
        _space(*wanted)  # a mistake is told before anything is loaded
        place = str(graph)
        loaded = options.load(place)
        chosen = _space(*wanted, directed=loaded.directed)
        if not json:
            print_notes(loaded.notes if loaded.preparation else ())
        origin = options.origin(place)
        loaded = judge_by(parts.split(loaded, origin, seed or 0, quiet=json), origin, metric)
        numbers = _numbers(loaded, read_splits(splits))
        plan = Plan.of(numbers, int(chosen.fixed["epochs"]), size=generation)
        told = header(loaded, chosen, plan, seed=seed or 0, source=origin)
    asked = last_wish(folder)
    wish = Wish.of(folder, budget or (asked.budget if resume and asked is not None else DEFAULT), storage)
    ledger = _drive(folder, told, storage, loaded, engine, address, jobs, wish)
    _report(describe(ledger), folder, json)


def _drive(
    folder: Path,
    told: dict[str, Any],
    storage: str | None,
    graph: Any,
    engine: str,
    address: str | None,
    jobs: int | None,
    wish: Wish,
) -> Any:
    from gpcn.cli.ahead import started_ahead
    from gpcn.cli.progress import study_progress
    from gpcn.locking import locked
    from gpcn.tuning.budget import read_budget
    from gpcn.tuning.executors.cluster import RayExecutor
    from gpcn.tuning.executors.local import LocalExecutor
    from gpcn.tuning.ledger import Ledger
    from gpcn.tuning.study import drive

    limit = read_budget(wish.budget)
    with locked(folder):
        ledger = Ledger.create(folder, {name: value for name, value in told.items() if name != "format"}, storage)
        wish.keep(folder)
        with started_ahead(engine == "local" and jobs != 1 and limit.lasts):
            executor = LocalExecutor(graph, jobs) if engine == "local" else RayExecutor(graph, jobs, address)
            with closing(executor), ledger.driven(), study_progress(limit) as watch:
                drive(ledger, executor, limit, watch)
    return ledger


def _numbers(graph: Any, wanted: list[int] | None) -> list[int]:
    from gpcn.training.runs import check_splits

    return check_splits(graph, wanted)


def _space(
    model: str, kind: str, settings: dict[str, Any], tried: dict[str, list[str]], *, directed: bool = False
) -> Any:
    from gpcn.training.renamed import choices_in_current_names, in_current_names
    from gpcn.tuning.space import EPOCHS, PATIENCE, Space, models_of

    settings, choices = in_current_names(settings), choices_in_current_names(tried)
    if "epochs" in tried:
        raise ConfigError(
            "epochs cannot be tried, for the search itself gives them out; set the most with --set epochs=N"
        )
    both = sorted(settings.keys() & choices.keys())
    if both:
        raise ConfigError(f"{both[0]} is both set and tried; expected one of --set and --try for it")
    usual = {name: value for name, value in (("epochs", EPOCHS), ("patience", PATIENCE)) if name not in choices}
    return Space.of(models_of(model), kind, fixed=usual | settings, tried=choices, directed=directed)


def _refuse_what_a_study_has(context: typer.Context, folder: Path) -> None:
    """Options that say what a study is of are for a new one."""
    for name in context.params.keys() - ANY_TIME:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            option = next(each.opts[-1] for each in context.command.params if each.name == name)
            raise ConfigError(f"{option} is for a new study, and {folder} holds one; leave it out")


def _read_tried(given: list[str] | None) -> dict[str, list[str]]:
    told = read_settings(given, "--try")
    return {name: [part.strip() for part in values.split(",")] for name, values in told.items()}


def _report(found: dict[str, Any], folder: Path, json: bool) -> None:
    if json:
        print_json(found)
        return
    from gpcn.training.metrics import definition

    to, digits = console(), definition(found["metric"]).digits
    states = ", ".join(f"{count} {state}" for state, count in found["states"].items() if count)
    to.print(
        f"{found['configurations']} of {found['space']:,} configurations ({states}), "
        f"{found['evaluations']} evaluations, {found['seconds']:,.0f} s of one core",
        highlight=False,
    )
    rows = table("#", "model", "val", "splits", "settings", numeric=("#", "val", "splits"))
    for row in found["best"]:
        words = " ".join(f"{name}={value}" for name, value in {**row["settings"], "select": row["select"]}.items())
        rows.add_row(str(row["number"]), row["model"], number(row["score"], digits), str(row["splits"]), safe(words))
    to.print(rows, highlight=False)
    if found["importance"]:
        told = ", ".join(f"{name} {share:.0%}" for name, share in list(found["importance"].items())[:6])
        to.print(f"what mattered: {told}", highlight=False)
    for row in found["diverged"][:3]:
        to.print(f"[dim]#{row['number']} diverged: {safe(row['why'])}[/dim]", highlight=False)
    to.print(f"kept in {safe(folder)}; more with: gpcn tune --resume {safe(folder)} --budget 30m", highlight=False)
