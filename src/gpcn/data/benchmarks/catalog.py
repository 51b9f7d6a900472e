"""The benchmark datasets, one declarative entry each.

Sizes are those of the graph as loaded (an undirected edge counts once); for entries outside the project's mirror
they are the published ones. Checksums and commits of the files are in `checksums.json`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files as package_files
from typing import Any

from gpcn.core.errors import DataError, near_matches
from gpcn.data.benchmarks import readers
from gpcn.data.benchmarks.fetch import RemoteFile
from gpcn.data.benchmarks.readers import Reader

GEOM_GCN = "graphdml-uiuc-jlu/geom-gcn"
HETEROPHILOUS = "yandex-research/heterophilous-graphs"
LINKX = "CUAI/Non-Homophily-Large-Scale"
FEATHER = "benedekrozemberczki/FEATHER"

PEI = "Pei et al., Geom-GCN: Geometric Graph Convolutional Networks, ICLR 2020"
PLATONOV = "Platonov et al., A critical look at the evaluation of GNNs under heterophily, ICLR 2023"
LIM = "Lim et al., Large Scale Learning on Non-Homophilous Graphs, NeurIPS 2021"
ROZEMBERCZKI = "Rozemberczki et al., Multi-scale Attributed Node Embedding, Journal of Complex Networks 2021"
SEN = "Sen et al., Collective Classification in Network Data, AI Magazine 2008; splits: Pei et al., ICLR 2020"
TRAUD = "Traud et al., Social structure of Facebook networks, Physica A 2012; encoding: Lim et al., NeurIPS 2021"

UNLICENSED = "the repository states no licence for the data; cite the source and ask before redistributing"
MIT = "the repository is under the MIT licence; cite the source"

LEAK = "contains duplicated nodes that leak across the splits; see {}-filtered"
DEEZER_SPLITS = f"{LINKX}/data/splits/deezer-europe-splits.npy"
SHARES = "split files named 0.6_0.2 hold 48/32/20 %"


@dataclass(frozen=True)
class Source:
    """Files that hold a dataset, and what reads them."""

    files: tuple[str, ...]
    read: Reader

    @property
    def remote_files(self) -> tuple[RemoteFile, ...]:
        """The files with commit and checksum."""
        checksums = _checksums()
        return tuple(RemoteFile(path=path, **checksums.get(path, {})) for path in self.files)


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """What is known of a dataset before it is loaded.

    `random_splits` is set where none are official. `alternatives` hold the same graph in another form; they serve
    where they are at hand and the files themselves are not.
    """

    name: str
    files: tuple[str, ...]
    read: Reader
    nodes: int
    edges: int
    features: int
    classes: int
    splits: int
    metric: str = "accuracy"
    directed: bool = False
    random_splits: bool = False
    citation: str
    licence: str
    note: str = ""
    alternatives: tuple[Source, ...] = ()

    @property
    def sources(self) -> tuple[Source, ...]:
        """Where the graph can be had from, the preferred one first."""
        return (Source(self.files, self.read), *self.alternatives)

    @property
    def remote_files(self) -> tuple[RemoteFile, ...]:
        """The preferred files with commit and checksum."""
        return self.sources[0].remote_files


def names() -> list[str]:
    """All dataset names, the paper's first."""
    return list(_CATALOG)


def entry(name: str) -> Dataset:
    """The entry called `name`."""
    if name not in _CATALOG:
        raise DataError(f"there is no dataset called {name!r}; {near_matches(name, _CATALOG)}")
    return _CATALOG[name]


@cache
def _checksums() -> dict[str, dict[str, Any]]:
    checksums: dict[str, dict[str, Any]] = json.loads(
        (package_files("gpcn.data.benchmarks") / "checksums.json").read_text()
    )
    return checksums


def _geom_gcn_splits(name: str) -> tuple[str, ...]:
    return tuple(f"{GEOM_GCN}/splits/{name}_split_0.6_0.2_{number}.npz" for number in range(10))


def _wikipedia(name: str, nodes: int, edges: int, features: int) -> Dataset:
    return Dataset(
        name=name,
        files=(f"{HETEROPHILOUS}/data/{name}_directed.npz",),
        read=partial(readers.read_heterophilous, directed=True),
        nodes=nodes,
        edges=edges,
        features=features,
        classes=5,
        splits=10,
        directed=True,
        citation=f"{ROZEMBERCZKI}; classes and splits: {PEI}",
        licence=MIT,
        note=LEAK.format(name) + "; " + SHARES,
    )


def _webpages(name: str, nodes: int, edges: int) -> Dataset:
    return Dataset(
        name=name,
        files=(
            f"{GEOM_GCN}/new_data/{name}/out1_node_feature_label.txt",
            f"{GEOM_GCN}/new_data/{name}/out1_graph_edges.txt",
            *_geom_gcn_splits(name),
        ),
        read=readers.read_geom_gcn,
        nodes=nodes,
        edges=edges,
        features=1703,
        classes=5,
        splits=10,
        directed=True,
        citation=f"Craven et al., WebKB, AAAI 1998; {PEI}",
        licence=UNLICENSED,
        note="small: differences of a few points between models are noise; " + SHARES,
    )


def _citations(name: str, nodes: int, edges: int, features: int, classes: int, note: str = "") -> Dataset:
    parts = ("allx", "ally", "graph", "test.index", "tx", "ty")
    return Dataset(
        name=name,
        files=(*(f"{GEOM_GCN}/data/ind.{name}.{part}" for part in parts), *_geom_gcn_splits(name)),
        read=readers.read_planetoid,
        nodes=nodes,
        edges=edges,
        features=features,
        classes=classes,
        splits=10,
        citation=SEN,
        licence=UNLICENSED,
        note=note + SHARES,
    )


def _facebook(name: str, file: str, nodes: int, edges: int, features: int, splits_file: str = "") -> Dataset:
    return Dataset(
        name=name,
        files=(
            f"{LINKX}/data/facebook100/{file}.mat",
            *([f"{LINKX}/data/splits/{splits_file}"] if splits_file else []),
        ),
        read=readers.read_facebook100,
        nodes=nodes,
        edges=edges,
        features=features,
        classes=2,
        splits=5,
        random_splits=not splits_file,
        citation=TRAUD,
        licence=UNLICENSED + "; personal data: use for research only",
        note="" if splits_file else "no official splits: five seeded random 50/25/25 splits over labelled nodes",
    )


def _platonov(
    name: str,
    nodes: int,
    edges: int,
    features: int,
    classes: int,
    metric: str = "accuracy",
    note: str = "",
) -> Dataset:
    return Dataset(
        name=name,
        files=(f"{HETEROPHILOUS}/data/{name.replace('-', '_')}.npz",),
        read=readers.read_heterophilous,
        nodes=nodes,
        edges=edges,
        features=features,
        classes=classes,
        splits=10,
        metric=metric,
        citation=PLATONOV,
        licence=MIT,
        note=note,
    )


_ENTRIES = (
    _wikipedia("chameleon", 2277, 36101, 2325),
    _wikipedia("squirrel", 5201, 217073, 2089),
    Dataset(
        name="film",
        files=(
            f"{GEOM_GCN}/new_data/film/out1_node_feature_label.txt",
            f"{GEOM_GCN}/new_data/film/out1_graph_edges.txt",
            *_geom_gcn_splits("film"),
        ),
        read=partial(readers.read_geom_gcn, feature_indices=932),
        nodes=7600,
        edges=30019,
        features=932,
        classes=5,
        splits=10,
        directed=True,
        citation=f"Tang et al., Social influence analysis in large-scale networks, KDD 2009; {PEI}",
        licence=UNLICENSED,
        note="also known as actor; the file's header says 931 features but its indices go to 931; " + SHARES,
    ),
    _webpages("cornell", 183, 298),
    _webpages("texas", 183, 325),
    _webpages("wisconsin", 251, 515),
    _citations("cora", 2708, 5278, 1433, 7, "the splits cover the largest component only (2,485 nodes); "),
    _citations("citeseer", 3327, 4676, 3703, 6, "15 nodes without label are class 0, as in the benchmark; "),
    _citations("pubmed", 19717, 44327, 500, 3),
    Dataset(
        name="twitch-de",
        files=(
            *(f"{LINKX}/data/twitch/DE/musae_DE_{part}" for part in ("edges.csv", "features.json", "target.csv")),
            f"{LINKX}/data/splits/twitch-e-DE-splits.npy",
        ),
        read=readers.read_twitch,
        nodes=9498,
        edges=153138,
        features=2514,
        classes=2,
        splits=5,
        metric="roc_auc",
        citation=f"{ROZEMBERCZKI}; splits: {LIM}",
        licence=UNLICENSED,
        note="mutual friendships, listed once in the file, stored in both directions; 2,514 games are used (the "
        "published count of 2,545 is not what the files hold)",
    ),
    _facebook("penn94", "Penn94", 41554, 1362229, 4814, "fb100-Penn94-splits.npy"),
    Dataset(
        name="yelp-chi",
        files=(f"{LINKX}/data/YelpChi.mat", f"{LINKX}/data/splits/yelp-chi-splits.npy"),
        read=partial(readers.read_linkx_matrix, adjacency="homo"),
        nodes=45954,
        edges=3846979,
        features=32,
        classes=2,
        splits=5,
        metric="roc_auc",
        citation=f"Mukherjee et al., What Yelp fake review filter might be doing, ICWSM 2013; {LIM}",
        licence=UNLICENSED,
        note="YelpChi.mat has no public checksum: put it into a mirror by hand; only its sizes are checked",
    ),
    Dataset(
        name="deezer-europe",
        files=(
            *(
                f"{FEATHER}/new_node_level_dataset/{folder}/deezer_gendered_{folder}.{kind}"
                for folder, kind in (("edges", "csv"), ("features", "json"), ("target", "csv"))
            ),
            DEEZER_SPLITS,
        ),
        read=readers.read_deezer,
        alternatives=(Source((f"{LINKX}/data/deezer-europe.mat", DEEZER_SPLITS), readers.read_linkx_matrix),),
        nodes=28281,
        edges=92752,
        features=31241,
        classes=2,
        splits=5,
        citation=f"Rozemberczki and Sarkar, Characteristic Functions on Graphs, CIKM 2020; splits: {LIM}",
        licence=UNLICENSED,
        note="read from the files of its authors, or from the LINKX benchmark's .mat made of them where only that is "
        "at hand",
    ),
    Dataset(
        name="genius",
        files=(f"{LINKX}/data/genius.mat", f"{LINKX}/data/splits/genius-splits.npy"),
        read=readers.read_linkx_edges,
        nodes=421961,
        edges=984979,
        features=12,
        classes=2,
        splits=5,
        metric="roc_auc",
        citation=f"Lim and Benson, Expertise and Dynamics within Crowdsourced Musical Knowledge Curation; {LIM}",
        licence=UNLICENSED,
    ),
    _platonov("chameleon-filtered", 890, 8854, 2325, 5, note="chameleon without its duplicated nodes, undirected"),
    _platonov("squirrel-filtered", 2223, 46998, 2089, 5, note="squirrel without its duplicated nodes, undirected"),
    _platonov("roman-empire", 22662, 32927, 300, 18),
    _platonov("amazon-ratings", 24492, 93050, 300, 5),
    _platonov("minesweeper", 10000, 39402, 7, 2, "roc_auc"),
    _platonov("tolokers", 11758, 519000, 10, 2, "roc_auc"),
    _platonov("questions", 48921, 153540, 301, 2, "roc_auc"),
    _facebook("reed98", "Reed98", 962, 18812, 745),
    _facebook("amherst41", "Amherst41", 2235, 90954, 1193),
    _facebook("johnshopkins55", "Johns Hopkins55", 5180, 186586, 2406),
    _facebook("cornell5", "Cornell5", 18660, 790777, 4735),
)


def _register(entries: tuple[Dataset, ...]) -> dict[str, Dataset]:
    catalog: dict[str, Dataset] = {}
    for dataset in entries:
        if dataset.name in catalog:
            raise ValueError(f"two datasets are called {dataset.name}")
        catalog[dataset.name] = dataset
    return catalog


_CATALOG = _register(_ENTRIES)
