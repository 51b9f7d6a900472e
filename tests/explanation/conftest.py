"""A small graph with names, and a run on it whose logits are a sum over hops."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpcn import Graph, TrainConfig, synthesize
from gpcn.runs.run import Run
from gpcn.runs.training import train


@pytest.fixture(scope="module")
def graph() -> Graph:
    nameless = synthesize(nodes=120, classes=3, degree=5, homophily=0.1, mixing="ring", unlabelled=0.1, splits=2)
    return replace(nameless, node_ids=[f"person {number}" for number in range(120)], label_names=["a", "b", "c"])


@pytest.fixture(scope="module")
def run(graph: Graph, tmp_path_factory: pytest.TempPathFactory) -> Run:
    path = tmp_path_factory.mktemp("runs") / "agpcn-link"
    train(graph, TrainConfig.of("agpcn-link", hidden=8, layers=3, epochs=40, bias=True), out=path, jobs=1)
    return Run.open(path)
