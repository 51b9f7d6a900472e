"""`direction`: which neighbours a node reads, the same in training, in modules and from PyTorch Geometric."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from gpcn import Graph, TrainConfig, to_pyg
from gpcn.nn import NodeClassifier, inputs_of, zoo
from gpcn.runs.split_run import run_split
from gpcn.training.problem import Problem
from tests.graphs import directed_graph_with_loop, graph_of_payments_by_sign

MODELS = ("gpcn", "gpcn-link", "agpcn", "gcn", "h2gcn", "link", "linkx", "label-propagation")


def reversed_graph(graph: Graph) -> Graph:
    relations = {name: links.T for name, links in graph.relations.items()}
    return replace(graph, adjacency=graph.adjacency.T, relations=relations)


def probabilities(graph: Graph, model: str, **settings: object) -> np.ndarray:
    names = {setting.name for setting in zoo.specification_of(model).hyperparameters}
    narrow = {"hidden": 8} if "hidden" in names else {}
    result: np.ndarray = run_split(graph, TrainConfig.of(model, epochs=6, **narrow, **settings), 0).probabilities
    return result


@pytest.mark.parametrize("model", MODELS)
def test_both_is_training_on_the_symmetrized_graph_to_the_bit(model: str) -> None:
    graph = directed_graph_with_loop(weighted=model != "label-propagation")
    expected = probabilities(graph.symmetrized(), model, direction="out")
    np.testing.assert_array_equal(probabilities(graph, model, direction="both"), expected)


@pytest.mark.parametrize("model", MODELS)
def test_in_is_training_on_the_reversed_graph(model: str) -> None:
    graph = directed_graph_with_loop()
    inward, outward = (probabilities(graph, model, direction=direction) for direction in ("in", "out"))
    np.testing.assert_array_equal(inward, probabilities(reversed_graph(graph), model, direction="out"))
    assert not np.array_equal(inward, outward)


def test_operators_with_a_direction_of_their_own_keep_it() -> None:
    graph = directed_graph_with_loop()
    np.testing.assert_array_equal(*(probabilities(graph, "multi-gpcn", direction=way) for way in ("out", "in")))


def build(model: str, graph: Graph) -> NodeClassifier:
    torch.manual_seed(0)
    config = TrainConfig.of(model)
    return Problem.of(graph, config).build(config).eval()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("model", ["gpcn", "agpcn-link", "gcn", "link"])
def test_an_edge_index_is_read_as_pyg_does_and_a_graph_as_it_is_multiplied(model: str, weighted: bool) -> None:
    graph = directed_graph_with_loop(weighted=weighted)
    data, module = to_pyg(graph), build(model, graph)
    links = data.edge_index, data.get("edge_weight")
    x, inward = inputs_of(graph, direction="in")
    with torch.no_grad():
        torch.testing.assert_close(module(data.x, *links), module(x, inward))
        assert not torch.allclose(module(data.x, *links), module(x, graph))
        module.direction = "out"
        torch.testing.assert_close(module(data.x, *links), module(x, graph))


def test_a_bank_that_names_its_directions_needs_no_setting() -> None:
    graph = directed_graph_with_loop()
    data, module = to_pyg(graph), build("multi-gpcn", graph)
    with torch.no_grad():
        torch.testing.assert_close(module(data.x, data.edge_index), module(data.x, graph))


def test_labels_that_follow_from_the_payers_need_links_read_against_their_direction() -> None:
    graph, usual = graph_of_payments_by_sign(), {"hidden": 16, "layers": 1, "epochs": 150, "lr": 0.05}
    scores = {way: run_split(graph, TrainConfig.of("gpcn", direction=way, **usual), 0).test for way in ("out", "in")}
    assert scores["out"] < 65
    assert scores["in"] > 97
    assert run_split(graph, TrainConfig.of("multi-gpcn", **usual), 0).test > 97
