"""`gpcn tune`: search hyperparameters on this machine or on a Ray cluster."""

from __future__ import annotations

from contextlib import closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpcn.cli.shared.option_groups import takes_option_groups
from gpcn.cli.shared.options import Json, MovedGraph, option_given_besides
from gpcn.cli.shared.output import console, escaped, number_text, plain_table, print_json, print_notes
from gpcn.cli.shared.training_options import (
    Settings,
    SplitNumbers,
    TrainingGraph,
    metric_choice_note,
    read_settings,
    read_splits,
)
from gpcn.core.errors import ConfigError
from gpcn.search import require_search

if TYPE_CHECKING:
    from gpcn.graph import Graph
    from gpcn.search.ledger import Ledger
    from gpcn.search.request import StudyRequest
    from gpcn.search.space import Space
    from gpcn.search.study_header import StudyHeader
    from gpcn.search.summary import StudySummary

ENGINES = ("local", "ray")
DEFAULT = "100"  # configurations
ANY_TIME = {"graph", "budget", "resume", "show", "engine", "address", "jobs", "storage", "json", "mirror"}
ANY_TIME |= {"moved_graph", "nodes"}  # where the graph of a study lies now


@dataclass(frozen=True)
class SearchOptions:
    """The models, settings and splits of a new study."""

    model: Annotated[str, typer.Option("--model", "-m", help="A model, family (GPCN and its kin), or all.")] = "family"
    space: Annotated[str, typer.Option("--space", help="default, or paper: the exact grid of the paper.")] = "default"
    settings: Settings = None
    tried: Annotated[
        list[str] | None, typer.Option("--try", metavar="KEY=A,B,…", help="Other values for a setting; repeat it.")
    ] = None
    splits: SplitNumbers = None
    generation: Annotated[int, typer.Option("--generation", min=2, help="Configurations proposed at a time.")] = 12

    def space_of(self, *, directed: bool) -> Space:
        """Return the space to search on a graph with or without directions."""
        from gpcn.search.space import EPOCHS, PATIENCE, Space, models_of

        settings, tried = read_settings(self.settings), _read_tried(self.tried)
        if "epochs" in tried:
            raise ConfigError(
                "epochs cannot be tried, for the search itself gives them out; set the most with --set epochs=N"
            )
        both = sorted(settings.keys() & tried.keys())
        if both:
            raise ConfigError(f"{both[0]} is both set and tried; expected one of --set and --try for it")
        usual = {name: value for name, value in (("epochs", EPOCHS), ("patience", PATIENCE)) if name not in tried}
        fixed = usual | settings
        return Space.of(models_of(self.model), self.space, fixed=fixed, tried=tried, directed=directed)


@dataclass(frozen=True)
class EngineOptions:
    """The machines that run trials, and the storage that keeps them."""

    engine: Annotated[str, typer.Option("--engine", help="local, or ray.")] = "local"
    address: Annotated[
        str | None, typer.Option("--address", help="Of a Ray cluster, or auto; without it one is started here.")
    ] = None
    jobs: Annotated[int | None, typer.Option("--jobs", min=1, help="Processes (default: one per core).")] = None
    storage: Annotated[
        str | None, typer.Option("--storage", metavar="URL", help="Any Optuna storage instead of OUT/study.db.")
    ] = None


@dataclass(frozen=True)
class ExistingStudy:
    """A study that is there, to go on with or to look at."""

    resume: Annotated[Path | None, typer.Option("--resume", metavar="DIR", help="Go on with a study.")] = None
    show: Annotated[Path | None, typer.Option("--show", metavar="DIR", help="What a study found so far.")] = None
    moved_graph: MovedGraph = None


@takes_option_groups
def tune(
    context: typer.Context,
    described: TrainingGraph,
    searched: SearchOptions,
    where: EngineOptions,
    existing: ExistingStudy,
    graph: Annotated[str | None, typer.Argument(metavar="GRAPH", help="A dataset, or a file of edges.")] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            "--budget", metavar="200|30m", help="Configurations in all, or time from now (100; resumed: as before)."
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder of the study.")] = None,
    json: Json = False,
) -> None:
    """Search hyperparameters by the validation score; test scores are written down and never used.

    Poor configurations are stopped after one split, then after three. Stop it at any time; [bold]--resume[/bold] goes
    on.

    Example: [bold]gpcn tune texas --model family --budget 10m --out studies/texas[/bold]
    """
    require_search("gpcn tune")
    from gpcn.runs.graph_source import reload_graph
    from gpcn.runs.training import check_split_numbers
    from gpcn.search.budget import read_budget
    from gpcn.search.ledger import Ledger
    from gpcn.search.request import StudyRequest, check_study_location, last_request
    from gpcn.search.schedule import Plan
    from gpcn.search.study_header import read_study_header, study_header
    from gpcn.search.summary import describe_study

    if where.engine not in ENGINES:
        raise ConfigError(f"--engine is {where.engine!r}; expected local or ray")
    if budget is not None:
        read_budget(budget)
    resume, show = existing.resume, existing.show
    if sum(named is not None for named in (graph, resume, show)) != 1:
        raise ConfigError("name one of: a GRAPH to search on, --resume DIR, --show DIR")
    if existing.moved_graph is not None and resume is None:
        raise ConfigError("--graph says where the graph of a study lies now, for --resume; leave it out")
    there = resume or show
    if there is not None:
        _refuse_what_a_study_has(context, there)
        check_study_location(there, where.storage)
    if show is not None:
        _report(describe_study(Ledger.read(show, where.storage)), show, json)
        return
    if resume is not None:
        folder, description = resume, read_study_header(resume)
        reading = described.reading
        loaded = reload_graph(
            description.graph, resume, existing.moved_graph, reading.nodes, reading.mirror, moved=True
        )
        if loaded.fingerprint() != description.graph.fingerprint:
            raise ConfigError(f"the graph of the study in {resume} has changed since; start another with --out")
    else:
        if out is None:
            raise ConfigError("a study needs a folder; name one with --out, such as --out studies/texas")
        searched.space_of(directed=False)  # a mistake is an error before anything is loaded
        prepared = described.prepare(str(graph), quiet=json)
        folder, loaded = out, prepared.graph
        if not json and (note := metric_choice_note(loaded)) is not None:
            print_notes([note])
        space = searched.space_of(directed=loaded.directed)
        numbers = check_split_numbers(loaded, read_splits(searched.splits))
        plan = Plan.of(numbers, int(space.fixed["epochs"]), size=searched.generation)
        description = study_header(loaded, space, plan, seed=described.seed or 0, source=prepared.source)
    before = last_request(folder)
    usual = before.budget if resume and before is not None else DEFAULT
    request = StudyRequest.of(folder, budget or usual, where.storage)
    ledger = _drive(folder, description, loaded, where, request)
    _report(describe_study(ledger), folder, json)


def _drive(folder: Path, description: StudyHeader, graph: Graph, where: EngineOptions, request: StudyRequest) -> Ledger:
    from gpcn.cli.shared.prestarted_workers import prestarted_search_workers
    from gpcn.cli.shared.progress import study_progress
    from gpcn.search.budget import read_budget
    from gpcn.search.executors import local_executor, ray_executor
    from gpcn.search.study import drive_study, open_or_create_study

    limit = read_budget(request.budget)
    with (
        prestarted_search_workers(where.jobs, limit) if where.engine == "local" else nullcontext(),
        open_or_create_study(folder, description, where.storage, request) as ledger,
    ):
        local = where.engine == "local"
        executor = local_executor(graph, where.jobs) if local else ray_executor(graph, where.jobs, where.address)
        with closing(executor), study_progress(limit) as watch:
            drive_study(ledger, executor, limit, watch)
    return ledger


def _refuse_what_a_study_has(context: typer.Context, folder: Path) -> None:
    """Options that say what a study is of are for a new one."""
    option = option_given_besides(context, ANY_TIME)
    if option is not None:
        raise ConfigError(f"{option} is for a new study, and {folder} holds one; leave it out")


def _read_tried(given: list[str] | None) -> dict[str, list[str]]:
    settings = read_settings(given, "--try")
    return {name: [part.strip() for part in values.split(",")] for name, values in settings.items()}


def _report(study: StudySummary, folder: Path, json: bool) -> None:
    if json:
        print_json(study)
        return
    from gpcn.tasks.metrics import find_metric

    to, digits = console(), find_metric(study.metric).digits
    states = ", ".join(f"{count} {state}" for state, count in study.states.items() if count)
    to.print(
        f"{study.configurations} of {study.space:,} configurations ({states}), "
        f"{study.evaluations} evaluations, {study.seconds:,.0f} s of one core",
        highlight=False,
    )
    rows = plain_table("#", "model", "val", "splits", "settings", numeric=("#", "val", "splits"))
    for row in study.best:
        words = " ".join(f"{name}={value}" for name, value in {**row.settings, "select": row.select}.items())
        rows.add_row(str(row.number), row.model, number_text(row.score, digits), str(row.splits), escaped(words))
    to.print(rows, highlight=False)
    if study.importance:
        shares = ", ".join(f"{name} {share:.0%}" for name, share in list(study.importance.items())[:6])
        to.print(f"what mattered: {shares}", highlight=False)
    for failed in study.diverged[:3]:
        to.print(f"[dim]#{failed.number} diverged: {escaped(failed.why)}[/dim]", highlight=False)
    to.print(
        f"kept in {escaped(folder)}; more with: gpcn tune --resume {escaped(folder)} --budget 30m",
        highlight=False,
    )
