"""Runs on disk: a folder that says what was trained on what, and holds a folder per split.

    config.json        configuration, graph (name, fingerprint, profile, where it came from), names of classes and
                       features, checksums of the files beside it
    environment.json   versions and machine
    node_ids.npz       the graph's own node names, where it has them: text and ends (data/packed_text.py)
    split-00/          checkpoint.json + tensors while running; then model.json + tensors, predictions.npz, epochs.csv,
                       result.json, which holds the checksums of the others and whom they belong to
    result.json        the summary over finished splits

Running the same configuration again finishes what is missing and repeats nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gpcn.atomic import replacing
from gpcn.data.archives import read_npz
from gpcn.data.packed_text import read_node_ids, write_node_ids
from gpcn.errors import CheckpointError, ConfigError, DataError, GpcnError
from gpcn.graph import Graph
from gpcn.locking import locked
from gpcn.preparation.preparation import Preparation
from gpcn.sealed import FORMAT, check_file, file_digest, read_sealed, write_sealed
from gpcn.training import checkpoint, parallel
from gpcn.training.comparison import rarer_class
from gpcn.training.config import TrainConfig
from gpcn.training.evaluation import summarize
from gpcn.training.folders import refuse_other_kinds, with_relative_paths
from gpcn.training.parallel import Helpers, Tick
from gpcn.training.problem import Structure
from gpcn.training.profile import profile_of
from gpcn.training.records import check_config
from gpcn.training.splitrun import read_outcome, split_key


@dataclass(frozen=True)
class Run:
    """A run folder that exists and is readable."""

    path: Path
    config: TrainConfig
    graph: dict[str, Any]
    version: int = FORMAT
    files: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def open(cls, path: str | Path) -> Run:
        """The run at `path`."""
        path = Path(path)
        file = path / "config.json"
        if not file.is_file():
            raise CheckpointError(
                f"{path} is not a run: it has no config.json; expected a folder written by gpcn train"
            )
        payload = read_sealed(file, check_config, "it cannot be used")
        try:
            config = TrainConfig.from_json(payload["config"])
            if payload["graph"].get("preparation") is not None:
                Preparation.from_json(payload["graph"]["preparation"], str(file))
        except (GpcnError, ValueError, TypeError, OverflowError, RecursionError) as error:
            raise CheckpointError(f"{file} is damaged: {error}; it cannot be used") from error
        return cls(path, config, payload["graph"], payload["format"], payload.get("files", {}))

    @property
    def notes(self) -> tuple[str, ...]:
        """What whoever uses the run should know."""
        if self.version > 1:
            return ()
        return (
            f"{self.path} was written by an earlier gpcn, without checksums: whether its files were altered since "
            "cannot be told",
        )

    @property
    def identity(self) -> str:
        """The graph that its files belong to: what models see of it and, in runs of today, all its names."""
        fingerprint, names = self.graph["fingerprint"], self.graph.get("names")
        return str(fingerprint) if names is None else f"{fingerprint}|{names}"

    def folder(self, number: int) -> Path:
        """Where split `number` lives."""
        return self.path / f"split-{number:02d}"

    def key(self, number: int) -> str:
        """Whom the files of split `number` must belong to."""
        return split_key(self.config, self.identity, number)

    def finished(self) -> list[int]:
        """The splits with a result."""
        names = [file.parent.name for file in self.path.glob("split-*/result.json")]
        return sorted(int(name[6:]) for name in names if re.fullmatch(r"split-\d{2,}", name))

    def result(self, only: Sequence[int] | None = None) -> dict[str, Any]:
        """The summary over all finished splits, or over some."""
        chosen = self.finished() if only is None else only
        outcomes = [self.outcome(number) for number in chosen]
        return summary(self.config, self.graph, [outcome["result"] for outcome in outcomes if outcome is not None])

    def outcome(self, number: int) -> dict[str, Any] | None:
        """What split `number` says of itself, checked: its `result`, and the checksums of its `files`."""
        outcome = read_outcome(self.folder(number), self.key(number))
        if outcome is None:
            return None
        classes = len(outcome["result"]["metrics"]["test"]["support"])
        if outcome["result"]["split"] != number or classes != self.graph["classes"]:
            raise CheckpointError(
                f"{self.folder(number) / 'result.json'} is damaged: it is about split {outcome['result']['split']} and "
                f"{classes} classes; delete {self.folder(number)} to run that split again"
            )
        return outcome

    def split_file(self, number: int, name: str) -> Path:
        """A file of the finished split `number`, the one that was written with its result."""
        outcome, folder = self.outcome(number), self.folder(number)
        if outcome is None:
            raise CheckpointError(
                f"split {number} of {self.path} is not finished; run the same gpcn train command to finish it"
            )
        if name in outcome.get("files", {}):
            check_file(folder / name, outcome["files"][name], f"delete {folder} to run that split again")
        return folder / name

    def predictions(self, number: int) -> npt.NDArray[np.float64]:
        """The probabilities of all nodes that were kept of split `number`, `[N, C]`."""
        file = self.split_file(number, "predictions.npz")
        stored = read_npz(file, str(file)).get("probabilities")
        shape = (self.graph["nodes"], self.graph["classes"])
        if stored is None or stored.shape != shape or stored.dtype.kind != "f" or not np.isfinite(stored).all():
            raise CheckpointError(f"{file} is damaged; delete {file.parent} to run that split again")
        return np.asarray(stored, dtype=np.float64)

    def positive(self) -> int | None:
        """Of two classes the rarer one, which thresholds are about; `None` with more classes."""
        if int(self.graph["classes"]) != 2:
            return None
        stored = self.graph.get("positive")
        return int(stored) if stored in (0, 1) else rarer_class(self.result()["splits"])  # older runs do not say so

    def node_ids(self) -> list[str] | None:
        """The names of the nodes trained on, where they had any."""
        file = self.path / "node_ids.npz"
        if "node_ids.npz" in self.files:
            check_file(file, self.files["node_ids.npz"], "it cannot be used")
        elif self.version > 1 or not file.is_file():
            return None
        names = read_node_ids(file)
        if len(names) != self.graph["nodes"]:
            raise CheckpointError(f"{file} is damaged: it does not name {self.graph['nodes']} nodes; it cannot be used")
        return names

    def structure(self) -> Structure:
        """What kinds of links were trained on; runs older than banks of operators do not say, and do not need it."""
        return Structure(bool(self.graph.get("directed", True)), tuple(self.graph.get("relations", ())))

    def label_names(self) -> tuple[str, ...]:
        """The names of the classes; their numbers where they have none."""
        return tuple(self.graph["label_names"] or (str(number) for number in range(int(self.graph["classes"]))))


def train(
    graph: Graph,
    config: TrainConfig,
    *,
    out: str | Path | None = None,
    splits: Sequence[int] | None = None,
    jobs: int | None = 1,
    device: str = "auto",
    save_every: float = 10.0,
    source: dict[str, Any] | None = None,
    tick: Callable[[Tick], None] | None = None,
    helpers: Helpers | None = None,
) -> dict[str, Any]:
    """Train `config` on the given `splits` of `graph` (default: all) and summarize.

    Args:
        graph: what to train on.
        config: what to train.
        out: the run's folder; without one nothing is kept and each split's result carries its `probabilities`.
        splits: numbers of splits.
        jobs: splits at once, one in this process and each other in one of its own; `None`: as many as cores allow,
            started only when they pay. More than one needs the usual `if __name__ == "__main__":` in scripts.
        device: `auto`, `cpu` or `cuda`.
        save_every: seconds between checkpoints.
        source: where the graph came from, for prediction later.
        tick: called with progress.
        helpers: processes to share the work with, kept for what follows on the same graph.

    Returns:
        `metric, model, test_mean, test_std, val_mean, splits: [{split, seed, test, val, epochs, seconds, ...}]`.
    """
    from gpcn.training.problem import choose_device

    if not isinstance(graph, Graph):
        raise ConfigError(f"graph is of type {type(graph).__name__}; expected a Graph, such as gpcn.load gives")
    if not isinstance(config, TrainConfig):
        raise ConfigError(f"config is {config!r:.80}; expected a TrainConfig, such as TrainConfig.of('gpcn')")
    numbers = check_splits(graph, splits)
    kind = choose_device(device).type
    threads = parallel.threads_for(graph, config)
    options: dict[str, Any] = {"threads": threads, "device": kind, "save_every": save_every, "tick": tick}
    options |= {"helpers": helpers, "at_once": jobs is not None}
    if out is None:
        nowhere: dict[int, Path | None] = dict.fromkeys(numbers)
        many = parallel.jobs_for(jobs, len(numbers), threads)
        found = parallel.run_all(graph, config, numbers, nowhere, jobs=many, **options)
        return summary(config, describe(graph, source), [found[number] for number in numbers])
    path = Path(out)
    with locked(path):
        run = open_or_create(path, graph, config, source)
        missing = [number for number in numbers if run.outcome(number) is None]
        many = parallel.jobs_for(jobs, len(missing), threads)
        places: dict[int, Path | None] = {number: run.folder(number) for number in missing}
        if missing:
            parallel.run_all(graph, config, missing, places, jobs=many, identity=run.identity, **options)
        write_sealed(path / "result.json", {"format": FORMAT, **run.result()}, indent=1)
        return run.result(numbers)


def summary(config: TrainConfig, graph: dict[str, Any], splits: list[dict[str, Any]]) -> dict[str, Any]:
    """Mean and deviation over splits, every single value kept."""
    test_mean, test_std = summarize([split["test"] for split in splits])
    val_mean, _ = summarize([split["val"] for split in splits])
    return {
        "graph": graph["name"],
        "model": config.model,
        "metric": graph["metric"],
        "test_mean": test_mean,
        "test_std": test_std,
        "val_mean": val_mean,
        "seconds": round(sum(split["seconds"] for split in splits), 3),
        "parameters": splits[0]["parameters"] if splits else None,
        "config": config.to_json(),
        "splits": splits,
    }


def describe(graph: Graph, source: dict[str, Any] | None) -> dict[str, Any]:
    """What a run must know of its graph."""
    structure = Structure.of(graph)
    return {
        "name": graph.name,
        "metric": graph.metric,
        "fingerprint": graph.fingerprint(),
        "names": names_digest(graph),
        "nodes": graph.num_nodes,
        "features": graph.num_features,
        "classes": graph.num_classes,
        "positive": graph.positive,
        "label_names": graph.label_names,
        "feature_names": graph.feature_names,
        "directed": structure.directed,
        "relations": list(structure.relations),
        "preparation": graph.preparation.to_json() if graph.preparation else None,
        "source": source,
    }


def names_digest(graph: Graph) -> str:
    """A checksum of all that is called something in `graph`: nodes, classes, features."""
    names = [graph.node_ids, graph.label_names, graph.feature_names]
    return hashlib.sha256(json.dumps(names).encode()).hexdigest()


def check_splits(graph: Graph, splits: Sequence[int] | None) -> list[int]:
    """The numbers of the splits that are meant, all of them by default."""
    if not graph.splits:
        raise DataError(f"{graph.name} has no splits; add a split column, or random ones with --random-splits 5")
    numbers = list(range(len(graph.splits))) if splits is None else sorted(set(splits))
    if not numbers:
        raise ConfigError(f"no split is named; expected some of 0 to {len(graph.splits) - 1}, or None for all")
    for number in numbers:
        if not 0 <= number < len(graph.splits):
            raise ConfigError(f"there is no split {number}; {graph.name} has splits 0 to {len(graph.splits) - 1}")
    return numbers


def open_or_create(path: Path, graph: Graph, config: TrainConfig, source: dict[str, Any] | None) -> Run:
    """The run in `path`, checked to be of this graph and configuration; a new one where there is none."""
    refuse_other_kinds(path, "config.json")
    if (path / "config.json").exists():
        run = Run.open(path)
        if run.config.canonical() != config.canonical():
            changed = "; ".join(run.config.differences(config)[:3])
            raise ConfigError(f"{path} holds another configuration ({changed}); choose another --out")
        _check_same_graph(run, graph)
        _tidy(path)
        return _moved(run, source)
    described = describe(graph, with_relative_paths(source, path)) | {"profile": profile_of(graph)}
    return create(path, config, json.loads(json.dumps(described)), graph.node_ids)


def create(path: Path, config: TrainConfig, about: dict[str, Any], node_ids: Sequence[str] | None = None) -> Run:
    """A new run of a graph that `about` describes."""
    _write_json(path / "environment.json", _environment())
    (path / "node_ids.npz").unlink(missing_ok=True)  # of a run that was killed before it began
    if node_ids is not None:
        write_node_ids(node_ids, path / "node_ids.npz")
    files = {name: file_digest(path / name) for name in ("environment.json", "node_ids.npz") if (path / name).exists()}
    run = Run(path, config, about, files=files)
    _write_config(run)
    return run


def name_nodes(run: Run, node_ids: Sequence[str]) -> Run:
    """The run with the names of its nodes, which were not at hand when it was created."""
    write_node_ids(node_ids, run.path / "node_ids.npz")
    named = replace(run, files={**run.files, "node_ids.npz": file_digest(run.path / "node_ids.npz")})
    _write_config(named)
    return named


def _check_same_graph(run: Run, graph: Graph) -> None:
    about = json.loads(json.dumps(describe(graph, None)))
    if any(run.graph.get(key) != about[key] for key in ("fingerprint", "metric", "classes", "features")):
        raise ConfigError(f"{run.path} was trained on another graph than this {graph.name}; choose another --out")
    ids = None if graph.node_ids is None else list(graph.node_ids)
    renamed = {
        "classes": run.graph["label_names"] != about["label_names"],
        "features": run.graph["feature_names"] != about["feature_names"],
        "nodes": run.node_ids() != ids,
    }
    changed = [things for things, differ in renamed.items() if differ]
    if changed:
        raise ConfigError(
            f"{run.path} was trained on another graph than this {graph.name}: its {' and '.join(changed)} have other "
            "names; choose another --out"
        )


def _moved(run: Run, source: dict[str, Any] | None) -> Run:
    """The run, which from now on finds its graph where it was found this time."""
    current = json.loads(json.dumps(with_relative_paths(source, run.path)))
    if current is None or current == run.graph.get("source"):
        return run
    found_here = replace(run, graph={**run.graph, "source": current})
    _write_config(found_here)
    return found_here


def _write_config(run: Run) -> None:
    payload = {"format": run.version, "config": run.config.to_json(), "graph": run.graph, "files": dict(run.files)}
    write_sealed(run.path / "config.json", payload, indent=1)


def _tidy(path: Path) -> None:
    """Take away what a kill left behind: half-written files, and checkpoints of splits that are done."""
    for leftover in path.rglob(".*.tmp"):
        leftover.unlink(missing_ok=True)
    for done in path.glob("split-*/result.json"):
        checkpoint.remove(done.parent, "checkpoint")


def _write_json(path: Path, told: Any) -> None:
    with replacing(path) as stream:
        stream.write(json.dumps(told, indent=1, allow_nan=False).encode())


def _environment() -> dict[str, Any]:
    import torch

    return {
        "gpcn": metadata.version("gpcn"),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cores": os.cpu_count(),
    }
