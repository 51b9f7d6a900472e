"""Parts in the order of METIS: fewer links between them, the same training, and every node keeps name and number."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import gpcn
from gpcn import TrainConfig
from gpcn.core.errors import ConfigError
from gpcn.data.parts.tables import PartData
from gpcn.distributed.part_run import open_or_create_part_run
from gpcn.distributed.part_training import train_part
from gpcn.distributed.sharding.ordering import PartOrder, part_order
from gpcn.distributed.sharding.shards import shard
from gpcn.nn.engine.randomness import RowRange, building_for_rows, drawing_from, uniform_per_node_
from gpcn.runs.run import Run
from gpcn.training import checkpoint
from gpcn.training.problem import Problem
from gpcn.training.trainer import Trainer
from tests.commands import in_process
from tests.distributed.workers_of_a_test import run_workers
from tests.graphs import graph_of_three_groups

pytest.importorskip("pymetis")


@pytest.mark.parametrize("parts", [1, 3, 7])
@pytest.mark.parametrize("named", [False, True])
def test_the_whole_graph_comes_back_as_it_was(tmp_path: Path, parts: int, named: bool) -> None:
    graph = graph_of_three_groups()
    graph = replace(graph, node_ids=[f"n{number}" for number in range(60)]) if named else graph
    orders: list[PartOrder] = []
    manifest = shard(graph, tmp_path, parts, order="metis", report_order=orders.append)
    whole = gpcn.load(tmp_path)
    assert whole.equals(graph)
    assert whole.node_ids == graph.node_ids
    assert whole.splits[0].equals(graph.splits[0])
    assert manifest.graph.fingerprint == graph.fingerprint()
    data = [PartData.read(tmp_path, manifest, number) for number in range(parts)]
    positions = np.concatenate([part.positions for part in data])
    assert sorted(positions) == list(range(60))
    assert all((np.diff(part.positions) > 0).all() for part in data if part.positions is not None)
    if parts == 3:
        assert orders[0].crossing < 0.7 * orders[0].crossing_kept
    again = shard(graph, tmp_path, parts, order="kept")
    assert again.order == "kept"
    assert again.graph.fingerprint == manifest.graph.fingerprint
    assert gpcn.load(tmp_path).equals(graph)


def test_rows_of_weights_are_those_that_one_machine_draws() -> None:
    whole = torch.empty(50, 7)
    with drawing_from(torch.Generator().manual_seed(1)):
        uniform_per_node_(whole)
        following = uniform_per_node_(torch.empty(3, 2))
    positions = torch.tensor([0, 3, 4, 20, 49])
    part = torch.empty(5, 7)
    with drawing_from(torch.Generator().manual_seed(1)), building_for_rows(RowRange(0, 5, 50, positions)):
        uniform_per_node_(part)
    assert torch.equal(part, whole[positions])
    with drawing_from(torch.Generator().manual_seed(1)):
        with building_for_rows(RowRange(0, 5, 50, positions)):
            uniform_per_node_(torch.empty(5, 7))
        assert torch.equal(uniform_per_node_(torch.empty(3, 2)), following)


def trained_in_parts(workers: Any, jobs: list[tuple[Path, Path]]) -> None:
    for shards, out in jobs:  # in float64, as workers of a test are
        train_part(shards, out, [0], workers)


def test_a_training_is_that_of_one_machine_and_opens_as_such(tmp_path: Path) -> None:
    configs = {
        "gpcn-link": TrainConfig.of("gpcn-link", epochs=25, hidden=6, dropout=0.0, seed=4),
        "agpcn": TrainConfig.of("agpcn", epochs=25, hidden=6, dropout=0.0, seed=4),
        "link": TrainConfig.of("link", epochs=25, dropout=0.0, seed=4),
    }
    graph = graph_of_three_groups()
    manifest = shard(graph, tmp_path / "parts", 2, order="metis")
    runs = {
        name: open_or_create_part_run(tmp_path / name, tmp_path / "parts", manifest, config)
        for name, config in configs.items()
    }
    run_workers(2, trained_in_parts, [(tmp_path / "parts", run.path) for run in runs.values()])
    for name, config in configs.items():
        problem = Problem.prepared(graph, config, dtype=torch.float64)
        torch.set_default_dtype(torch.float64)
        try:
            trainer = Trainer(problem, config, graph.splits[0], 0)
            trainer.run()
            expected = torch.softmax(trainer.best_logits(), dim=1).numpy()
        finally:
            torch.set_default_dtype(torch.float32)
        folder = gpcn.open_run(runs[name].path)
        np.testing.assert_allclose(Run.open(folder.path).predictions(0), expected, atol=1e-6)  # kept in float32
        weights, _ = checkpoint.load(runs[name].folder(0), "model", runs[name].key(0)) or ({}, {})
        for key, weight in trainer.model.state_dict().items():
            torch.testing.assert_close(weights[key], weight, rtol=0, atol=1e-9)
        predictions = folder.predict()
        assert list(predictions.node_ids) == [str(number) for number in range(60)]
        np.testing.assert_allclose(predictions.probabilities, expected, atol=1e-4)
        assert (trainer.epoch, trainer.best_epoch) == tuple(
            getattr(folder.runs[0].result().splits[0], key) for key in ("epochs", "best_epoch")
        )
    kept = shard(graph, tmp_path / "kept", 2)
    with pytest.raises(ConfigError, match="was trained on parts in another order than"):
        open_or_create_part_run(runs["link"].path, tmp_path / "kept", kept, configs["link"])


def test_the_command_says_how_many_links_cross_and_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shard(graph_of_three_groups(), tmp_path / "graph", 1)
    words = ["shard", tmp_path / "graph", "--parts", 3, "--out", tmp_path / "out"]
    answer = in_process(*words, "--order", "metis")
    assert answer.returncode == 0, answer.stderr
    order = part_order(graph_of_three_groups(), 3, "metis")
    expected = f"{order.crossing_kept:.1%} in the order kept, {order.crossing:.1%} in this one"
    assert f"links between parts: {expected}" in answer.stdout
    assert "--order is 'best'; expected kept or metis" in in_process(*words, "--order", "best").stderr
    answer = in_process(*words, "--order", "metis", "--memory", "1GB")
    assert "--order metis needs all links in memory" in answer.stderr
    monkeypatch.setitem(sys.modules, "pymetis", None)
    answer = in_process(*words, "--order", "metis")
    assert answer.stderr == "error: --order metis needs pymetis; install it with: pip install 'gpcn[scale]'\n"
