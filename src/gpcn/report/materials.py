"""What a page can be made of, and how each kind is recognized and read from the paths a user names.

A new kind is a dataclass, a reader in `READERS`, and a section in `sections.SECTIONS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gpcn.data.load import load
from gpcn.errors import CheckpointError, ConfigError, DataError, GpcnError
from gpcn.explanation import can_be_explained
from gpcn.graph import Graph
from gpcn.theory.document import TheoryDocument
from gpcn.training.compared_runs import read_comparison
from gpcn.training.folders import is_run, runs_in
from gpcn.training.metrics import gain
from gpcn.training.prediction import Predictions
from gpcn.training.runs import Run, names_digest
from gpcn.training.source import load_again, relocated, source_of
from gpcn.tuning import require_search
from gpcn.tuning.auto import members, read_choice


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
    result: dict[str, Any]
    graph: Graph | None
    notes: tuple[str, ...] = ()
    names_nodes: bool = True


@dataclass(frozen=True)
class ComparisonMaterial:
    """Runs on one graph, ranked."""

    name: str
    runs: tuple[RunMaterial, ...]
    found: dict[str, Any]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class StudyMaterial:
    """A search, as `tuning.summary.describe` tells it."""

    name: str
    found: dict[str, Any]
    dimensions: Mapping[str, Sequence[Any]]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class AutoMaterial:
    """What `auto` chose, out of what it tried, and why (`auto.json`)."""

    name: str
    choice: dict[str, Any]
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
    found: TheoryDocument


@dataclass
class Shelf:
    """Graphs at hand while a page is made, by fingerprint and by path, and what is `shown` already.

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

    def of(self, told: Mapping[str, Any], path: Path) -> tuple[Graph | None, tuple[str, ...]]:
        """The graph that the run or study at `path` is about, as it was `told` there, or why it cannot be had."""
        wanted = str(told["fingerprint"])
        what = "what needs it is left out"
        if wanted not in self.graphs:
            try:
                source = relocated(source_of(told), self.graph, self.nodes)
                self.add(load_again(source, path, mirror=self.mirror))
            except GpcnError as error:
                where = "if its files were moved, name them with --graph and --nodes"
                return None, (f"the graph of {path} cannot be loaded, so {what} ({where}): {error}",)
        if wanted not in self.graphs:
            return None, (f"the graph of {path} has changed since training, so {what}",)
        graph = self.graphs[wanted]
        if told.get("names", names_digest(graph)) != names_digest(graph):
            return None, (f"names in the graph of {path} have changed since training, so {what}",)
        return graph, ()

    def show(self, graph: Graph | None, run: RunMaterial | None = None) -> list[Any]:
        """The materials of a graph and of a run on it, each the first time it is asked for."""
        wanted: dict[str, Any] = {}
        if graph is not None:
            wanted[graph.fingerprint()] = GraphMaterial(graph.name, graph, self.names_nodes)
        if run is not None:
            wanted[str(run.run.path.resolve())] = run
        new = [material for key, material in wanted.items() if key not in self.shown]
        self.shown |= wanted.keys()
        return new


def gather(
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
    shelf = Shelf(mirror, graph, nodes, names_nodes)
    chosen = [(path, _reader_of(path)) for path in paths]
    for path, reader in chosen:
        if reader is GRAPHS:
            shelf.named[path] = shelf.add(_load(path, mirror))
    return [material for path, reader in chosen for material in reader.read(path, shelf)]


def _read_run(path: str, shelf: Shelf) -> list[Any]:
    made = _run(Path(path), shelf)
    if made is None:
        raise CheckpointError(f"{path} has no finished split; run the same gpcn train command to finish it")
    return shelf.show(made.graph, made)


def _read_comparison(path: str, shelf: Shelf) -> list[Any]:
    comparison = read_comparison(Path(path))
    runs = [_material(run, comparison.results[name], shelf) for name, run in comparison.runs.items()]
    waiting, found = comparison.unfinished, comparison.table
    notes = (f"without a finished split, and so left out: {', '.join(waiting)}",) if waiting else ()
    first, best = runs[0], next(run for run in runs if run.name == comparison.best)
    compared = ComparisonMaterial(Path(path).resolve().name, tuple(runs), found, (*notes, *first.notes))
    shown = [best]
    if not can_be_explained(best.run):  # then the best of those that say which signal carries them, too
        able = [run for run in runs if can_be_explained(run.run)]
        shown += [max(able, key=lambda run: gain(found["metric"], run.result["val_mean"]))] if able else []
    return [
        *shelf.show(first.graph),
        compared,
        *(section for run in shown for section in shelf.show(None, replace(run, notes=()))),
    ]


def _read_study(path: str, shelf: Shelf) -> list[Any]:
    require_search(f"the study in {path}")
    from gpcn.tuning.ledger import Ledger
    from gpcn.tuning.summary import describe

    folder = Path(path)
    ledger = Ledger.read(folder)
    graph, notes = shelf.of(ledger.header["graph"], folder)
    studied = StudyMaterial(folder.resolve().name, describe(ledger), ledger.space.dimensions(), notes=notes)
    return [*shelf.show(graph), studied]


def _read_auto(path: str, shelf: Shelf) -> list[Any]:
    """What `gpcn auto` wrote: its choice, and the members that count most and can say which signal carries them."""
    folder = Path(path)
    choice, runs = read_choice(folder), members(folder)
    opened = [_run(run_path, shelf) for run_path in dict.fromkeys(run.path for run in runs)]
    made = [material for material in opened if material is not None]
    if not made:
        raise CheckpointError(f"{path} has no member with a finished split; run the same gpcn auto command to go on")
    shown = made[:1]
    if not can_be_explained(shown[0].run):
        shown += [material for material in made[1:] if can_be_explained(material.run)][:1]
    return [
        *shelf.show(made[0].graph),
        AutoMaterial(folder.resolve().name, choice, made[0].notes),
        *(section for material in shown for section in shelf.show(None, replace(material, notes=()))),
    ]


def _read_theory(path: str, shelf: Shelf) -> list[Any]:
    found = TheoryDocument.read(Path(path))
    return [TheoryMaterial(found.title, found)]


def _read_several(path: str, shelf: Shelf) -> list[Any]:
    """A folder of what `gpcn auto` and `gpcn tune` wrote: one after the other, and the runs beside them as compared."""
    inside = [material for folder in _kept_in(path) for material in _reader_of(folder).read(folder, shelf)]
    return [*inside, *(_read_comparison(path, shelf) if runs_in(Path(path)) else [])]


def _kept_in(path: str) -> list[str]:
    """The choices of `auto` and the studies right inside a folder."""
    folder = Path(path)
    inside = sorted(map(str, folder.iterdir())) if folder.is_dir() else []
    return [inner for inner in inside if AUTO.recognizes(inner) or STUDIES.recognizes(inner)]


def _run(path: Path, shelf: Shelf) -> RunMaterial | None:
    run = Run.open(path)
    return _material(run, run.result(), shelf) if run.finished() else None


def _material(run: Run, result: dict[str, Any], shelf: Shelf) -> RunMaterial:
    graph, notes = shelf.of(run.graph, run.path)
    return RunMaterial(run.path.resolve().name, run, result, graph, (*run.notes, *notes), shelf.names_nodes)


def _load(path: str, mirror: Path | None) -> Graph:
    folder = Path(path)
    if folder.is_dir() and not any(folder.glob("edges.*")):
        raise DataError(
            f"{path} is neither a run (it has no config.json), nor a study (no study.json), nor a comparison (no "
            "folder in it is a run, a study or a choice of auto), nor a graph (it has no edges table); name a folder "
            "that gpcn train, tune, auto or compare --out wrote, or a graph"
        )
    return load(path, mirror=mirror)


@dataclass(frozen=True)
class Reader:
    """How a kind of path is told from others, and what is made of it."""

    recognizes: Callable[[str], bool]
    read: Callable[[str, Shelf], list[Any]]


RUNS = Reader(lambda path: is_run(Path(path)), _read_run)
AUTO = Reader(lambda path: (Path(path) / "auto.json").is_file(), _read_auto)
STUDIES = Reader(lambda path: (Path(path) / "study.json").is_file(), _read_study)
THEORY = Reader(lambda path: path.lower().endswith(".json") and Path(path).is_file(), _read_theory)
SEVERAL = Reader(lambda path: bool(_kept_in(path)), _read_several)
COMPARISONS = Reader(lambda path: bool(runs_in(Path(path))), _read_comparison)
GRAPHS = Reader(lambda path: True, lambda path, shelf: shelf.show(shelf.named[path]))
READERS = (RUNS, AUTO, STUDIES, THEORY, SEVERAL, COMPARISONS, GRAPHS)
"""The first that recognizes a path reads it; what nobody else knows must be a graph."""


def _reader_of(path: str) -> Reader:
    try:
        return next(each for each in READERS if each.recognizes(path))
    except OSError as error:
        raise DataError(
            f"cannot read {path[:80]}: {error.strerror or error}; check its name and permissions"
        ) from error
