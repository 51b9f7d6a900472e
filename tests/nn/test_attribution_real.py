"""Shares of every (part, node, feature) add up to the logits on texas, cora and the fraud preset, with and without
biases, for every model of the family and over a bank."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
import torch

from gpcn import Graph
from gpcn.data.load import load
from gpcn.data.presets import PRESETS, write_preset
from gpcn.data.tables.columns import Columns
from gpcn.nn.attribution import attributions
from tests.nn.test_attribution import MODELS
from tests.nn.test_decomposition import trained


@cache
def fraud(folder: Path) -> Graph:
    preset = PRESETS["fraud"]
    write_preset("fraud", folder, nodes=600)
    columns = Columns(source=preset.source, target=preset.target, id=preset.id, label=preset.label)
    return load(str(folder / preset.edge_file), nodes=folder / preset.node_file, columns=columns)


@pytest.fixture(scope="module")
def fraud_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("presets") / "fraud"


def assert_shares_add_up(graph: Graph, name: str, bias: bool) -> None:
    model, problem = trained(graph, name, {"bias": bias, "mlp_layers": 2})
    logits = model(problem.x, problem.adjacency).detach()
    assert logits.abs().max() > 0.1
    unit = torch.eye(graph.num_classes, dtype=torch.float64)
    for node in (0, graph.num_nodes // 2, graph.num_nodes - 1):
        one = torch.nn.functional.one_hot(torch.tensor(node), graph.num_nodes).double()
        for wanted in (*unit, unit[0] - unit[1]):
            shares = attributions(model, problem.x, problem.adjacency, one, wanted)
            total = sum(float(part.shares.sum()) for part in shares)
            assert total == pytest.approx(float(logits[node] @ wanted), abs=1e-6)


@pytest.mark.mirror
@pytest.mark.parametrize("bias", [False, True], ids=["without-bias", "with-bias"])
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("dataset", ["texas", "cora"])
def test_shares_add_up_on_benchmarks(load_dataset: Callable[[str], Graph], dataset: str, name: str, bias: bool) -> None:
    assert_shares_add_up(load_dataset(dataset), name, bias)


@pytest.mark.parametrize("bias", [False, True], ids=["without-bias", "with-bias"])
@pytest.mark.parametrize("name", MODELS)
def test_shares_add_up_on_the_fraud_preset(fraud_folder: Path, name: str, bias: bool) -> None:
    assert_shares_add_up(fraud(fraud_folder), name, bias)
