"""Models as programs of PyTorch: nothing but tensors goes in, and the same probabilities come out."""

from __future__ import annotations

import io

import pytest
import torch

import gpcn
from gpcn.core.errors import ConfigError
from gpcn.nn import Adjacency, NodeClassifier, inputs_of, zoo
from gpcn.nn.exporting import ExportableModel, export

ANY_GRAPH = ("gpcn", "generalized-gpcn", "multi-gpcn", "deep-gpcn", "gcn", "mlp")
THIS_GRAPH = ("gpcn-link", "multi-gpcn-link", "link", "linkx", "label-propagation")


def softmax(logits: torch.Tensor) -> torch.Tensor:
    return torch.softmax(logits, dim=-1)


def graph_of(nodes: int, seed: int) -> gpcn.Graph:
    return gpcn.synthesize(nodes=nodes, classes=3, directed=True, splits=1, seed=seed)


def built(name: str, graph: gpcn.Graph) -> NodeClassifier:
    torch.manual_seed(0)
    settings = {setting.name for setting in zoo.specification_of(name).hyperparameters}
    width = {"hidden": 8} if "hidden" in settings else {}
    model = zoo.build(name, in_channels=graph.num_features, out_channels=3, num_nodes=graph.num_nodes, **width)
    model.observe(torch.tensor(graph.labels), torch.tensor(graph.splits[0].train))
    return model.eval()


@torch.no_grad()
def expected(models: list[NodeClassifier], x: torch.Tensor, links: Adjacency) -> torch.Tensor:
    return torch.stack([torch.softmax(model(x, links), dim=1) for model in models]).mean(0)


@pytest.mark.parametrize("name", [*ANY_GRAPH, *THIS_GRAPH])
def test_a_program_gives_the_probabilities_of_the_model(name: str) -> None:
    graph = graph_of(40, 1)
    model, (x, links) = built(name, graph), inputs_of(graph)
    module = ExportableModel([model], x, links, softmax)
    program = export(module, any_graph=name in ANY_GRAPH)
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    stored = torch.export.load(file)
    assert stored.example_inputs is None
    loaded = stored.module()
    torch.testing.assert_close(loaded(*module.inputs), expected([model], x, links), rtol=1e-4, atol=1e-6)
    if name in ANY_GRAPH:
        other, more = inputs_of(graph_of(55, 2))
        inputs = ExportableModel([model], other, more, softmax).inputs
        torch.testing.assert_close(loaded(*inputs), expected([model], other, more), rtol=1e-4, atol=1e-6)


def test_several_models_are_averaged_and_left_as_they_were() -> None:
    graph = graph_of(40, 1)
    x, links = inputs_of(graph)
    models = [built("gpcn", graph), built("gpcn", graph)]
    for parameter in models[1].parameters():
        parameter.data.add_(0.1)
    module = ExportableModel(models, x, links, softmax)
    torch.testing.assert_close(module(*module.inputs), expected(models, x, links), rtol=1e-4, atol=1e-6)
    assert module.input_names == ("x", "index_0", "values_0")
    assert module.operators == ("symmetric normalization, with self-loops, read out",)
    assert models[0].order == "auto"  # type: ignore[union-attr]
    assert all(parameter.requires_grad for parameter in models[0].parameters())


def test_a_model_that_reads_links_otherwise_is_refused() -> None:
    graph = graph_of(30, 1)
    x, links = inputs_of(graph)
    module = ExportableModel([built("h2gcn", graph)], x, links, softmax)
    with pytest.raises(ConfigError, match="otherwise than by products"):
        export(module, any_graph=True)
