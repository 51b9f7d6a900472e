"""Every entry: the ones in the mirror against their known statistics, all of them for form."""

from __future__ import annotations

import re
import time
from pathlib import Path

import numpy as np
import pytest

from gpcn import DataError, load
from gpcn.data.benchmarks import catalog, readers
from gpcn.data.benchmarks import loading as benchmark
from gpcn.graph.split import SCORED

THE_PAPERS = (
    "chameleon squirrel film cornell texas wisconsin cora citeseer pubmed twitch-de penn94 yelp-chi deezer-europe "
    "genius"
)
BEYOND = (
    "chameleon-filtered squirrel-filtered roman-empire amazon-ratings minesweeper tolokers questions reed98 amherst41 "
    "johnshopkins55 cornell5"
)
IN_THE_MIRROR = (
    "chameleon squirrel film cornell texas wisconsin cora citeseer pubmed twitch-de deezer-europe chameleon-filtered "
    "squirrel-filtered minesweeper tolokers reed98"
).split()
SPLIT_SIZES = {  # train, val, test of the first split
    "chameleon": (1092, 729, 456),
    "squirrel": (2496, 1664, 1041),
    "film": (3648, 2432, 1520),
    "cornell": (87, 59, 37),
    "texas": (87, 59, 37),
    "wisconsin": (120, 80, 51),
    "cora": (1192, 796, 497),
    "citeseer": (1596, 1065, 666),
    "pubmed": (9463, 6310, 3944),
    "twitch-de": (4749, 2374, 2375),
    "deezer-europe": (14140, 7070, 7071),
    "minesweeper": (5000, 2500, 2500),
    "reed98": (432, 216, 217),
}


def test_the_catalog_is_complete() -> None:
    assert catalog.names() == (THE_PAPERS + " " + BEYOND).split()


@pytest.mark.parametrize("name", catalog.names())
def test_an_entry_says_all_it_should(name: str) -> None:
    entry = catalog.entry(name)
    assert entry.citation
    assert entry.licence
    for file in entry.remote_files:
        if name == "yelp-chi" and file.path.endswith(".mat"):
            continue
        assert re.fullmatch(r"[0-9a-f]{40}", file.commit)
        assert re.fullmatch(r"[0-9a-f]{64}", file.sha256 or "") or re.fullmatch(r"[0-9a-f]{40}", file.git_blob or "")
        assert len(file.path.split("/")) >= 3


@pytest.mark.mirror
@pytest.mark.parametrize("name", IN_THE_MIRROR)
def test_statistics_are_the_known_ones(name: str, load_dataset) -> None:
    entry, graph = catalog.entry(name), load_dataset(name)
    statistics = (graph.num_nodes, graph.num_edges, graph.num_features, graph.num_classes, len(graph.splits))
    assert statistics == (entry.nodes, entry.edges, entry.features, entry.classes, entry.splits)
    assert (graph.directed, graph.metric, graph.name) == (entry.directed, entry.metric, name)
    if name in SPLIT_SIZES:
        assert tuple(getattr(graph.splits[0], role).size for role in SCORED) == SPLIT_SIZES[name]


@pytest.mark.mirror
@pytest.mark.parametrize("name", IN_THE_MIRROR)
def test_the_second_load_is_the_same_graph_in_a_second_of_work(name: str, load_dataset) -> None:
    first = load_dataset(name)
    start = time.process_time()
    second = load_dataset(name)
    assert time.process_time() - start < 1
    assert second.equals(first)
    assert second.notes == first.notes


@pytest.mark.mirror
def test_the_geom_gcn_splits_of_chameleon_are_the_ones_in_the_archive(mirror: Path, load_dataset) -> None:
    folder = mirror / "graphdml-uiuc-jlu/geom-gcn/splits"
    for number, split in enumerate(load_dataset("chameleon").splits):
        with np.load(folder / f"chameleon_split_0.6_0.2_{number}.npz") as masks:
            for role in SCORED:
                np.testing.assert_array_equal(np.flatnonzero(masks[f"{role}_mask"]), getattr(split, role))


@pytest.mark.mirror
def test_chameleons_edges_are_geom_gcns(mirror: Path, load_dataset) -> None:
    path = mirror / "graphdml-uiuc-jlu/geom-gcn/new_data/chameleon/out1_graph_edges.txt"
    listed = {tuple(edge) for edge in np.loadtxt(path, skiprows=1, dtype=int).tolist()}
    assert {tuple(edge) for edge in load_dataset("chameleon").edge_index.T.tolist()} == listed


@pytest.mark.mirror
def test_reed98_follows_the_benchmarks_encoding(load_dataset) -> None:
    graph = load_dataset("reed98")
    assert graph.has_sparse_features
    assert np.bincount(graph.labels + 1).tolist() == [97, 504, 361]
    np.testing.assert_array_equal(graph.features.sum(axis=1), np.full(962, 6))
    for split in graph.splits:
        assert sum(getattr(split, role).size for role in SCORED) == graph.labelled.size


@pytest.mark.mirror
def test_twitch_labels_are_keyed_by_the_new_ids(mirror: Path, load_dataset) -> None:
    rows = (mirror / "CUAI/Non-Homophily-Large-Scale/data/twitch/DE/musae_DE_target.csv").read_text().splitlines()
    graph = load_dataset("twitch-de")
    for row in rows[1:200]:
        _, _, mature, _, _, new_id = row.split(",")
        assert graph.labels[int(new_id)] == (mature == "True")


@pytest.mark.mirror
def test_a_damaged_parsed_cache_is_only_a_cache(load_dataset, own_cache: Path) -> None:
    graph = load_dataset("texas")
    (cached,) = (own_cache / "graphs").glob("texas-*.npz")
    cached.write_bytes(cached.read_bytes()[:-100])
    assert load_dataset("texas").equals(graph)


@pytest.mark.mirror
def test_an_altered_mirror_is_refused_and_nothing_is_cached(
    mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPCN_CACHE", str(tmp_path / "cache"))
    for file in catalog.entry("texas").remote_files:
        copy = tmp_path / "mirror" / file.path
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes((mirror / file.path).read_bytes())
    assert benchmark.is_available(catalog.entry("texas"), tmp_path / "mirror")
    victim = tmp_path / "mirror" / catalog.entry("texas").files[1]
    victim.write_bytes(victim.read_bytes().replace(b"1", b"2", 1))
    with pytest.raises(DataError, match="does not have the checksum"):
        load("texas", mirror=tmp_path / "mirror")
    assert not list((tmp_path / "cache").rglob("*.npz"))


def test_an_unknown_name_lists_near_matches() -> None:
    with pytest.raises(DataError, match="did you mean wisconsin"):
        load("wisconson")
    with pytest.raises(DataError, match="known: amazon-ratings, amherst41"):
        catalog.entry("zzzzzzzz")


def test_readers_are_functions_not_names() -> None:
    assert all(callable(catalog.entry(name).read) for name in catalog.names())
    assert readers.read_heterophilous in {catalog.entry(name).read for name in catalog.names()}
