"""A run's folder begins, or is found again: what it must know of its graph, and that both belong together."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Sequence
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace as with_fields

from gpcn.core.atomic import write_json
from gpcn.core.errors import ConfigError, Option
from gpcn.data.graph_record import GraphProfile, GraphRecord, GraphSource
from gpcn.data.packed_text import write_node_ids
from gpcn.graph import Graph
from gpcn.records import layout
from gpcn.records.sealed import file_digest, write_sealed
from gpcn.runs.folders import with_paths_beside
from gpcn.runs.profile import profile_of
from gpcn.runs.records import ConfigRecord, RunRecord
from gpcn.runs.run import Run
from gpcn.training import checkpoint
from gpcn.training.config import TrainConfig
from gpcn.training.problem import Structure


def describe_graph(graph: Graph, source: GraphSource | None = None, profile: GraphProfile | None = None) -> GraphRecord:
    """Return what is kept of `graph`."""
    structure = Structure.of(graph)
    return GraphRecord(
        name=graph.name,
        metric=graph.metric,
        fingerprint=graph.fingerprint(),
        names=graph_names_digest(graph),
        nodes=graph.num_nodes,
        features=graph.num_features,
        classes=graph.num_classes,
        positive=graph.positive,
        task=graph.task_name,
        label_names=None if graph.label_names is None else tuple(graph.label_names),
        feature_names=None if graph.feature_names is None else tuple(graph.feature_names),
        directed=structure.directed,
        relations=structure.relations,
        preparation=graph.preparation,
        source=source,
        profile=profile,
    )


def graph_names_digest(graph: Graph) -> str:
    """A checksum of all that is called something in `graph`: nodes, classes, features."""
    names = [graph.node_ids, graph.label_names, graph.feature_names]
    return hashlib.sha256(json.dumps(names).encode()).hexdigest()


def open_or_create_run(path: Path, graph: Graph, config: TrainConfig, source: GraphSource | None) -> Run:
    """The run in `path`, checked to be of this graph and configuration; a new one where there is none."""
    run = open_run_of(path, config)
    if run is not None:
        _check_same_graph(run, graph)
        _tidy(path)
        return _moved(run, source)
    beside = None if source is None else with_paths_beside(source, path)
    return create_run(path, config, describe_graph(graph, beside, profile_of(graph)), graph.node_ids)


def open_run_of(path: Path, config: TrainConfig) -> Run | None:
    """Return the run in `path`, checked to be of this configuration; `None` where there is none."""
    layout.refuse_folder_of_other_kind(path, "run")
    if not (path / layout.RUN).exists():
        return None
    run = Run.open(path)
    if run.config.canonical() != config.canonical():
        changed = "; ".join(run.config.differences(config)[:3])
        raise ConfigError(f"{path} holds another configuration ({changed}); choose another {Option('out')}")
    return run


def create_run(
    path: Path, config: TrainConfig, graph_record: GraphRecord, node_ids: Sequence[str] | None = None
) -> Run:
    """Return a new run of the graph that `graph_record` describes."""
    write_json(path / layout.ENVIRONMENT, _environment())
    (path / layout.NODE_IDS).unlink(missing_ok=True)  # of a run that was killed before it began
    if node_ids is not None:
        write_node_ids(node_ids, path / layout.NODE_IDS)
    files = {name: file_digest(path / name) for name in (layout.ENVIRONMENT, layout.NODE_IDS) if (path / name).exists()}
    run = Run(path, config, graph_record, files=files)
    _write_config(run)
    return run


def add_node_names(run: Run, node_ids: Sequence[str]) -> Run:
    """The run with the names of its nodes, which were not at hand when it was created."""
    write_node_ids(node_ids, run.path / layout.NODE_IDS)
    named = replace(run, files={**run.files, layout.NODE_IDS: file_digest(run.path / layout.NODE_IDS)})
    _write_config(named)
    return named


def _check_same_graph(run: Run, graph: Graph) -> None:
    before, now = run.graph, describe_graph(graph)
    if any(getattr(before, key) != getattr(now, key) for key in ("fingerprint", "metric", "classes", "features")):
        raise ConfigError(
            f"{run.path} was trained on another graph than this {graph.name}; choose another {Option('out')}"
        )
    renamed = {
        "classes": before.label_names != now.label_names,
        "features": before.feature_names != now.feature_names,
        "nodes": run.node_ids() != (None if graph.node_ids is None else list(graph.node_ids)),
    }
    changed = [things for things, differ in renamed.items() if differ]
    if changed:
        raise ConfigError(
            f"{run.path} was trained on another graph than this {graph.name}: its {' and '.join(changed)} have other "
            f"names; choose another {Option('out')}"
        )


def _moved(run: Run, source: GraphSource | None) -> Run:
    """Return the run, which from now on finds its graph where it was found this time."""
    current = None if source is None else with_paths_beside(source, run.path)
    if current is None or current == run.graph.source:
        return run
    found_here = replace(run, graph=with_fields(run.graph, source=current))
    _write_config(found_here)
    return found_here


def _write_config(run: Run) -> None:
    record = RunRecord(ConfigRecord.of(run.config), run.graph, dict(run.files))
    write_sealed(run.path / layout.RUN, record, indent=1)


def _tidy(path: Path) -> None:
    """Take away what a kill left behind: half-written files, and checkpoints of splits that are done."""
    for leftover in path.rglob(".*.tmp"):
        leftover.unlink(missing_ok=True)
    for done in layout.finished_splits(path).values():
        checkpoint.remove(done, "checkpoint")


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
