"""What the paper prints: its results, table by table."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

from gpcn.nn.zoo import FAMILY

BASELINES = ("mlp", "gcn", "sgc", "gprgnn", "h2gcn", "mixhop", "link", "linkx", "gcnii", "appnp")
METHODS = (*BASELINES, *FAMILY)
GEOM_GCN = ("chameleon", "squirrel", "film", "cornell", "texas", "wisconsin")
LINKX_GRAPHS = ("twitch-de", "penn94", "yelp-chi", "deezer-europe", "genius")
CITATIONS = ("cora", "citeseer", "pubmed")
DATASETS = (*GEOM_GCN, *LINKX_GRAPHS, *CITATIONS)


@dataclass(frozen=True)
class Table:
    """A table of the paper: which methods on which datasets."""

    name: str
    title: str
    datasets: tuple[str, ...]
    methods: tuple[str, ...] = METHODS


TABLES = {
    table.name: table
    for table in (
        Table(
            "table-1", "Features alone or links alone", ("squirrel", "film"), ("mlp", "link", "gcn", "gprgnn", "linkx")
        ),
        Table("table-2", "Six graphs of geom-gcn", GEOM_GCN),
        Table("table-3", "Five graphs of the LINKX benchmark", LINKX_GRAPHS),
        Table("table-4", "Homophilous graphs", CITATIONS),
    )
}


@dataclass(frozen=True)
class Score:
    """A mean and a deviation, in percent."""

    mean: float
    std: float


@lru_cache
def published_scores() -> dict[tuple[str, str], Score]:
    """Every printed result by (dataset, method); what ran out of memory or was not run is absent."""
    text = resources.files("gpcn.paper.reference").joinpath("published.csv").read_text()
    return {
        (row["dataset"], row["method"].lower()): Score(float(row["mean"]), float(row["std"]))
        for row in csv.DictReader(text.splitlines())
        if row["mean"]
    }


def published_score(dataset: str, method: str) -> Score | None:
    """What the paper prints for `method` on `dataset`."""
    return published_scores().get((dataset, method))


def best_published(dataset: str) -> tuple[str, Score] | None:
    """The best row of any method that the paper prints for `dataset`."""
    rows = [
        (method, printed) for (printed_for, method), printed in published_scores().items() if printed_for == dataset
    ]
    return max(rows, key=lambda row: row[1].mean, default=None)
