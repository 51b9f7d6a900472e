"""A page about everything at once, with names that try to break out of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gpcn import Graph, TrainConfig, report, save, synthesize
from gpcn.api.report_page import write_report_page
from gpcn.data.graph_record import GraphSource
from gpcn.runs.training import train
from gpcn.search.budget import Budget
from gpcn.search.executors import serial_executor
from gpcn.search.schedule import Plan
from gpcn.search.space import Space
from gpcn.search.study import tune
from tests.commands import in_process

NASTY = "<img src=x onerror=alert(1)>"
CLASSES = (NASTY, "</script><script>alert(2)</script>", "<b>%{x}</b> {{ 7 * 7 }} &amp; \u2028\u202eend")
MODELS = ("gpcn-link", "mlp", NASTY)


@pytest.fixture(scope="session")
def graph() -> Graph:
    plain = synthesize(nodes=150, classes=3, degree=5, homophily=0.1, mixing="ring", unlabelled=0.1, splits=3)
    ids = [f"{NASTY}{number}" for number in range(150)]
    return replace(plain, name=NASTY, label_names=CLASSES, node_ids=ids, notes=(f"read from {NASTY}",))


@pytest.fixture(scope="session")
def folder(graph: Graph, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`graph.npz`, in `runs` what gpcn compare, in `studies` what gpcn tune, in `bound.json` what gpcn bound wrote."""
    folder = tmp_path_factory.mktemp("report")
    save(graph, folder / "graph.npz")
    source = GraphSource.of(folder / "graph.npz")
    for name in MODELS:
        config = TrainConfig.of("agpcn" if name == NASTY else name, hidden=8, epochs=25)
        train(graph, config, out=folder / "runs" / name, jobs=1, source=source)
    space = Space.of(
        ["gpcn", "gcn"],
        fixed={"epochs": 6, "patience": 6, "hidden": 8},
        tried={"gamma": [0.25, 1, 1e6], "layers": [1, 8]},
    )
    tune(
        graph, space, Plan.of([0, 1], 6, size=6), serial_executor(graph), out=folder / "studies" / NASTY,
        budget=Budget(configurations=24), source=source, first=[space.point("gpcn", {"gamma": 1e6, "layers": 8})],
    )  # fmt: skip
    bound = ("bound", folder / "runs" / "gpcn-link", "--monte-carlo", 2, "--out", folder / "bound.json")
    done = in_process(*bound)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="session")
def today(graph: Graph, folder: Path) -> Path:
    """A page about a run and about later tables: nodes have vanished, others are new, and features have moved."""
    kept = np.arange(20, 150)
    ids = [f"{NASTY}{number + 5}" for number in kept]
    save(
        Graph(
            adjacency=graph.adjacency[kept][:, kept],
            features=graph.features[kept] + 3,
            labels=graph.labels[kept],
            label_names=CLASSES,
            node_ids=ids,
            name=NASTY,
        ),
        folder / "later.npz",
    )
    write_report_page([folder / "runs" / "gpcn-link"], folder / "today.html", edges=str(folder / "later.npz"))
    return folder / "today.html"


@pytest.fixture(scope="session")
def page(folder: Path) -> Path:
    runs = [folder / "runs", folder / "runs" / "gpcn-link", folder / "runs" / NASTY]
    report.write([*runs, folder / "studies" / NASTY, folder / "bound.json"], folder / "report.html")
    return folder / "report.html"
