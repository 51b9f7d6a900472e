"""What only a bank of operators sees: how many links a node has."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gpcn import TrainConfig
from gpcn.explanation import explain
from gpcn.runs.run import Run
from gpcn.runs.training import train
from tests.graphs import graph_of_senders


def test_the_bank_sees_what_means_delete_and_explain_names_it(tmp_path: Path) -> None:
    graph = graph_of_senders()

    def score(model: str, **settings: object) -> float:
        config = TrainConfig.of(model, hidden=16, epochs=150, bias=True, dropout=0.0, **settings)
        result = train(graph, config, out=tmp_path / f"{model}-{len(settings)}", jobs=1)
        return float(result.splits[0].test)

    means = score("multi-gpcn", operators="directions")
    sums = score("multi-gpcn")
    assert sums > 95
    assert means < 60
    run = Run.open(tmp_path / "multi-gpcn-0")
    sender = int(np.flatnonzero(graph.labels == 1)[0])
    parts = {part.part: part.margin for part in explain(run, graph, str(sender)).parts}
    assert max(parts, key=lambda name: parts[name]) == "out-raw hop 1"


def test_blocks_read_degrees_though_their_operators_are_means(tmp_path: Path) -> None:
    graph = graph_of_senders()

    def score(degrees: bool) -> float:
        config = TrainConfig.of("deep-gpcn", hidden=16, epochs=100, blocks=2, dropout=0.0, degrees=degrees)
        result = train(graph, config, out=tmp_path / str(degrees), jobs=1)
        return float(result.splits[0].test)

    assert score(True) > 95
    assert score(False) < 60
