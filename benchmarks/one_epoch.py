"""One epoch of every contender, ready to be called: ours, as published, message passing, PyG, the floor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from benchmarks import bank_contenders
from benchmarks.contenders import Floor, Passing, Published, dense_inputs, pyg_gcn, pyg_linkx
from gpcn import Graph, load, synthesize
from gpcn.nn import AGPCN, GPCN, AGPCNLink, GPCNLink, inputs_of
from gpcn.nn.training_step.direct_pass import DirectPass, can_step_directly
from gpcn.training.adam import Adam, Group

MODELS = {"gpcn": GPCN, "gpcn-link": GPCNLink, "agpcn": AGPCN, "agpcn-link": AGPCNLink}
Settings = tuple[int, int, int, float, float]  # hidden, L, T, gamma, dropout


def graph_of(name: str) -> Graph:
    if name == "million":
        return synthesize(nodes=1_000_000, degree=20, classes=4, features=16, splits=1)
    return load(name)


def one_epoch(
    model: torch.nn.Module, x: Any, links: Any, graph: Graph, *, ours: bool = False, reuse: bool = False
) -> Callable[[], None]:
    """A training step, and the validation accuracy of the model before it.

    With `reuse` (ours, without dropout) the training pass already is the evaluation.
    """
    labels, split = torch.tensor(graph.labels), graph.splits[0]
    train, val = torch.tensor(split.train), torch.tensor(split.val)
    optimizer: Any = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-3)
    if ours:
        optimizer = Adam([Group(list(model.parameters()), 1e-3, 1e-3)])

    def epoch() -> None:
        model.train()
        optimizer.zero_grad()
        logits = model(x, *links) if isinstance(links, tuple) else model(x, links)
        F.cross_entropy(logits[train], labels[train]).backward()
        optimizer.step()
        if not reuse:
            model.eval()
            with torch.no_grad():
                logits = model(x, *links) if isinstance(links, tuple) else model(x, links)
        with torch.no_grad():
            (logits[val].argmax(1) == labels[val]).float().mean().item()

    return epoch


def our_epoch(
    model: torch.nn.Module, x: Any, links: Any, graph: Graph, dropout: float, *, reuse: bool = True
) -> Callable[[], None]:
    """The same as `gpcn.training` does it: the pass written out where it covers the model, and its Adam."""
    if not can_step_directly(model, x, links):
        return one_epoch(model, x, links, graph, ours=True, reuse=reuse and dropout == 0)
    labels, split = torch.tensor(graph.labels), graph.splits[0]
    train, val = torch.tensor(split.train), torch.tensor(split.val)
    loss = graph.task.loss_with_error(labels[train], None, like=next(model.parameters()))
    direct = DirectPass(model, x, links, train, loss, judged=val)
    optimizer = Adam([Group(list(model.parameters()), 1e-3, 1e-3)])

    def epoch() -> None:
        optimizer.zero_grad()
        _, logits = direct(dropout > 0)
        optimizer.step()
        (logits[val].argmax(1) == labels[val]).float().mean().item()

    return epoch


class Tupled(torch.nn.Module):
    """Passes `links` on as one argument."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: Any, *links: Any) -> Any:
        return self.model(x, links)


def contender(kind: str, name: str, graph: Graph, settings: Settings) -> Callable[[], None] | None:
    """One epoch of one contender, or None where it cannot run on this machine."""
    make = bank_contender if name in bank_contenders.BANK_MODELS else family_contender
    return make(kind, name, graph, settings)


def family_contender(kind: str, name: str, graph: Graph, settings: Settings) -> Callable[[], None] | None:
    """A model of the paper's family."""
    hidden, layers, mlp_layers, gamma, dropout = settings
    link, adaptive = "link" in name, name.startswith("a")
    torch.manual_seed(0)
    if kind == "floor":
        return Floor(graph, hidden, layers, mlp_layers, dropout, link)
    if kind == "ours":
        options: dict[str, Any] = {"bias": True} | ({"num_nodes": graph.num_nodes} if link else {})
        model = MODELS[name](
            graph.num_features, hidden, graph.num_classes,
            layers=layers, mlp_layers=mlp_layers, gamma=gamma, dropout=dropout, **options,
        )  # fmt: skip
        x, links = inputs_of(graph)
        return our_epoch(model, x, links.operator(), graph, dropout)
    messages = graph.adjacency.nnz * hidden * 4 * 3
    if messages > 8e9:
        return None  # three copies of every message alone would take more than 8 GB; as published, minutes an epoch
    sizes = (graph.num_features, hidden, graph.num_classes, layers, mlp_layers, dropout, gamma, graph.num_nodes)
    dense, coo, edges = dense_inputs(graph)
    if kind == "published":
        return one_epoch(Published(*sizes, link=link, adaptive=adaptive), dense, coo, graph)
    if kind == "message_passing":
        passing = Tupled(Passing(*sizes, link=link, adaptive=adaptive))
        return one_epoch(passing, dense, edges, graph)
    make = pyg_gcn if kind == "pyg_gcn" else pyg_linkx
    edge_index = torch.tensor(graph.edge_index)
    return one_epoch(make(graph, hidden, dropout), dense, edge_index, graph)


def bank_contender(kind: str, name: str, graph: Graph, settings: Settings) -> Callable[[], None] | None:
    """The same for a bank of operators; nobody published it, so message passing stands for what else there is."""
    hidden, layers, _, _, dropout = settings
    model = bank_contenders.ours(graph, name, hidden, layers, dropout)
    if kind == "ours":
        x, links = inputs_of(graph)
        return our_epoch(model, x, links, graph, dropout, reuse=model.blocks == 1)
    if kind == "floor":
        return bank_contenders.Floor(model, graph, dropout)
    if kind != "message_passing":
        return None
    dense, edges = bank_contenders.passing_inputs(model, graph)
    passing = Tupled(bank_contenders.Passing(model, graph, dropout))
    return one_epoch(passing, dense, edges, graph)
