"""Runs on disk: a folder that says what was trained on what, and holds a folder per split.

    config.json        configuration, graph (name, fingerprint, where it came from), names of classes and features
    environment.json   versions and machine
    node_ids.npz       the graph's own node names, where it has them
    split-00/          checkpoint.json + tensors while running; then model.json + tensors, predictions.npz, epochs.csv,
                       result.json
    result.json        the summary over finished splits

Running the same configuration again finishes what is missing and repeats nothing.
"""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from gpcn.atomic import replacing
from gpcn.data.archives import read_npz
from gpcn.errors import CheckpointError, ConfigError, DataError
from gpcn.graph import Graph
from gpcn.locking import locked
from gpcn.training import checkpoint, parallel
from gpcn.training.comparison import rarer_class
from gpcn.training.config import TrainConfig
from gpcn.training.evaluation import summarize
from gpcn.training.parallel import Helpers, Tick
from gpcn.training.problem import Structure
from gpcn.training.splitrun import read_result, split_key

FORMAT = 1


@dataclass(frozen=True)
class Run:
    """A run folder that exists and is readable."""

    path: Path
    config: TrainConfig
    graph: dict[str, Any]

    @classmethod
    def open(cls, path: str | Path) -> Run:
        """The run at `path`."""
        path = Path(path)
        file = path / "config.json"
        if not file.is_file():
            raise CheckpointError(
                f"{path} is not a run: it has no config.json; expected a folder written by gpcn train"
            )
        try:
            told = json.loads(file.read_bytes())
            if told["format"] != FORMAT:
                raise CheckpointError(f"{file} has format {told['format']!r}; this gpcn reads format {FORMAT}")
            return cls(path, TrainConfig.from_json(told["config"]), dict(told["graph"]))
        except (ValueError, KeyError, TypeError, RecursionError, OSError) as error:
            raise CheckpointError(f"{file} is damaged: {error!r}; it cannot be used") from error

    def folder(self, number: int) -> Path:
        """Where split `number` lives."""
        return self.path / f"split-{number:02d}"

    def key(self, number: int) -> str:
        """Whom the files of split `number` must belong to."""
        return split_key(self.config, str(self.graph["fingerprint"]), number)

    def finished(self) -> list[int]:
        """The splits with a result."""
        names = [file.parent.name for file in self.path.glob("split-*/result.json")]
        return sorted(int(name[6:]) for name in names if re.fullmatch(r"split-\d{2,}", name))

    def result(self, only: Sequence[int] | None = None) -> dict[str, Any]:
        """The summary over all finished splits, or over some."""
        chosen = self.finished() if only is None else only
        splits = [read_result(self.folder(number), self.key(number)) for number in chosen]
        return summary(self.config, self.graph, [split for split in splits if split is not None])

    def positive(self) -> int | None:
        """Of two classes the rarer one, which thresholds are about; `None` with more classes."""
        if int(self.graph["classes"]) != 2:
            return None
        stored = self.graph.get("positive")
        return int(stored) if stored in (0, 1) else rarer_class(self.result()["splits"])  # older runs do not say so

    def node_ids(self) -> list[str] | None:
        """The names of the nodes trained on, where they had any."""
        file = self.path / "node_ids.npz"
        if not file.is_file():
            return None
        return [str(name) for name in read_npz(file, str(file))["node_ids"]]

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
        missing = [n for n in numbers if read_result(run.folder(n), run.key(n)) is None]
        many = parallel.jobs_for(jobs, len(missing), threads)
        places: dict[int, Path | None] = {number: run.folder(number) for number in missing}
        if missing:
            parallel.run_all(graph, config, missing, places, jobs=many, **options)
        _write_json(path / "result.json", run.result())
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


def check_splits(graph: Graph, splits: Sequence[int] | None) -> list[int]:
    """The numbers of the splits that are meant, all of them by default."""
    if not graph.splits:
        raise DataError(f"{graph.name} has no splits; add a split column, or random ones with --random-splits 5")
    numbers = list(range(len(graph.splits))) if splits is None else sorted(set(splits))
    for number in numbers:
        if not 0 <= number < len(graph.splits):
            raise ConfigError(f"there is no split {number}; {graph.name} has splits 0 to {len(graph.splits) - 1}")
    return numbers


def open_or_create(path: Path, graph: Graph, config: TrainConfig, source: dict[str, Any] | None) -> Run:
    """The run in `path`, checked to be of this graph and configuration; a new one where there is none."""
    if (path / "auto.json").exists():
        raise ConfigError(f"{path} holds what --model auto chose; choose another --out")
    if (path / "config.json").exists():
        run = Run.open(path)
        if run.config.canonical() != config.canonical():
            changed = "; ".join(run.config.differences(config)[:3])
            raise ConfigError(f"{path} holds another configuration ({changed}); choose another --out")
        told = describe(graph, source)
        if any(run.graph.get(key) != told[key] for key in ("fingerprint", "metric", "classes", "features")):
            raise ConfigError(f"{path} was trained on another graph than this {graph.name}; choose another --out")
        _tidy(path)
        return run
    told = json.loads(json.dumps(describe(graph, source)))
    _write_json(path / "environment.json", _environment())
    if graph.node_ids is not None:
        with replacing(path / "node_ids.npz") as stream:
            np.savez_compressed(stream, node_ids=np.array(graph.node_ids, dtype=np.str_))
    _write_json(path / "config.json", {"format": FORMAT, "config": config.to_json(), "graph": told})
    return Run(path, config, told)


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
