"""What a page can be made of, and how each kind is recognized and read from the paths a user names.

A new kind is a dataclass, a reader in `READERS`, and a section in `sections.SECTIONS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpcn.core.errors import CheckpointError, ConfigError, DataError, GpcnError, Option
from gpcn.data.graph_record import GraphIdentity, GraphRecord
from gpcn.data.load import load
from gpcn.explanation import can_be_explained
from gpcn.graph import Graph
from gpcn.records import layout
from gpcn.runs.compared_runs import read_comparison
from gpcn.runs.comparison import Comparison
from gpcn.runs.graph_source import reload_graph
from gpcn.runs.predictions.prediction import Predictions
from gpcn.runs.results import RunResult
from gpcn.runs.run import Run
from gpcn.runs.run_creation import graph_names_digest
from gpcn.search import require_search
from gpcn.search.auto import members, read_choice
from gpcn.search.auto.choice_record import AutoChoice
from gpcn.tasks.metrics import oriented_score
from gpcn.theory.document import TheoryDocument

if TYPE_CHECKING:
    from gpcn.search.summary import StudySummary


@dataclass(frozen=True)
class GraphMaterial:
    """A graph; `names_nodes` says whether single nodes and links may be shown."""

    name: str
    graph: Graph
    names_nodes: bool = True


@dataclass(frozen=True)
class RunMaterial:
    """A run with at least one finished split; `graph` is the one it was trained on, where that can be had."""

    name: str
    run: Run
    result: RunResult
    graph: Graph | None
    notes: tuple[str, ...] = ()
    names_nodes: bool = True


@dataclass(frozen=True)
class ComparisonMaterial:
    """Runs on one graph, ranked in the `table` of `runs.compared_runs`."""

    name: str
    runs: tuple[RunMaterial, ...]
    table: Comparison
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class StudyMaterial:
    """A search, with the `summary` of `search.summary.describe_study`."""

    name: str
    summary: StudySummary
    dimensions: Mapping[str, Sequence[Any]]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class AutoMaterial:
    """What `auto` chose, out of what it tried, and why (`auto.json`)."""

    name: str
    choice: AutoChoice
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class NewTablesMaterial:
    """What the run `run` predicts for other tables than those trained on, with their drift."""

    name: str
    run: str
    predictions: Predictions
    names_nodes: bool = True


@dataclass(frozen=True)
class TheoryMaterial:
    """A document of `gpcn bound --out` or `gpcn spectrum --out`."""

    name: str
    document: TheoryDocument


@dataclass
class PageContext:
    """What is known while a page is made: graphs by fingerprint and by path, and what is `shown` already.

    `graph` and `nodes` say where the files of runs and studies lie now, if not where they were; `names_nodes`, whether
    single nodes and links may be shown.
    """

    mirror: Path | None = None
    graph: str | None = None
    nodes: Path | None = None
    names_nodes: bool = True
    graphs: dict[str, Graph] = field(default_factory=dict)
    named: dict[str, Graph] = field(default_factory=dict)
    shown: set[str] = field(default_factory=set)

    def add(self, graph: Graph) -> Graph:
        """Keep a graph for the runs that were trained on it."""
        return self.graphs.setdefault(graph.fingerprint(), graph)

    def graph_of(self, record: GraphIdentity, path: Path) -> tuple[Graph | None, tuple[str, ...]]:
        """Return the graph of the run or study at `path`, whose `record` of it this is; or `None`, and why not."""
        wanted = record.fingerprint
        what = "what needs it is left out"
        if wanted not in self.graphs:
            try:
                self.add(reload_graph(record, path, self.graph, self.nodes, self.mirror, moved=True))
            except GpcnError as error:
                where = "if its files were moved, name them with --graph and --nodes"
                return None, (f"the graph of {path} cannot be loaded, so {what} ({where}): {error!s}",)
        if wanted not in self.graphs:
            return None, (f"the graph of {path} has changed since training, so {what}",)
        graph = self.graphs[wanted]
        names = record.names if isinstance(record, GraphRecord) else None
        if names is not None and names != graph_names_digest(graph):
            return None, (f"names in the graph of {path} have changed since training, so {what}",)
        return graph, ()

    def not_yet_shown(self, graph: Graph | None, run: RunMaterial | None = None) -> list[Any]:
        """The materials of a graph and of a run on it, without those that were returned here before."""
        materials: dict[str, Any] = {}
        if graph is not None:
            materials[graph.fingerprint()] = GraphMaterial(graph.name, graph, self.names_nodes)
        if run is not None:
            materials[str(run.run.path.resolve())] = run
        new = [material for key, material in materials.items() if key not in self.shown]
        self.shown |= materials.keys()
        return new


def gather_materials(
    paths: Sequence[str],
    mirror: Path | None = None,
    *,
    graph: str | None = None,
    nodes: Path | None = None,
    names_nodes: bool = True,
) -> list[Any]:
    """All materials behind `paths`, in their order; graphs named there serve the runs named there.

    `graph` and `nodes` are where the files of the runs' graph lie now, read as they were for training; without
    `names_nodes` no material shows a single node or link.
    """
    if not paths:
        raise ConfigError("there is nothing to report on; name a run, a comparison, a study or a graph")
    context = PageContext(mirror, graph, nodes, names_nodes)
    readers = [(path, _reader_of(path)) for path in paths]
    for path, reader in readers:
        if reader is GRAPHS:
            context.named[path] = context.add(_load(path, mirror))
    return [material for path, reader in readers for material in reader.read(path, context)]


def _read_run(path: str, context: PageContext) -> list[Any]:
    material = _run_material(Path(path), context)
    if material is None:
        raise CheckpointError(f"{path} has no finished split; run the same gpcn train command to finish it")
    return context.not_yet_shown(material.graph, material)


def _read_comparison(path: str, context: PageContext) -> list[Any]:
    comparison = read_comparison(Path(path))
    runs = [_material(run, comparison.results[name], context) for name, run in comparison.runs.items()]
    waiting, table = comparison.unfinished, comparison.table
    notes = (f"without a finished split, and so left out: {', '.join(waiting)}",) if waiting else ()
    first, best = runs[0], next(run for run in runs if run.name == comparison.best)
    compared = ComparisonMaterial(Path(path).resolve().name, tuple(runs), table, (*notes, *first.notes))
    shown = [best]
    if not can_be_explained(best.run):  # then the best of those that say which signal carries them, too
        explainable = [run for run in runs if can_be_explained(run.run)]
        shown += (
            [max(explainable, key=lambda run: oriented_score(table.metric, run.result.val_mean))] if explainable else []
        )
    return [
        *context.not_yet_shown(first.graph),
        compared,
        *(section for run in shown for section in context.not_yet_shown(None, replace(run, notes=()))),
    ]


def _read_study(path: str, context: PageContext) -> list[Any]:
    require_search(f"the study in {path}")
    from gpcn.search.ledger import Ledger
    from gpcn.search.summary import describe_study

    folder = Path(path)
    ledger = Ledger.read(folder)
    graph, notes = context.graph_of(ledger.graph, folder)
    studied = StudyMaterial(folder.resolve().name, describe_study(ledger), ledger.space.dimensions(), notes=notes)
    return [*context.not_yet_shown(graph), studied]


def _read_auto(path: str, context: PageContext) -> list[Any]:
    """What `gpcn auto` wrote: its choice, and the members that count most and can say which signal carries them."""
    folder = Path(path)
    choice, runs = read_choice(folder), members(folder)
    opened = [_run_material(run_path, context) for run_path in dict.fromkeys(run.path for run in runs)]
    finished = [material for material in opened if material is not None]
    if not finished:
        raise CheckpointError(f"{path} has no member with a finished split; run the same gpcn auto command to go on")
    shown = finished[:1]
    if not can_be_explained(shown[0].run):
        shown += [material for material in finished[1:] if can_be_explained(material.run)][:1]
    return [
        *context.not_yet_shown(finished[0].graph),
        AutoMaterial(folder.resolve().name, choice, finished[0].notes),
        *(section for material in shown for section in context.not_yet_shown(None, replace(material, notes=()))),
    ]


def _read_theory(path: str, context: PageContext) -> list[Any]:
    document = TheoryDocument.read(Path(path))
    return [TheoryMaterial(document.title, document)]


def _read_several(path: str, context: PageContext) -> list[Any]:
    """A folder of what `gpcn auto` and `gpcn tune` wrote: one after the other, and the runs beside them as compared."""
    inside = [
        material for folder in _studies_and_choices_in(path) for material in _reader_of(folder).read(folder, context)
    ]
    return [*inside, *(_read_comparison(path, context) if layout.runs_in(Path(path)) else [])]


def _studies_and_choices_in(path: str) -> list[str]:
    """The choices of `auto` and the studies right inside a folder."""
    folder = Path(path)
    inside = sorted(map(str, folder.iterdir())) if folder.is_dir() else []
    return [inner for inner in inside if AUTO.recognizes(inner) or STUDIES.recognizes(inner)]


def _run_material(path: Path, context: PageContext) -> RunMaterial | None:
    run = Run.open(path)
    return _material(run, run.result(), context) if run.finished() else None


def _material(run: Run, result: RunResult, context: PageContext) -> RunMaterial:
    graph, notes = context.graph_of(run.graph, run.path)
    return RunMaterial(run.path.resolve().name, run, result, graph, notes, context.names_nodes)


def _load(path: str, mirror: Path | None) -> Graph:
    folder = Path(path)
    if folder.is_dir() and not any(folder.glob("edges.*")):
        raise DataError(
            f"{path} is neither a run (it has no {layout.RUN}), nor a study (no {layout.STUDY}), nor a comparison (no "
            "folder in it is a run, a study or a choice of auto), nor a graph (it has no edges table); name a folder "
            f"that gpcn train, tune, auto or compare {Option('out')} wrote, or a graph"
        )
    return load(path, mirror=mirror)


@dataclass(frozen=True)
class Reader:
    """How a kind of path is recognized, and the materials that are read from it."""

    recognizes: Callable[[str], bool]
    read: Callable[[str, PageContext], list[Any]]


RUNS = Reader(lambda path: layout.kind_of(Path(path)) == "run", _read_run)
AUTO = Reader(lambda path: layout.kind_of(Path(path)) == "auto", _read_auto)
STUDIES = Reader(lambda path: layout.kind_of(Path(path)) == "study", _read_study)
THEORY = Reader(lambda path: path.lower().endswith(".json") and Path(path).is_file(), _read_theory)
SEVERAL = Reader(lambda path: bool(_studies_and_choices_in(path)), _read_several)
COMPARISONS = Reader(lambda path: layout.kind_of(Path(path)) == "comparison", _read_comparison)
GRAPHS = Reader(lambda path: True, lambda path, context: context.not_yet_shown(context.named[path]))
READERS = (RUNS, AUTO, STUDIES, THEORY, SEVERAL, COMPARISONS, GRAPHS)
"""The first that recognizes a path reads it; what no other recognizes must be a graph."""


def _reader_of(path: str) -> Reader:
    try:
        return next(reader for reader in READERS if reader.recognizes(path))
    except OSError as error:
        raise DataError(
            f"cannot read {path[:80]}: {error.strerror or error}; check its name and permissions"
        ) from error
