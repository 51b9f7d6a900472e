"""The run of a training on several workers.

config.json          as of any run; the graph in it has `parts`
split-00/part-0000/  of each worker: checkpoints while running, then model.json + tensors, predictions.parquet
split-00/result.json the scores, and the checksums of all parts
result.json          the summary over finished splits
"""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from gpcn.core.errors import ConfigError, Option
from gpcn.data.graph_record import GraphRecord, GraphSource
from gpcn.data.object_storage import remote_url
from gpcn.data.parts.manifest import Manifest, part_folder
from gpcn.records import layout
from gpcn.runs.folders import with_paths_beside
from gpcn.runs.run import Run
from gpcn.runs.run_creation import create_run, open_run_of
from gpcn.training.config import TrainConfig

POSITION = "gpcn_position"  # of a node in its graph, where parts have another order


def open_or_create_part_run(path: Path, shards: str | Path, manifest: Manifest, config: TrainConfig) -> Run:
    """The run in `path`, checked to be of this graph, configuration and number of parts; a new one if there is none."""
    if layout.kind_of(path) == "parts":
        raise ConfigError(f"{path} holds a graph in parts; choose another {Option('out')}")
    about, run = replace(manifest.graph, parts=manifest.parts, order=manifest.order), open_run_of(path, config)
    if run is None:
        source = GraphSource(graph=remote_url(shards) or str(Path(shards).resolve()))
        return create_run(path, config, replace(about, source=with_paths_beside(source, path)))
    for key, what in (("fingerprint", "another graph"), ("metric", "another metric"), ("parts", "other parts")):
        if getattr(run.graph, key) != getattr(about, key):
            raise ConfigError(f"{path} was trained on {what} than {shards} has; choose another {Option('out')}")
    if run.graph.order != manifest.order:
        raise ConfigError(
            f"{path} was trained on parts in another order than {shards} has; choose another {Option('out')}"
        )
    return run


def part_key(run: Run, number: int, part: int) -> str:
    """Return the identity that the files of a part of split `number` carry."""
    return f"{run.key(number)}|{run.graph.parts}|{part}"


def split_part_folder(run: Run, number: int, part: int) -> Path:
    """Return the folder of one worker's files of a split."""
    return part_folder(run.folder(number), part)


def is_run_in_parts(record: GraphRecord) -> bool:
    """Whether a run was trained on several workers, from what it keeps of its graph."""
    return record.parts is not None
