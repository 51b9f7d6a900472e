"""Loading a dataset of the catalog: fetch, verify, parse once, keep the parsed graph for next time."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

from gpcn.core.errors import DataError
from gpcn.data import native
from gpcn.data.benchmarks import catalog
from gpcn.data.benchmarks.catalog import Dataset, Source
from gpcn.data.benchmarks.fetch import cache_folder, fetch_file, is_available_offline, mirror_folder
from gpcn.graph import Graph
from gpcn.graph.splitting import random_splits

PARSER_VERSION = 1  # raise it whenever a reader gives another graph for the same files


def load_dataset(name: str, *, mirror: Path | None = None) -> Graph:
    """The dataset called `name`."""
    dataset, folder = catalog.entry(name), mirror_folder(mirror)
    source = next((source for source in dataset.sources if _at_hand(dataset, source, folder)), dataset.sources[0])
    parsed = _parsed_path(dataset, source)
    if parsed is not None and parsed.is_file():
        try:
            return native.read(parsed)
        except DataError:  # a damaged cache is only a cache
            parsed.unlink(missing_ok=True)
    graph = _parse(dataset, source, folder)
    if parsed is not None:
        native.write(graph, parsed)
    return graph


def is_available(dataset: Dataset, mirror: Path | None = None) -> bool:
    """Whether it can be loaded without the network."""
    folder = mirror_folder(mirror)
    return any(_at_hand(dataset, source, folder) for source in dataset.sources)


def _at_hand(dataset: Dataset, source: Source, mirror: Path | None) -> bool:
    parsed = _parsed_path(dataset, source)
    return (parsed is not None and parsed.is_file()) or all(
        is_available_offline(file, mirror) for file in source.remote_files
    )


def _parse(dataset: Dataset, source: Source, mirror: Path | None) -> Graph:
    files = source.remote_files
    raw = source.read({file.path: fetch_file(file, mirror) for file in files})
    notes = (dataset.note,) if dataset.note else ()
    graph = replace(raw, name=dataset.name, metric=dataset.metric, notes=notes)
    if not all(file.verifiable for file in files):
        _check_size(graph, dataset)
    return random_splits(graph, count=dataset.splits, stratified=False) if dataset.random_splits else graph


def _check_size(graph: Graph, dataset: Dataset) -> None:
    sizes = (graph.num_nodes, graph.num_features, graph.num_classes)
    expected = (dataset.nodes, dataset.features, dataset.classes)
    if sizes != expected:
        raise DataError(
            f"{dataset.name} has {sizes[0]:,} nodes, {sizes[1]:,} features and {sizes[2]} classes; expected "
            f"{expected[0]:,}, {expected[1]:,} and {expected[2]}; the file in the mirror is not the benchmark's"
        )


def _parsed_path(dataset: Dataset, source: Source) -> Path | None:
    """Keyed by the checksums of all raw files; a dataset with an unverifiable file is parsed anew each time."""
    files = source.remote_files
    if not all(file.verifiable for file in files):
        return None
    key = hashlib.sha256(repr((PARSER_VERSION, native.VERSION, dataset.note, files)).encode()).hexdigest()[:16]
    return cache_folder() / "graphs" / f"{dataset.name}-{key}.npz"
